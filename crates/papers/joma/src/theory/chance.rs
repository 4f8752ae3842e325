//! Chance levels and ceilings that trained networks are held against.

use attnlab_core::error::{self, Result};
use attnlab_core::quadrature::{integrate_panels, panels_about};
use libm::lgamma;
use statrs::function::beta::beta_reg;

/// The mean of the largest of `units` correlations between independent normal columns over `points` points and one
/// given column, all centred: the chance level of "the best of the units".
///
/// A centred normal column is isotropic in n - 1 dimensions, n = `points`, so that its correlation r with a given
/// one has the density $(1 - r^2)^{(n-4)/2}$ up to a factor.
///
/// # Errors
/// No units, or fewer than three points, whose centred columns all have the correlation ±1.
///
/// ```
/// use attnlab_joma::theory::chance::largest_correlation;
/// // Table 1 of JoMA: 400 units, one point per class; mpmath's quadrature.
/// assert!((largest_correlation(400, 20)? - 0.625_507_182_052).abs() < 1e-9);
/// assert!((largest_correlation(400, 50)? - 0.410_541_443_561).abs() < 1e-9);
/// assert!(largest_correlation(1, 20)?.abs() < 1e-9);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn largest_correlation(units: usize, points: usize) -> Result<f64> {
    error::at_least("units", units, 1)?;
    let allowed = "must be a whole number >= 3; centred columns of two points have correlation 1 or -1";
    error::require(points >= 3, "points", points, allowed)?;
    let half = 0.5 * (points as f64 - 2.0);
    let above = |r: f64| beta_reg(half, half, (0.5 * (1.0 - r)).clamp(0.0, 1.0));
    let some_above = |r: f64| -(units as f64 * (-above(r)).ln_1p()).exp_m1();
    // The law is as wide as 1/√n.
    let ends = panels_about((-1.0, 1.0), 0.0, 0.5 / (points as f64).sqrt(), 0.25);
    Ok(integrate_panels(some_above, &ends, 1e-12) - 1.0)
}

/// The stable rank of an m x n matrix of independent entries of mean 0 and one variance, to leading order:
/// $mn/(\sqrt m + \sqrt n)^2$ by the law of Bai and Yin.
///
/// ```
/// let rank = attnlab_joma::theory::chance::stable_rank(2048, 512);
/// assert!((rank - 2048.0 / 9.0).abs() < 1e-10);
/// ```
pub fn stable_rank(rows: usize, columns: usize) -> f64 {
    let (m, n) = (rows as f64, columns as f64);
    m * n / (m.sqrt() + n.sqrt()).powi(2)
}

/// The mean entropy over the positions 1..n of causal attention that is uniform: $\ln(n!)/n$, in nats.
///
/// ```
/// let ceiling = attnlab_joma::theory::chance::causal_entropy(2048);
/// assert!((ceiling - 6.6269).abs() < 1e-4);
/// ```
pub fn causal_entropy(positions: usize) -> f64 {
    let n = positions as f64;
    lgamma(n + 1.0) / n
}
