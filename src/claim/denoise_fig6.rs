//! Where the loss of scaled identities is least: Denoising, Fig. 6 and Section F.4.

use super::denoise_setting::{spec, value};
use super::*;
use crate::measure::ScaleLandscape;
use crate::sample::denoising::{Denoising, Dimension, Family, Prompt};
use crate::witness;

/// The minimum of the landscape of case 2 lies at β = 1/σ_Z² up to fluctuations.
#[derive(Clone, Copy, Debug)]
pub struct Minimum {
    /// Whether the context is without end.
    limit: bool,
    variant: Variant,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    Printed,
    /// β = 1/σ_Z.
    Deviation,
    /// β = 2/σ_Z², as for exponents without their 1/2.
    Double,
}

impl Minimum {
    /// At the L of the caption.
    pub const PRINTED: Self = Minimum {
        limit: false,
        variant: Variant::Printed,
    };
    /// With contexts without end.
    pub const LIMIT: Self = Minimum {
        limit: true,
        variant: Variant::Printed,
    };
}

/// The mean of ln(β_min / β) must lie within this of 0: a shift of 15 %, where it is -.87 at the
/// setting of the figure. The valley is flat in the limit: over 200 prompts its minimum is, in the mean
/// of the logarithm, still some .05 too high.
const BAND: f64 = 0.15;

fn problem_of(params: &Params, limit: bool) -> Denoising {
    Denoising {
        family: Family::Sphere {
            dim: Dimension::Fixed(params.usize("d")),
            radius: params.f64("R"),
        },
        ambient: params.usize("n"),
        context: if limit { 1 } else { params.usize("L") },
        sigma_z2: params.f64("sigma_z2"),
    }
}

impl Claim for Minimum {
    fn card(&self) -> Card {
        let printed = Card {
            id: "denoise.fig6",
            paper: Paper::Denoising,
            equation: "Fig. 6 and Section F.4",
            title: "The numerical minimum of the loss fluctuates around the heuristic one, as printed",
            statement: "The heuristic minimizer identified from the posterior mean [$\\alpha = 1$, $\\beta = \
                        1/\\sigma_Z^2$] is exact in case 2. The numerically identified minimum can \
                        fluctuate due to the finite context ($L = 500$) and sampling ($N = 800$). [Here: \
                        over draws, the mean of $\\ln(\\beta_{\\min}\\sigma_Z^2)$ is 0 within 0.15.]",
            kind: Kind::Law,
            expected: VerdictKind::Refuted,
            corrected: Some(
                "At finite $L$ the minimum is displaced, not scattered: large $\\beta$ leaves few tokens \
                 with weight, and the least loss trades this variance for bias. Only as $L \\to \\infty$ \
                 does it reach $(1, 1/\\sigma_Z^2)$.",
            ),
        };
        if !self.limit {
            return printed;
        }
        Card {
            id: "denoise.fig6_limit",
            title: "With contexts without end the loss of scaled identities is least at the heuristic",
            statement: "In case 2 the loss of $\\alpha X\\,\\mathrm{softmax}(\\beta X^T\\tilde x)$ is least \
                        at $\\alpha = 1$, $\\beta = 1/\\sigma_Z^2$, for contexts of infinitely many tokens. \
                        [Here: over draws of queries, the mean of $\\ln(\\beta_{\\min}\\sigma_Z^2)$ is 0 \
                        within 0.15.]",
            expected: VerdictKind::Supported,
            corrected: None,
            ..printed
        }
    }

    fn discrepancy(&self) -> Option<Discrepancy> {
        (!self.limit).then_some(Discrepancy {
            printed: "The distance between the numerical minimum and $(\\alpha, \\beta) = (1, \
                      1/\\sigma_Z^2)$ is put down to fluctuations.",
            witness: "At the setting of the figure ($n = 16$, $d = 8$, $\\sigma_Z^2 = 0.1$, $L = 500$) every \
                      draw has its minimum near $\\beta = 4.2$, $\\alpha = 1.4$, where $1/\\sigma_Z^2 = 10$.",
            range: "Every finite $L$; the displacement shrinks as $L$ grows, slowly where the effective \
                    number of tokens is a small share of $L$ (1.3 % at this setting).",
            correction: "The heuristic is the minimum in the limit of $L$ (`denoise.fig6_limit`).",
        })
    }

    fn schema(&self) -> Schema {
        let mut all = vec![
            spec("n", 16),
            spec("d", 8),
            spec("R", 1.0),
            spec("sigma_z2", 0.1),
            spec("L", 500),
            Spec::new(
                "prompts",
                Domain::Whole(10, 1_000_000),
                if self.limit { 400 } else { 200 },
                "N, prompts per landscape",
            ),
        ];
        if self.limit {
            all.retain(|spec| spec.name != "L");
        }
        all
    }

    fn validate(&self, params: &Params) -> Result<()> {
        problem_of(params, self.limit).validate()
    }

    fn memory(&self, params: &Params) -> u64 {
        let one = problem_of(params, self.limit).memory(1);
        one.saturating_mul(params.usize("prompts") as u64)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let problem = problem_of(params, self.limit);
        let one = |i| problem.draw(&streams.child("prompt", i));
        let prompts: Result<Vec<Prompt>> = (0..params.usize("prompts") as u64).map(one).collect();
        let landscape = if self.limit {
            ScaleLandscape::of_limit(prompts?)?
        } else {
            ScaleLandscape::new(prompts?)?
        };
        let s = params.f64("sigma_z2");
        let found = landscape.minimum(0.05 / s, 20.0 / s)?;
        let said = match self.variant {
            Variant::Printed => 1.0 / s,
            Variant::Deviation => 1.0 / s.sqrt(),
            Variant::Double => 2.0 / s,
        };
        Ok(value(
            (found.beta / said).ln(),
            witness! { "beta_min" => found.beta, "alpha_min" => found.alpha, "loss" => found.loss },
        ))
    }

    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(-BAND, BAND)
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        // Landscapes of 200 prompts scatter by .12, those of 400 in the limit by .15.
        match (self.limit, self.variant) {
            (true, Variant::Printed) => 30,
            _ => 12,
        }
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, says, variant| Mutant::new(name, says, Minimum { variant, ..*self });
        vec![
            variant("deviation", "least at beta = 1/sigma_Z", Variant::Deviation),
            variant("double", "least at beta = 2/sigma_Z^2", Variant::Double),
        ]
    }
}
