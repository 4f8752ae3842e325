//! Theorem 3 for weight and bias together: the eigenvalues of the layer's field at a critical point.

use super::printed_field::smooth_density;
use super::{AtCritical, Statement};
use crate::claims::setting::{activation, equal};
use crate::theory::{Activation, CriticalPoint};
use attnlab_lab::prelude::*;

/// The eigenvalues of the field of (v, ξ): 0 along the ray of critical points, and two negative ones.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Stable {
    /// Factor of the eigenvalue of the plane of v and ξ; a mutant's is near 1.
    factor: f64,
    /// Flag: ξ is held fixed, as in (66).
    fixed: bool,
}

impl Stable {
    /// The eigenvalues 0, -β_1 and -(1 + ρ_-²) D/|μ|.
    pub const OWN: AtCritical<Self> = AtCritical(Stable { factor: 1.0, fixed: false });
}

/// Step of the five-point differences, relative to |μ|.
const STEP: f64 = 1e-2;
/// Their error, relative to the largest entry of the Jacobian: STEP⁴ times the bend of the field, and quadratures of
/// 1e-8 over STEP.
const TOLERANCE: f64 = 1e-4;

/// The rates of (v along μ, v across, ξ) by integrals over p_n.
fn rate(point: &CriticalPoint, phi: Activation, x: [f64; 3]) -> [f64; 3] {
    let length = f64::hypot(x[0], x[1]);
    let r = x[0] * point.distance() + x[2];
    let (theta1, theta2) = point.law.thetas(phi, r, length);
    let (theta1_m, theta2_m) = point.law.thetas(phi, x[2], length);
    let along = (theta2 - point.weight * theta2_m) / length;
    [theta1 * point.distance() + along * x[0], along * x[1], theta1 - point.weight * theta1_m]
}

impl Statement for Stable {
    fn sheet(self) -> &'static Sheet {
        sheet!("joma.theorem3_stable")
    }

    /// The differences need it, and at the edge of a ball there is no Jacobian.
    fn more_hypotheses(self, params: &Params) -> Vec<Hypothesis> {
        vec![smooth_density(params)]
    }

    fn outcome_at(self, point: CriticalPoint, params: &Params) -> Result<Outcome> {
        let phi = activation(params)?;
        let (mu, h) = ([point.length, 0.0, point.bias()], STEP * point.length);
        let column = |axis: usize| {
            let at = |i: f64| {
                let mut x = mu;
                x[axis] += i * h;
                rate(&point, phi, x)
            };
            let (a, b, c, d) = (at(1.0), at(-1.0), at(2.0), at(-2.0));
            [0, 1, 2].map(|i| (8.0 * (a[i] - b[i]) - (c[i] - d[i])) / (12.0 * h))
        };
        let [by_v, by_across, by_xi] = [column(0), column(1), column(2)];
        let scale = [by_v, by_across, by_xi].concat();
        let scale = scale.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        // The plane of v and ξ: trace and determinant.
        let trace = if self.fixed { by_v[0] } else { by_v[0] + by_xi[2] };
        let determinant = by_v[0] * by_xi[2] - by_v[2] * by_xi[0];
        let plane = -self.factor * point.joint_rate();
        let across = -point.betas().one;
        let errors = [
            (trace - plane) / scale,
            determinant / (scale * scale),
            (by_across[1] - across) / scale,
            by_across[0] / scale,
            by_across[2] / scale,
        ];
        let off = errors.iter().fold(0.0_f64, |m, e| m.max(e.abs()));
        let negative = plane < 0.0 && across < 0.0;
        let witness = witness! {
            "eigenvalues" => [trace, by_across[1], determinant / trace], "said" => [plane, across, 0.0],
            "rho" => [point.minus, point.plus], "length" => point.length,
        };
        Ok(equal(if negative { off } else { f64::NAN }, 0.0, TOLERANCE, witness))
    }
}
