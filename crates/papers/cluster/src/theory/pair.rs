//! The merging of the closest pair of clusters, with masses α_i and α_j at an angle θ.
//!
//! While other tokens are farther away, $\dot\theta = -(\alpha_j/\alpha_i + \alpha_i/\alpha_j)\, e^{-\beta(1-\cos\theta)}\sin\theta$
//! up to factors $1 + O(e^{-\beta(1-\cos\theta)})$: a cluster of mass α_i gives itself the weight 1 and the other one
//! $(\alpha_j/\alpha_i)e^{-\beta(1-\cos\theta)}$.

use attnlab_core::quadrature::{integrate_panels, panels_about};

/// Computes m = α_j/α_i + α_i/α_j, the speed of the pair in units of that of one cluster of equal mass.
pub fn speed(mass_i: f64, mass_j: f64) -> f64 {
    mass_j / mass_i + mass_i / mass_j
}

/// Computes the angle at rescaled time s, $dt = e^{\beta(1-\cos\theta(t))} ds$ with the angle at the time: $\theta' = -m\sin\theta$, so
/// that tan(θ/2) falls like e^{−ms} with m of [`speed`]. Contact takes an infinite s.
///
/// ```
/// use attnlab_cluster::theory::pair::angle;
/// // cos θ = tanh(2s) from a right angle and equal masses.
/// assert!((angle(std::f64::consts::FRAC_PI_2, 0.5, 0.5, 0.3).cos() - 0.6_f64.tanh()).abs() < 1e-15);
/// ```
pub fn angle(start: f64, mass_i: f64, mass_j: f64, s: f64) -> f64 {
    2.0 * ((0.5 * start).tan() * (-speed(mass_i, mass_j) * s).exp()).atan()
}

/// Computes the time from the angle `start` to the angle `end`, in units of $e^{\beta(1-\cos\text{start})}/\beta$:
/// $\beta \int e^{-\beta(\cos\theta - \cos\theta_0)} d\theta/(m \sin\theta)$. Its limit for β → ∞ is
/// $1/(m\sin^2\theta_0)$, whatever `end`.
///
/// ```
/// use attnlab_cluster::theory::pair::{duration, speed};
/// let (start, limit) = (0.9_f64, 1.0 / (speed(0.2, 0.4) * 0.9_f64.sin().powi(2)));
/// // The next order is 2 cos θ₀ / (β sin² θ₀).
/// let next = 1.0 + 2.0 * start.cos() / (4000.0 * start.sin().powi(2));
/// assert!((duration(4000.0, start, 0.3, 0.2, 0.4) / (limit * next) - 1.0).abs() < 1e-5);
/// // No β is too large; what rounds are a few operations.
/// assert!((duration(1e15, start, 0.3, 0.2, 0.4) / limit - 1.0).abs() < 1e-12);
/// ```
pub fn duration(beta: f64, start: f64, end: f64, mass_i: f64, mass_j: f64) -> f64 {
    // With x = θ₀ - θ, and cos θ - cos θ₀ as a product that does not cancel.
    let weight = |t: f64, x: f64| (-2.0 * beta * (0.5 * (start + t)).sin() * (0.5 * x).sin()).exp() / t.sin();
    let half = (0.5 * (start - end)).max(0.0);
    // Within 1/(β sin θ₀) of the start the integrand falls by a factor e: over x there, over θ near the pole at 0.
    let ends = panels_about((0.0, half), 0.0, 1.0 / (beta * start.sin()), half);
    let near = integrate_panels(|x| weight(start - x, x), &ends, 1e-13);
    let ends = panels_about((end, end + half), end, end, half);
    let far = integrate_panels(|t| weight(t, start - t), &ends, 1e-13);
    beta * (near + far) / speed(mass_i, mass_j)
}
