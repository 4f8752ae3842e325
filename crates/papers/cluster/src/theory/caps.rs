//! Areas of spherical caps.

use statrs::function::beta::beta_reg;
use std::f64::consts::{FRAC_PI_2, PI};

/// Computes the share of the sphere $S^{d-1}$, d ≥ 2, within the angle δ of a point:
/// $\frac12 I_{\sin^2\delta}(\frac{d-1}2, \frac12)$ up to a right angle, with the regularised incomplete beta function, or one half
/// less $\frac12 I_{\cos^2\delta}(\frac12, \frac{d-1}2)$ next to it.
///
/// ```
/// use attnlab_cluster::theory::caps::share;
/// assert!((share(2, 0.3) - 0.3 / std::f64::consts::PI).abs() < 1e-15);
/// assert!((share(3, 2.0) - 1.0_f64.sin().powi(2)).abs() < 1e-15);
/// assert_eq!(share(5, 0.0), 0.0);
/// ```
pub fn share(d: usize, delta: f64) -> f64 {
    match d {
        2 => (delta / PI).min(1.0),
        3 => (0.5 * delta.min(PI)).sin().powi(2),
        _ if delta <= 0.0 => 0.0,
        _ if delta >= PI => 1.0,
        _ if delta > FRAC_PI_2 => 1.0 - share(d, PI - delta),
        // The square of the sine has lost its digits.
        _ if delta.cos().powi(2) * (d as f64) < 1.0 => {
            0.5 - 0.5 * beta_reg(0.5, 0.5 * (d as f64 - 1.0), delta.cos().powi(2))
        }
        _ => 0.5 * beta_reg(0.5 * (d as f64 - 1.0), 0.5, delta.sin().powi(2)),
    }
}

/// Computes the share of the sphere with |⟨x, e⟩| ≥ s for a fixed e.
pub fn beyond(d: usize, s: f64) -> f64 {
    2.0 * share(d, s.clamp(-1.0, 1.0).acos())
}
