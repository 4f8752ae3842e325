//! Theorem 3, Eqs. (72) to (74), for the field (50) that they linearise.

use super::printed_field::{Printed, smooth_density};
use super::{AtCritical, Statement, derivative};
use crate::claims::setting::*;

/// The matrix C(μ) = β_1 I + β_2 μμᵀ of (72) against the Jacobian of (50).
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Linearised {
    /// Factor of β_2; a mutant's is near 1.
    second: f64,
    /// Flag: s_μ stands before C(μ) too, as (5) has it.
    sign_twice: bool,
}

impl Linearised {
    /// (72) to (74).
    pub const PRINTED: AtCritical<Self> = AtCritical(Linearised { second: 1.0, sign_twice: false });

    /// The largest error of C(μ) relative to its larger rate, minus the Jacobian along and across μ, and C(μ) there.
    fn error(self, field: &Printed, slopes: (f64, f64)) -> (f64, [f64; 2], [f64; 2]) {
        let h = STEP * field.length;
        let column = |axis| derivative(|v| field.rate(v), [field.length, 0.0], axis, h).map(|slope| -slope);
        let matrix = [column(0), column(1)];
        let [beta1, beta2] = field.betas(slopes);
        let sign = if self.sign_twice { field.distance.signum() } else { 1.0 };
        let said = [beta1 + self.second * beta2 * field.length.powi(2), beta1].map(|rate| sign * rate);
        let scale = said[0].abs().max(said[1].abs());
        // Across (72) has no other entries.
        let errors = [matrix[0][0] - said[0], matrix[1][1] - said[1], matrix[0][1], matrix[1][0]];
        (errors.iter().fold(0.0_f64, |m, e| m.max(e.abs())) / scale, [matrix[0][0], matrix[1][1]], said)
    }
}

/// Step of the five-point differences, relative to |μ|.
const STEP: f64 = 3e-3;
/// Their error relative to the larger rate: STEP⁴ times the bend of the field, ten, and quadratures of 1e-8 over STEP.
const TOLERANCE: f64 = 2e-5;

impl Statement for Linearised {
    fn sheet(self) -> &'static Sheet {
        sheet!("joma.eq74")
    }

    fn more_hypotheses(self, params: &Params) -> Vec<Hypothesis> {
        vec![smooth_density(params)]
    }

    fn outcome_at(self, point: CriticalPoint, params: &Params) -> Result<Outcome> {
        let phi = activation(params)?;
        // s_μ = 1, and the components exchanged: s_μ = -1.
        let both = [point, point.exchanged()].map(|p| self.error(&Printed::new(&p, phi), p.slopes));
        let witness = witness! {
            "r" => [point.plus, point.minus], "length" => point.length,
            "rates" => both[0].1, "said" => both[0].2, "rates_exchanged" => both[1].1, "said_exchanged" => both[1].2,
        };
        Ok(Outcome::equal(f64::max(both[0].0, both[1].0), 0.0, TOLERANCE, witness))
    }
}
