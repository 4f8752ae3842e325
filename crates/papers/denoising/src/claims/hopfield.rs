//! The energy of linear attention: Denoising, Appendix H.1, (A.21) and (A.23).

use super::setting::*;
use attnlab_theory::attention::linear_attention;
use attnlab_theory::attention::memory::SphericalHopfield;
use rand_distr::{ChiSquared, Distribution};

/// A step of size γ on (A.21) is linear attention (A.20).
#[derive(Default, Serialize, Deserialize)]
pub struct LinearStep {
    /// Step size 1, whatever γ.
    unit_step: bool,
    /// The energy without its 1/2.
    no_half: bool,
    /// Relative excess of the step.
    longer: f64,
}

/// Differences of a quadratic are exact: what is left is rounding, 1e-16 of an energy over the step in each of n
/// components, below 1e-12 for n = 300.
const ROUNDING: f64 = 1e-10;

impl Claim for LinearStep {
    from_sheet!("denoise.a21");

    fn schema(&self) -> Schema {
        let mut schema = parameters(50, 1.0);
        schema[2] = CONTEXT.within(Domain::Whole(1, 1000)).or(50);
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        subspace_problem(params, params.get(CONTEXT)).validate()
    }

    fn memory(&self, params: &Params) -> u64 {
        let n = params.get(AMBIENT) as u64;
        memory::total(&[&[subspace_problem(params, params.get(CONTEXT)).memory(1)], &[24, n, n]])
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let gamma = 1.0 / (params.get(TOKEN_VARIANCE) + params.get(NOISE_VARIANCE));
        let prompt = subspace_problem(params, params.get(CONTEXT)).draw(streams)?;
        let (x, s) = (&prompt.context, &prompt.query);
        let factor = if self.no_half { 2.0 } else { 1.0 };
        let size = if self.unit_step { 1.0 } else { gamma * (1.0 + self.longer) };
        // (A.21) term by term, and its central differences, exact for a quadratic at any h.
        let energy = |i: usize, h: f64| {
            let mut moved = s.clone();
            moved[i] += h;
            let overlaps = x.t().dot(&moved);
            let second = overlaps.dot(&overlaps) / x.ncols() as f64;
            factor * (moved.dot(&moved) / (2.0 * gamma) - 0.5 * second)
        };
        let h = (s.dot(s) / s.len() as f64).sqrt();
        let step: Vec<f64> = (0..s.len()).map(|i| s[i] - size * (energy(i, h) - energy(i, -h)) / (2.0 * h)).collect();
        let (identity, scaled) = (Array2::eye(s.len()), Array2::eye(s.len()) * gamma);
        let layer = linear_attention(x.view(), identity.view(), scaled.view(), s.view());
        let apart: f64 = step.iter().zip(&layer).map(|(a, b)| (a - b).abs()).sum();
        let gap = apart / (s.dot(s) + layer.dot(&layer)).sqrt();
        if !gap.is_finite() {
            return Ok(not_finite());
        }
        Ok(Outcome::equal(gap, 0.0, ROUNDING, witness! { "step" => step, "layer" => layer.to_vec() }))
    }
}

fn parameters(context: u64, sigma_z2: f64) -> Schema {
    vec![
        AMBIENT.within(Domain::Whole(2, MOST_AMBIENT)).or(16),
        DIM.or(8),
        CONTEXT.or(context),
        TOKEN_VARIANCE.or(2.0),
        NOISE_VARIANCE.or(sigma_z2),
    ]
}

/// The energy (A.23) is positive definite for large L: as printed, and with the length that the noise asks for.
#[derive(Serialize, Deserialize)]
pub struct PositiveDefinite {
    form: Form,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    /// At L, where that is large for the noise.
    Printed,
    /// The mutant of it: with 0.4 of the noise in (A.23).
    LessNoise,
    /// Positive definite at the length that suffices, and not at the one that is too short.
    Threshold,
    /// The mutant: σ_Z²/σ_0² in place of √(1 + σ_Z²/σ_0²) - 1.
    Linear,
    /// The mutant: n in place of d.
    Ambient,
    /// The mutant: positive definite from 4/5 of the edge on.
    FourFifths,
    /// The mutant: not positive definite up to the edge itself.
    Edge,
}

impl PositiveDefinite {
    /// As printed.
    pub const PRINTED: Self = PositiveDefinite { form: Form::Printed };
    /// With the length that it takes.
    pub const CORRECTED: Self = PositiveDefinite { form: Form::Threshold };

    fn printed(&self) -> bool {
        matches!(self.form, Form::Printed | Form::LessNoise)
    }
}

/// Least probability that "very likely" is taken to mean.
const VERY_LIKELY: f64 = 0.9;

/// Probability with which the energy may fail to be positive definite at the length that suffices.
const FAILURE: f64 = 0.05;

/// Least ratio that "much larger" is taken to mean.
const MUCH_LARGER: f64 = 10.0;

/// Longest context that is drawn token by token; for a longer one a matrix of the same law is drawn.
const MOST_TOKENS: usize = 5000;

/// Least σ_Z²/σ_0²: lengths are below 2^53 and eigenvalues resolve it by far.
const LEAST_NOISE: f64 = 1e-6;

impl Claim for PositiveDefinite {
    from_sheet!(self, if self.printed() { sheet!("denoise.a23") } else { sheet!("denoise.a23_corrected") });

