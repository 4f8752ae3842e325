//! Theorem 3 for weight and bias together: the eigenvalues of the layer's field at a critical point.

use super::printed_field::smooth_density;
use super::{AtCritical, Statement, derivative, layer_rate};
use crate::claims::setting::*;

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
/// Their error, relative to the largest entry of the Jacobian: STEP⁴ times the bend, and 1e-8/STEP of quadratures.
const TOLERANCE: f64 = 1e-4;

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
        // By integrals over p_n.
        let rate = |x: [f64; 3]| layer_rate(&point, |r, length| point.law.thetas(phi, r, length), x);
        let [by_v, by_across, by_xi] = [0, 1, 2].map(|axis| derivative(rate, mu, axis, h));
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
        let witness = witness! {
            "eigenvalues" => [trace, by_across[1], determinant / trace], "said" => [plane, across, 0.0],
            "rho" => [point.minus, point.plus], "length" => point.length,
        };
        Ok(Outcome::equal(if plane < 0.0 && across < 0.0 { off } else { f64::NAN }, 0.0, TOLERANCE, witness))
    }
}
