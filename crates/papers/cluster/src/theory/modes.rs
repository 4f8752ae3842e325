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
/// // mpmath at 60 digits, Debye's expansion. The product of 10⁵ ratios loses five digits.
/// assert!((rate(Normalisation::Softmax, 5e7, 100_000) / 7.440_392_520_561_067e-42 - 1.0).abs() < 1e-10);
/// ```
pub fn rate(model: Normalisation, beta: f64, mode: usize) -> f64 {
    let ratio = ratio_to_mean(beta, mode);
    let relative = (mode as f64).powi(2) * ratio / beta;
    match model {
        Normalisation::Softmax => relative,
        Normalisation::Uniform => relative * ln_sphere_mean(0.0, beta).exp(),
    }
}

/// Computes $I_k(\beta) / I_0(\beta)$, the product of $r_\nu = I_{\nu+1}/I_\nu$ over ν < k. The recurrence
/// $r_{\nu-1} = \beta / (2\nu + \beta r_\nu)$ downwards contracts errors.
fn ratio_to_mean(beta: f64, mode: usize) -> f64 {
    let mut ratio = bessel_ratio((mode - 1) as f64, beta);
    let mut product = ratio;
    for order in (1..mode).rev() {
        ratio = beta / (2.0 * order as f64 + beta * ratio);
        product *= ratio;
    }
    product
}

/// Returns the mode of largest rate, the same for both models: k² I_k has one maximum over k, since
/// (k+1)² I_{k+1} / (k² I_k) falls with k.
///
/// ```
/// use attnlab_cluster::theory::modes::fastest;
/// assert_eq!((fastest(0.5), fastest(9.0), fastest(200.0)), (1, 4, 20));
/// // mpmath at 60 digits, Debye's expansion: about √(2β).
/// assert_eq!((fastest(5e7), fastest(1e8)), (10_000, 14_142));
/// ```
pub fn fastest(beta: f64) -> usize {
    let grows = |k: usize| {
        let next = (k as f64 + 1.0) / k as f64;
        next * next * bessel_ratio(k as f64, beta) > 1.0
    };
    // The last mode that grows into the next one is in [low, high): doubled, then halved.
    let mut high = 1;
    while grows(high) {
        high *= 2;
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if grows(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}
