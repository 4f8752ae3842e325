//! The energy of linear attention: Denoising, Appendix H.1, (A.21) and (A.23).

use super::setting::problem;
use crate::prompts::{Denoising, Dimension, Family};
use crate::quantities::{AMBIENT, CONTEXT, DIM, NOISE_VARIANCE, TOKEN_VARIANCE};
use crate::theory::linear;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::linear_attention;
use attnlab_theory::attention::memory::SphericalHopfield;
use ndarray::Array2;

fn of_length(params: &Params, context: usize) -> Denoising {
    let family = Family::Subspace {
        dim: Dimension::Fixed(params.get(DIM)),
        sigma0_2: params.get(TOKEN_VARIANCE),
    };
    Denoising {
        context,
        ..problem(family, params.get(AMBIENT), params.get(NOISE_VARIANCE))
    }
}

/// A step of size γ on (A.21) is linear attention (A.20).
#[derive(Clone, Copy, Debug, Default)]
pub struct LinearStep {
    /// The mutant: step size 1, whatever γ.
    unit_step: bool,
    /// The mutant: the energy without its 1/2.
    no_half: bool,
}

/// Differences of a quadratic are exact: what is left is rounding, n L terms at most.
const ROUNDING: f64 = 1e-10;

impl Claim for LinearStep {
    fn sheet(&self) -> &'static Sheet {
        sheet!("denoise.a21")
    }

    fn schema(&self) -> Schema {
        parameters(50, 1.0)
    }

    fn validate(&self, params: &Params) -> Result<()> {
        of_length(params, params.get(CONTEXT)).validate()
    }

    fn memory(&self, params: &Params) -> u64 {
        of_length(params, params.get(CONTEXT)).memory(1) + 24 * (params.get(AMBIENT) as u64).pow(2)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let gamma = 1.0 / (params.get(TOKEN_VARIANCE) + params.get(NOISE_VARIANCE));
        let prompt = of_length(params, params.get(CONTEXT)).draw(streams)?;
        let (x, s) = (&prompt.context, &prompt.query);
        let factor = if self.no_half { 2.0 } else { 1.0 };
        let size = if self.unit_step { 1.0 } else { gamma };
        // (A.21) term by term, and its central differences, exact for a quadratic at any h.
        let energy = |i: usize, h: f64| {
            let mut at = s.clone();
            at[i] += h;
            let overlaps = x.t().dot(&at);
            let second = overlaps.dot(&overlaps) / x.ncols() as f64;
            factor * (at.dot(&at) / (2.0 * gamma) - 0.5 * second)
        };
        let step = (0..s.len()).map(|i| s[i] - size * (energy(i, 1.0) - energy(i, -1.0)) / 2.0);
        let step: Vec<f64> = step.collect();
        let (one, scaled) = (Array2::eye(s.len()), Array2::eye(s.len()) * gamma);
        let layer = linear_attention(x.view(), one.view(), scaled.view(), s.view());
        let gap: f64 = step.iter().zip(&layer).map(|(a, b)| (a - b).abs()).sum();
        Ok(Outcome::Gap {
            lhs: gap / (s.dot(s) + layer.dot(&layer)).sqrt(),
            rhs: 0.0,
            tol: ROUNDING,
            relation: Relation::Equal,
            witness: witness! { "step" => step, "layer" => layer.to_vec() },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let right = LinearStep::default();
        vec![
            Mutant::new(
                "unit-step",
                LinearStep {
                    unit_step: true,
                    ..right
                },
            ),
            Mutant::new(
                "no-half",
                LinearStep {
                    no_half: true,
                    ..right
                },
            ),
        ]
    }
}

fn parameters(context: u64, sigma_z2: f64) -> Schema {
    vec![
        AMBIENT.or(16),
        DIM.or(8),
        CONTEXT.or(context),
        TOKEN_VARIANCE.or(2.0),
        NOISE_VARIANCE.or(sigma_z2),
    ]
}

/// The energy (A.23) is positive definite for large L: as printed, whatever the noise, and with the
/// length that the noise asks for.
#[derive(Clone, Copy, Debug)]
pub struct PositiveDefinite {
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// L much larger than n.
    Printed,
    /// Positive definite at four times the threshold, and not at a quarter of it.
    Threshold,
    /// The mutant: a threshold with σ_Z²/σ_0² in place of √(1 + σ_Z²/σ_0²) - 1.
    Linear,
    /// The mutant: the threshold with n in place of d, where n is much larger.
    Ambient,
}

impl PositiveDefinite {
    /// As printed.
    pub const PRINTED: Self = PositiveDefinite {
        form: Form::Printed,
    };
    /// With the length that it takes.
    pub const CORRECTED: Self = PositiveDefinite {
        form: Form::Threshold,
    };
}

/// Least probability that "very likely" is taken to mean.
const VERY_LIKELY: f64 = 0.9;

/// The longest context that a trial draws.
const MOST_TOKENS: usize = 10_000_000;

/// Least ratio that "much larger" is taken to mean.
const MUCH_LARGER: f64 = 10.0;

impl Claim for PositiveDefinite {
    fn sheet(&self) -> &'static Sheet {
        match self.form {
            Form::Printed => sheet!("denoise.a23"),
            _ => sheet!("denoise.a23_corrected"),
        }
    }

    fn schema(&self) -> Schema {
        if self.form == Form::Printed {
            return parameters(500, 0.1);
        }
        let mut all = parameters(500, 1.0);
        all.retain(|spec| spec.name != CONTEXT.name);
        all
    }

    fn validate(&self, params: &Params) -> Result<()> {
        self.lengths(params).iter().try_for_each(|(length, _)| {
            if *length <= MOST_TOKENS {
                return of_length(params, *length).validate();
            }
            let s = params.get(NOISE_VARIANCE);
            let allowed =
                format!("must be larger; at this one the test takes {length} tokens, of {MOST_TOKENS} at most");
            Err(Error::invalid(NOISE_VARIANCE.name, s, allowed))
        })
    }

    fn memory(&self, params: &Params) -> u64 {
        let lengths = self.lengths(params);
        let longest = lengths.iter().map(|(length, _)| *length).max();
        // Longer ones are refused.
        let longest = longest.unwrap_or(1).min(MOST_TOKENS);
        of_length(params, longest).memory(1) + 24 * (params.get(AMBIENT) as u64).pow(2)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        if self.form != Form::Printed {
            return vec![];
        }
        let ratio = params.real(CONTEXT) / params.real(AMBIENT);
        vec![Hypothesis::new(
            "long context",
            "L much larger than n [here: L/n - 10]",
            ratio - MUCH_LARGER,
        )]
    }

    fn promise(&self, _params: &Params) -> Promise {
        Promise::AtLeast(VERY_LIKELY)
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        // Tells .9 from the .7 that the mutant "linear" has.
        200
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        if self.form != Form::Printed {
            return self.sheet().expected;
        }
        // Far from the threshold the verdict is known; near it 0.9 may be on either side.
        let ratio = params.real(CONTEXT) / threshold(params);
        if ratio >= 2.0 {
            return VerdictKind::Supported;
        }
        self.sheet().expected
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let gamma = 1.0 / (params.get(TOKEN_VARIANCE) + params.get(NOISE_VARIANCE));
        let (mut holds, mut seen) = (true, vec![]);
        for (length, definite) in self.lengths(params) {
            let prompt = of_length(params, length).draw(streams)?;
            let least = SphericalHopfield::new(prompt.context.view(), gamma)?.least_curvature()?;
            holds &= (least > 0.0) == definite;
            seen.push(serde_json::json!({ "L": length, "least_curvature": least }));
        }
        Ok(Outcome::Event {
            holds,
            witness: witness! { "energies" => seen },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let form = |name, form| Mutant::new(name, PositiveDefinite { form });
        vec![
            form("linear", Form::Linear),
            // With n = 2 d the two thresholds are too close to tell.
            form("ambient", Form::Ambient).with(AMBIENT, 64),
        ]
    }
}

fn threshold(params: &Params) -> f64 {
    let (s0, sz) = (params.get(TOKEN_VARIANCE), params.get(NOISE_VARIANCE));
    linear::definite_from(params.get(DIM), s0, sz)
}

impl PositiveDefinite {
    /// Context lengths, and whether the energy is said to be positive definite there.
    fn lengths(&self, params: &Params) -> Vec<(usize, bool)> {
        let noise = params.get(NOISE_VARIANCE) / params.get(TOKEN_VARIANCE);
        // A factor of 4: at d = 8 the largest eigenvalue still scatters by a tenth.
        let around = |at: f64| {
            let (above, below) = ((4.0 * at).ceil(), (0.25 * at).max(1.0));
            vec![(above as usize, true), (below as usize, false)]
        };
        match self.form {
            Form::Printed => vec![(params.get(CONTEXT), true)],
            Form::Threshold => around(threshold(params)),
            Form::Linear => around(params.real(DIM) / (noise * noise)),
            Form::Ambient => around(threshold(params) * params.real(AMBIENT) / params.real(DIM)),
        }
    }
}
