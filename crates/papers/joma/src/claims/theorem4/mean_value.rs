//! Eq. (87): the mean-value step.

use super::integral::of_zeta;
use super::{Drawn, TRIALS};
use crate::claims::setting::*;
use crate::theory::bisect;
use crate::theory::convergence::{lemma7, time_to, zeta};

/// The statement that some μ̄ in [0, μ] makes (87) an equality.
#[derive(Serialize, Deserialize)]
pub struct MeanValue {
    /// The μ̄ that is tried, in units of the one that is found; a mutant's is near 1.
    place: f64,
    /// The end of the range of μ̄, in units of μ; a mutant's is less than 1.
    within: f64,
}

impl MeanValue {
    /// Eq. (87) as printed.
    pub const PRINTED: Self = MeanValue { place: 1.0, within: 1.0 };
}

/// Accuracy of both sides relative to F, where ζ(r, μ̄) is found to rounding.
const TOLERANCE: f64 = 1e-10;
/// Points of [0, μ] among which a sign change is looked for.
const POINTS: u32 = 200;

/// A root of f in [a, b]: the first sign change on a grid, by bisection.
fn root(f: impl Fn(f64) -> f64, a: f64, b: f64) -> Option<f64> {
    let point = |i: u32| a + (b - a) * f64::from(i) / f64::from(POINTS);
    let first = (0..POINTS).find(|i| f(point(*i)) * f(point(i + 1)) <= 0.0)?;
    let (low, high) = (point(first), point(first + 1));
    let rises = f(high) > f(low);
    Some(bisect((low, high), 60, |x| (f(x) > 0.0) != rises))
}

impl Claim for MeanValue {
    from_sheet!("joma.eq87", trials = TRIALS);

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        let drawn = Drawn::new(streams);
        let (r, mu) = (-(-drawn.gap).exp_m1(), drawn.mu[0]);
        let mean = of_zeta(r, mu, 1.0) / lemma7(mu);
        let place = root(|x| zeta(r, x) - mean, 0.0, self.within * mu);
        let witness = witness! { "r" => r, "mu" => mu, "mean_of_zeta" => mean, "at" => place };
        let Some(place) = place else { return Ok(Outcome::Event { holds: false, witness }) };
        let first = (-0.5 * mu * mu).exp() * -(-r).ln_1p();
        let said = first + zeta(r, self.place * place) * lemma7(mu);
        Ok(Outcome::equal(said / time_to(r, mu), 1.0, TOLERANCE, witness))
    }
}