    fn schema(&self) -> Schema {
        let mut schema = parameters(500, if self.printed() { 1.0 } else { 0.2 });
        if !self.printed() {
            schema.retain(|spec| spec.name != CONTEXT.name);
        }
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        subspace_problem(params, 1).validate()?;
        let (s0, sz) = (params.get(TOKEN_VARIANCE), params.get(NOISE_VARIANCE));
        let allowed = format!("must be at least {LEAST_NOISE:e} of sigma0_2 = {s0}");
        require(self.printed() || sz >= LEAST_NOISE * s0, NOISE_VARIANCE.name, sz, allowed)
    }

    fn memory(&self, params: &Params) -> u64 {
        let n = params.get(AMBIENT) as u64;
        memory::total(&[&[subspace_problem(params, MOST_TOKENS).memory(1)], &[48, n, n]])
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        if !self.printed() {
            return vec![];
        }
        let length = params.real(CONTEXT);
        let (s0, sz) = (params.get(TOKEN_VARIANCE), params.get(NOISE_VARIANCE));
        let enough = linear::definite_but(params.get(DIM), s0, sz, 1.0 - VERY_LIKELY);
        vec![
            Hypothesis::new(
                "long context",
                "L much larger than n [here: L/n - 10]",
                length / params.real(AMBIENT) - MUCH_LARGER,
            ),
            Hypothesis::new(
                "long for the noise",
                "L large at this sigma_Z [here: L/L+ - 1 with L+ of denoise.a23_corrected]",
                length / enough - 1.0,
            ),
        ]
    }

    fn promise(&self, _params: &Params) -> Promise {
        Promise::AtLeast(VERY_LIKELY)
    }

    fn default_trials(&self, params: &Params) -> u64 {
        // At most .02 of the draws fail; 11 of 200 and 4 of 100 may (probability above .996).
        if params.get(AMBIENT) <= 64 { 200 } else { 100 }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (s0, sz) = (params.get(TOKEN_VARIANCE), params.get(NOISE_VARIANCE));
        let noise = if self.form == Form::LessNoise { 0.4 * sz } else { sz };
        let (mut holds, mut energies) = (true, vec![]);
        for (length, definite) in self.lengths(params) {
            let context = context_of(params, length, streams)?;
            let least = SphericalHopfield::new(context.view(), 1.0 / (s0 + noise))?.least_curvature()?;
            holds &= (least > 0.0) == definite;
            energies.push(serde_json::json!({ "L": length, "least_curvature": least }));
        }
        Ok(Outcome::Event { holds, witness: witness! { "energies" => energies } })
    }
}

impl PositiveDefinite {
    /// Context lengths, and whether the energy is said to be positive definite there.
    fn lengths(&self, params: &Params) -> Vec<(usize, bool)> {
        let (s0, sz) = (params.get(TOKEN_VARIANCE), params.get(NOISE_VARIANCE));
        let (d, n) = (params.get(DIM), params.get(AMBIENT));
        let whole = |length: f64| length.ceil().max(1.0) as usize;
        let enough = |d: usize| (whole(linear::definite_but(d, s0, sz, FAILURE)), true);
        let too_few = |d: usize| linear::indefinite_up_to(d, s0, sz).map(|l| (l as usize, false));
        let edge = linear::definite_from(d, s0, sz);
        let both = |enough, too_few: Option<_>| [Some(enough), too_few].into_iter().flatten().collect();
        match self.form {
            Form::Printed | Form::LessNoise => vec![(params.get(CONTEXT), true)],
            Form::Threshold => both(enough(d), too_few(d)),
            Form::Ambient => both(enough(n), too_few(n)),
            Form::Linear => both((whole(d as f64 * (s0 / sz).powi(2)), true), too_few(d)),
            Form::FourFifths => both((whole(0.8 * edge), true), too_few(d)),
            Form::Edge => both(enough(d), Some((whole(edge), false))),
        }
    }
}

/// A context of `length` tokens, or for a long one d columns with the same law of $\frac1L XX^T$: by Bartlett's
/// decomposition $\sum_t X_t X_t^T = \sigma_0^2\, U T T^T U^T$ with T lower triangular, independent standard
/// normals below the diagonal and $\chi_{L-i+1}$ on it.
fn context_of(params: &Params, length: usize, streams: &Streams) -> Result<Array2<f64>> {
    let problem = subspace_problem(params, length);
    if length <= MOST_TOKENS {
        return Ok(problem.draw(streams)?.context);
    }
    let Prior::Gaussian { basis, variances } = problem.draw_prior(streams)? else {
        return Err(Error::undefined("the family is no subspace"));
    };
    let d = basis.ncols();
    let mut rng = streams.part("second-moment", 0);
    let mut t = normal_matrix(d, d, &mut rng);
    for ((i, j), entry) in t.indexed_iter_mut().filter(|((i, j), _)| j >= i) {
        *entry = 0.0;
        if j == i {
            let law = ChiSquared::new((length - i) as f64);
            let law = law.map_err(|e| Error::undefined(format!("chi-squared of {length}: {e}")))?;
            *entry = law.sample(&mut rng).sqrt();
        }
    }
    Ok(basis.dot(&t) * (variances[0] * d as f64 / length as f64).sqrt())
}
