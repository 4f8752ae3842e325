//! Patterns drawn uniformly from a sphere: the weight that a pattern keeps for itself.
//!
//! At the pattern x_1 softmax attention gives the others weights in the ratio $e^{\kappa(u_j - 1)}$ to its own, with
//! κ = βM² and u_j the cosine. Their mean is
//! $$ m_d(\kappa) = \mathbb E\, e^{\kappa(u - 1)} = e^{-\kappa} M_{d/2-1}(\kappa) $$
//! with M of [`ln_sphere_mean`](attnlab_core::special::ln_sphere_mean), so that the others have (N − 1) m together, in units of the pattern's own weight. For
//! κ = λd and d → ∞, $\ln(1/m)/d \to \alpha_1(\lambda)$, the sharp threshold of the load (ln N)/d.

use attnlab_core::special::ln_scaled_sphere_mean;

/// Computes ln m_d(κ) for κ ≥ 0.
///
/// ```
/// use attnlab_memory::theory::sphere::ln_mean;
/// // d = 3: the cosine is uniform, and m = (1 - exp(-2κ))/(2κ).
/// let exact = |k: f64| (-(-2.0 * k).exp_m1() / (2.0 * k)).ln();
/// assert!((ln_mean(3, 5.0) - exact(5.0)).abs() < 1e-13);
/// assert!((ln_mean(3, 1e16) - exact(1e16)).abs() < 1e-13);
/// ```
pub fn ln_mean(d: usize, kappa: f64) -> f64 {
    ln_scaled_sphere_mean(0.5 * d as f64 - 1.0, kappa)
}

/// Computes the relative variance of one weight, E e^{2κ(u−1)}/m² − 1.
pub fn scatter(d: usize, kappa: f64) -> f64 {
    // e^{2κ(u−1)} is the weight at 2κ.
    (ln_mean(d, 2.0 * kappa) - 2.0 * ln_mean(d, kappa)).exp_m1()
}

/// Computes the threshold α_1(λ) as d → ∞.
///
/// The others' weights are $e^{d\,(\alpha + \max_u[\lambda u + \frac12\ln(1 - u^2)] - \lambda)}$ together. The maximum is at
/// $u = (\sqrt{1 + 4\lambda^2} - 1)/(2\lambda)$, and among $e^{\alpha d}$ patterns such cosines occur at the threshold, so
/// that
/// $$ \alpha_1(\lambda) = \lambda(1 - u) - \tfrac12\ln(1 - u^2). $$
///
/// ```
/// use attnlab_memory::theory::sphere::threshold;
/// // At λ = 1: u = (sqrt(5) - 1)/2, evaluated by Python.
/// assert!((threshold(1.0) - 0.622_571_923_779_906_9).abs() < 1e-14);
/// // ½ (1 + ln λ) for large λ.
/// assert!((threshold(1e200) - 0.5 * (1.0 + 1e200_f64.ln())).abs() < 1e-12);
/// ```
pub fn threshold(lambda: f64) -> f64 {
    // u = (√(1+4λ²) − 1)/(2λ) and 1 − u without cancellation.
    let root = f64::hypot(1.0, 2.0 * lambda);
    let u = 2.0 * lambda / (root + 1.0);
    let rest = (1.0 + 1.0 / (root + 2.0 * lambda)) / (root + 1.0);
    // 1 − u², by the one of its factors that has digits.
    let ln_square = if u < 0.5 { (-u * u).ln_1p() } else { (rest * (1.0 + u)).ln() };
    lambda * rest - 0.5 * ln_square
}
