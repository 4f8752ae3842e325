//! The first instability of the uniform law on the circle.
//!
//! A density $\frac1{2\pi}(1 + \epsilon\cos k\theta)$ moves with the velocity $\frac1\beta\partial_\theta$ of $\int e^{\beta\cos(\theta-\phi)}\mu(d\phi)$
//! (USA) or of its logarithm (SA). To first order the amplitude ε grows at the rate $k^2 I_k(\beta)/\beta$ (USA), divided by
//! $I_0(\beta)$ for SA, with the modified Bessel functions $I_k$.

use attnlab_core::special::{bessel_ratio, ln_sphere_mean};
use attnlab_theory::particles::Normalisation;

/// Computes the growth rate of mode k ≥ 1 at β > 0.
///
/// ```
/// use attnlab_cluster::theory::modes::rate;
/// use attnlab_theory::particles::Normalisation;
/// // scipy.special.iv(2, 3.0) * 4 / 3 and the same over iv(0, 3.0)
/// assert!((rate(Normalisation::Uniform, 3.0, 2) - 2.993_616_587_906_602).abs() < 1e-12);
/// assert!((rate(Normalisation::Softmax, 3.0, 2) - 0.613_346_405_371_996).abs() < 1e-12);
/// ```
pub fn rate(model: Normalisation, beta: f64, mode: usize) -> f64 {
    let ratio: f64 = (0..mode).map(|k| bessel_ratio(k as f64, beta)).product();
    let relative = (mode as f64).powi(2) * ratio / beta;
    match model {
        Normalisation::Softmax => relative,
        Normalisation::Uniform => relative * ln_sphere_mean(0.0, beta).exp(),
    }
}

/// Returns the mode of largest rate, the same for both models: k² I_k has one maximum over k, since
/// (k+1)² I_{k+1} / (k² I_k) falls with k.
///
/// ```
/// use attnlab_cluster::theory::modes::fastest;
/// assert_eq!((fastest(0.5), fastest(9.0), fastest(200.0)), (1, 4, 20));
/// ```
pub fn fastest(beta: f64) -> usize {
    let grows = |k: usize| {
        let next = (k as f64 + 1.0) / k as f64;
        next * next * bessel_ratio(k as f64, beta) > 1.0
    };
    let mut k = 1;
    while grows(k) {
        k += 1;
    }
    k
}
