//! The remark after Theorem 4: the same for linear attention.

use super::{GAP, INTEGRATOR, MU, TOLERANCE, generator, log_uniform};
use crate::claims::setting::*;
use crate::dynamics::ByRate;
use crate::theory::convergence::linear_time;

/// Range of the logits at the start.
const LOGIT: (f64, f64) = (0.05, 1.0);

/// The ratio of convergence under linear attention, from logits z(0) ≠ 0.
#[derive(Default, Serialize, Deserialize)]
pub struct Theorem4Linear {
    /// Flag of a mutant: ln(1/δ) grows in the end at the rate e^{μ²/2} of exp attention, not √(μ² + z(0)²).
    exp: bool,
    /// Relative change of z(0) in that rate; a mutant's is near 0, or -1, as for z(0) → 0.
    change: f64,
}

impl Claim for Theorem4Linear {
    from_sheet!("joma.theorem4_linear", trials = 40);

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        let rng = &mut generator(streams);
        let mu = [log_uniform(MU, rng), log_uniform(MU, rng)];
        let z0 = [log_uniform(LOGIT, rng), log_uniform(LOGIT, rng)];
        let gap = log_uniform(GAP, rng);
        // The field (μ - v) z and (μ - v) v of two components, by ℓ = ln(1/δ) and z: with no use of the invariant.
        let field = ByRate(4, |x: &[f64], out: &mut [f64]| {
            for (i, mu) in mu.iter().enumerate() {
                let (l, z) = (x[2 * i], x[2 * i + 1]);
                // δ̇ = -v̇/μ = -δ z; ż = (μ - v) v = μ² δ (1 - δ).
                let gap = (-l).exp();
                (out[2 * i], out[2 * i + 1]) = (z, mu * mu * gap * (1.0 - gap));
            }
        });
        let start = [0.0, z0[0], 0.0, z0[1]];
        let event = |x: &[f64]| gap - x[2];
        // ln(1/δ) grows at least at the rate z(0).
        let until = [1.01 * gap / z0[1]];
        let path =
            Flow::new(Method::Tsit45).within(INTEGRATOR).watched(&field, &start, &until, Watch::until(&event))?;
        let Some((t, x)) = path.event else { return Err(Error::not_converged("the gap was not reached")) };
        let rate = |i: usize| match self.exp {
            true => (0.5 * mu[i] * mu[i]).exp(),
            false => mu[i].hypot((1.0 + self.change) * z0[i]),
        };
        // ln(1/δ) + κ: the closed form's time times s.
        let grown = |i: usize| linear_time(x[2 * i], mu[i], z0[i]) * mu[i].hypot(z0[i]);
        let (ratio, said) = (grown(0) / grown(1), rate(0) / rate(1));
        let witness = witness! {
            "mu" => mu, "z0" => z0, "t" => t, "ln_inverse_delta" => [x[0], x[2]],
            "z" => [x[1], x[3]], "ratio" => ratio, "said" => said,
        };
        Ok(Outcome::equal(ratio / said, 1.0, TOLERANCE, witness))
    }
}
