//! Theorem 3, Eq. (5): the rates near a critical point.
//!
//! The true field is an integral over the law of the inputs in polar coordinates; its Jacobian by differences.

use super::printed_field::smooth_density;
use super::{AtCritical, Statement, derivative, layer_rate};
use crate::claims::setting::*;

/// The rates of (5) along μ and across it.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Rates {
    printed: bool,
    /// Flag: the β are those of the corrected field, not those of (73), (74).
    corrected: bool,
    /// Factor of β_2; a mutant's is not 1.
    second: f64,
}

impl Rates {
    /// Eqs. (5), (72) to (74) as printed.
    pub const PRINTED: AtCritical<Self> = AtCritical(Rates { printed: true, corrected: false, second: 1.0 });
    /// Eq. (5) with the β of the corrected field.
    pub const CORRECTED: AtCritical<Self> = AtCritical(Rates { printed: false, corrected: true, second: 1.0 });
}

/// Step of the five-point differences, relative to |μ|.
const STEP: f64 = 1e-2;
/// Their relative error: STEP⁴ of the relative scale on which the field bends, 1 to 2, and quadratures over STEP.
const TOLERANCE: f64 = 1e-4;

impl Statement for Rates {
    fn sheet(self) -> &'static Sheet {
        if self.printed { sheet!("joma.theorem3") } else { sheet!("joma.theorem3_corrected") }
    }

    fn more_hypotheses(self, params: &Params) -> Vec<Hypothesis> {
        if self.printed { vec![smooth_density(params)] } else { vec![] }
    }

    fn outcome_at(self, point: CriticalPoint, params: &Params) -> Result<Outcome> {
        let phi = activation(params)?;
        // The means by their definition, under any φ.
        let thetas = |r: f64, length: f64| match phi.slopes() {
            Some(_) => point.law.polar(phi, r, length),
            None => point.law.thetas(phi, r, length),
        };
        let rate = |v: [f64; 2]| layer_rate(&point, thetas, [v[0], v[1], point.bias()]);
        // Minus the Jacobian.
        let mu = [point.length, 0.0];
        let rates = [0, 1].map(|axis| -derivative(rate, mu, axis, STEP * point.length)[axis]);
        let betas = if self.corrected { point.betas() } else { point.betas_printed() };
        let said = [betas.one + self.second * betas.two * point.length.powi(2), betas.one];
        // In one dimension nothing lies across μ.
        let axes = if params.get(DIM) == 1 { 1 } else { 2 };
        let off = (0..axes).map(|i| ((said[i] - rates[i]) / rates[i]).abs());
        let witness = witness! {
            "rates_along_and_across" => rates, "said" => said, "rho" => [point.minus, point.plus],
            "length" => point.length, "field_at_mu" => rate(mu),
        };
        Ok(Outcome::equal(off.fold(0.0, f64::max), 0.0, TOLERANCE, witness))
    }
}
