//! Theorem 3, Eq. (5): the rates near a critical point.
//!
//! The true field is taken by its definition, an integral over the law of the inputs in polar coordinates;
//! its Jacobian by differences.

use super::printed_field::smooth_density;
use super::{AtCritical, Statement};
use crate::claims::setting::{activation, equal};
use crate::quantities::DIM;
use crate::theory::{Activation, CriticalPoint};
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::VectorField;

/// The rates of (5) along μ and across it.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Rates {
    /// Flag: it is the printed claim or a mutant of it, by the sheet that it bears.
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

/// The two-component field by its definition, under any φ, with x̄_+ along the first of two axes; the state
/// is (v, ξ).
struct Definition {
    point: CriticalPoint,
    phi: Activation,
}

impl VectorField for Definition {
    fn dim(&self) -> usize {
        3
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        let p = &self.point;
        let (length, xi) = (f64::hypot(x[0], x[1]), x[2]);
        let r = x[0] * p.distance() + xi;
        let mean = |r: f64| match self.phi.slopes() {
            Some(_) => p.law.polar(self.phi, r, length),
            None => p.law.thetas(self.phi, r, length),
        };
        let ((theta1, theta2), (theta1_m, theta2_m)) = (mean(r), mean(xi));
        let along = (theta2 - p.weight * theta2_m) / length;
        out[0] = theta1 * p.distance() + along * x[0];
        out[1] = along * x[1];
        out[2] = theta1 - p.weight * theta1_m;
    }
}

/// Step of the five-point differences, relative to |μ|.
const STEP: f64 = 1e-2;
/// Their relative error: STEP⁴ of the relative scale on which the field bends, 1 to 2, and that of the
/// quadratures over STEP.
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
        let field = Definition { point, phi };
        let rate = |v: [f64; 2]| {
            let mut out = [0.0; 3];
            field.rate(&[v[0], v[1], point.bias()], &mut out);
            out
        };
        // Minus the Jacobian.
        let h = STEP * point.length;
        let slope = |axis: usize| {
            let at = |i: f64| {
                let mut v = [point.length, 0.0];
                v[axis] += i * h;
                rate(v)[axis]
            };
            (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h)
        };
        let rates = [-slope(0), -slope(1)];
        let betas = if self.corrected { point.betas() } else { point.betas_printed() };
        let said = [betas.one + self.second * betas.two * point.length.powi(2), betas.one];
        // In one dimension nothing lies across μ.
        let axes = if params.get(DIM) == 1 { 1 } else { 2 };
        let off = (0..axes).map(|i| ((said[i] - rates[i]) / rates[i]).abs());
        let at_rest = rate([point.length, 0.0]);
        Ok(equal(
            off.fold(0.0, f64::max),
            0.0,
            TOLERANCE,
            witness! {
                "rates_along_and_across" => rates, "said" => said, "rho" => [point.minus, point.plus],
                "length" => point.length, "field_at_mu" => at_rest,
            },
        ))
    }

    fn mutants_drawn_as(self) -> &'static str {
        "joma.theorem3_corrected"
    }
}
