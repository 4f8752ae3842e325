//! Theorem 3: the remainder λ(μ, γ) of Eq. (5).

use super::printed_field::{Pair, Printed, smooth_density};
use super::{AtCritical, Statement};
use crate::claims::setting::*;
use std::f64::consts::TAU;

/// The remainder of (50) beside its linearisation (72) to (74), relative to it.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Lambda {
    /// Factor of β_2; a mutant's is near 1.
    second: f64,
    /// Largest |λ| that counts as small, in units of γ/|μ|.
    slope: f64,
}

impl Lambda {
    /// |λ| ≤ 10 γ/|μ|.
    pub const PRINTED: AtCritical<Self> = AtCritical(Lambda { second: 1.0, slope: SLOPE });
}

/// Distances γ from μ, relative to |μ|, at which |λ| is read.
const GAMMAS: [f64; 2] = [1e-2, 1e-3];
/// Largest |λ| in units of γ/|μ|: a tenth at the first of them, a hundredth at the second, for "≪ 1".
const SLOPE: f64 = 10.0;
/// Directions of v - μ in the plane of μ and one direction across.
const DIRECTIONS: u32 = 16;
/// Rounding of the field over the smallest γ.
const TOLERANCE: f64 = 1e-9;

impl Statement for Lambda {
    fn sheet(self) -> &'static Sheet {
        sheet!("joma.theorem3_lambda")
    }

    fn more_hypotheses(self, params: &Params) -> Vec<Hypothesis> {
        vec![smooth_density(params)]
    }

    fn outcome_at(self, point: CriticalPoint, params: &Params) -> Result<Outcome> {
        let field = Printed::new(&point, activation(params)?);
        let upper = [field.distance, 0.0];
        let CriticalPoint { law, slopes, weight, .. } = point;
        let pair = Pair { law, slopes, weight, centres: [&upper, &[0.0, 0.0]], printed: true };
        let [beta1, beta2] = field.betas(slopes);
        let rates = [beta1 + self.second * beta2 * field.length.powi(2), beta1];
        let lambda = |gamma: f64, angle: f64| {
            let step = [angle.cos(), angle.sin()].map(|x| gamma * field.length * x);
            let (rate, _) = pair.rate(&[field.length + step[0], step[1]], field.r[1]);
            let linear = [-rates[0] * step[0], -rates[1] * step[1]];
            f64::hypot(rate[0] - linear[0], rate[1] - linear[1]) / f64::hypot(linear[0], linear[1])
        };
        let angles = || (0..DIRECTIONS).map(|i| TAU * f64::from(i) / f64::from(DIRECTIONS));
        let largest = GAMMAS.map(|gamma| angles().map(|a| lambda(gamma, a)).fold(0.0, f64::max));
        // In one dimension nothing lies across μ, and angles 0 and π are among the directions.
        let steepest = f64::max(largest[0] / GAMMAS[0], largest[1] / GAMMAS[1]);
        let witness = witness! {
            "gamma" => GAMMAS, "lambda" => largest, "rates" => rates, "r" => field.r,
        };
        Ok(Outcome::at_most(steepest, self.slope, TOLERANCE / GAMMAS[1], witness))
    }
}
