//! Eqs. (81) to (84): the derivative of F by μ.

use super::{Drawn, TRIALS};
use crate::claims::setting::*;
use crate::theory::convergence::{time_to, zeta};

/// The derivative ∂F/∂μ = ζ - μ F, against differences.
#[derive(Default, Serialize, Deserialize)]
pub struct Derivative {
    /// Relative change of ζ; a mutant's is not 0.
    change: f64,
}

/// Step of the five-point differences.
const STEP: f64 = 1e-3;
/// Their error: STEP⁴ times the fifth derivative, in which powers of μ up to 3.5 stand; F itself is up to 30.
const TOLERANCE: f64 = 1e-7;

impl Claim for Derivative {
    from_sheet!("joma.eq84", trials = TRIALS);

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        let drawn = Drawn::new(streams);
        let (r, mu) = (-(-drawn.gap).exp_m1(), drawn.mu[0]);
        let slope = five_points(|i| time_to(r, mu + i * STEP), STEP);
        let said = (1.0 + self.change) * zeta(r, mu) - mu * time_to(r, mu);
        let witness = witness! { "r" => r, "mu" => mu, "by_differences" => slope, "said" => said };
        Ok(Outcome::equal(slope, said, TOLERANCE, witness))
    }
}
