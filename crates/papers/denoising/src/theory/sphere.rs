//! The sphere of dimension $d$ and radius $R$ in a subspace of dimension $m = d + 1$ (Proposition 3),
//! the orders of its Bessel functions being $\nu = (d-1)/2$ and $\nu + 1$.
//!
//! The length $r = \|P\tilde x\|$ decides everything. With $\lambda = R/\sigma_Z$ and $t = r/\sigma_Z$
//! its density is that of the non-central chi law,
//! $p(t) = \chi_m(t)\, e^{-\lambda^2/2} M_\nu(\lambda t)$, with $M_\nu$ as in
//! [`ln_sphere_mean`](attnlab_core::special::ln_sphere_mean); expectations are integrals against it.

use super::linear::Parabola;
use attnlab_core::quadrature::integrate;
use attnlab_core::special::{bessel_ratio, bessel_ratio_complement, ln_chi_density, ln_scaled_sphere_mean};

/// Order $\nu = (d-1)/2$ of the Bessel function in the denominator of (A.4).
pub fn order(d: usize) -> f64 {
    0.5 * (d as f64 - 1.0)
}

/// The Bayes coefficient of $P\tilde x / \|P\tilde x\|$: $R\, I_{\nu+1}(\kappa) / I_\nu(\kappa)$ with
/// $\kappa = R \|P\tilde x\| / \sigma_Z^2$. This is (A.4) as its own proof has it; the printed
/// equation divides by $\sigma_Z$ instead.
///
/// ```
/// // mpmath: besseli(4.5, 13.8) / besseli(3.5, 13.8)
/// let f = attnlab_denoising::theory::sphere::shrinkage(8, 1.0, 0.1, 1.38);
/// assert!((f - 0.743565578600909).abs() < 1e-14);
/// ```
pub fn shrinkage(d: usize, radius: f64, sigma_z2: f64, norm: f64) -> f64 {
    radius * bessel_ratio(order(d), radius * norm / sigma_z2)
}

/// The coefficient with (A.4) as printed: $\kappa = R \|P\tilde x\| / \sigma_Z$.
pub fn shrinkage_printed(d: usize, radius: f64, sigma_z2: f64, norm: f64) -> f64 {
    radius * bessel_ratio(order(d), radius * norm / sigma_z2.sqrt())
}

/// $\mathbb E\, g(r/\sigma_Z)$ for a function `g` that is nowhere negative and does not grow faster than $t^d$.
fn radial_mean(d: usize, radius: f64, sigma_z2: f64, g: impl Fn(f64) -> f64) -> f64 {
    let (m, lambda) = (d as f64 + 1.0, radius / sigma_z2.sqrt());
    // ln of chi's density is that at 1 with (m - 1) ln t - (t^2 - 1)/2 added. The squares and the growth of M leave
    // -(t - lambda)^2/2, with x = t - lambda as the variable: of large numbers nothing is taken off.
    let at_one = ln_chi_density(m, 1.0) + 0.5;
    let density = |x: f64| {
        let t = lambda + x;
        let power = if m == 1.0 { 0.0 } else { (m - 1.0) * t.ln() };
        (at_one + power - 0.5 * x * x + ln_scaled_sphere_mean(order(d), lambda * t)).exp() * g(t)
    };
    // The law of t has a standard deviation below 1 around at most sqrt(lambda^2 + m), and growth
    // like t^d moves the peak to at most lambda + sqrt(m): 14 away the rest is below e^-98.
    integrate(density, (-14.0_f64).max(-lambda), m.sqrt() + 14.0, 0.5, 1e-13)
}

/// Bayes loss $\mathbb E\, \mathrm{tr\,Cov}(X|\tilde X) = R^2\, \mathbb E[1 - r_\nu(\kappa)^2]$.
///
/// ```
/// use attnlab_denoising::theory::sphere::mmse;
/// // Two points at +-1 and unit noise, mpmath: 1 - quad(exp(-(y-1)^2/2) tanh(y)^2) / sqrt(2 pi)
/// assert!((mmse(0, 1.0, 1.0) - 0.449599509206673).abs() < 1e-13);
/// // The paper's sphere, d = 8, R = 1, sigma_Z^2 = .1: .02899 per component of 16. Integrated in
/// // scipy with the density t^{m/2} lambda^{1-m/2} e^{-(t-lambda)^2/2} ive(m/2-1, lambda t).
/// assert!((mmse(8, 1.0, 0.1) - 0.463883529935509).abs() < 1e-12);
/// ```
pub fn mmse(d: usize, radius: f64, sigma_z2: f64) -> f64 {
    let lambda = radius / sigma_z2.sqrt();
    let loss = |t: f64| {
        let a = bessel_ratio_complement(order(d), lambda * t);
        a * (2.0 - a)
    };
    radius * radius * radial_mean(d, radius, sigma_z2, loss)
}

/// Loss of any radial predictor $g(\|P\tilde x\|)\, P\tilde x / \|P\tilde x\|$: the Bayes loss plus
/// $\mathbb E[(g - f_{\rm opt})^2]$.
///
/// ```
/// use attnlab_denoising::theory::sphere::{loss_of, shrinkage_printed};
/// // What (A.4) as printed costs at the paper's setting, per component: .0357, not .0290.
/// let printed = loss_of(8, 1.0, 0.1, |norm| shrinkage_printed(8, 1.0, 0.1, norm)) / 16.0;
/// assert!((printed - 0.0357156003).abs() < 1e-9);
/// ```
pub fn loss_of(d: usize, radius: f64, sigma_z2: f64, g: impl Fn(f64) -> f64) -> f64 {
    let sigma = sigma_z2.sqrt();
    let distance = |t: f64| (g(sigma * t) - shrinkage(d, radius, sigma_z2, sigma * t)).powi(2);
    mmse(d, radius, sigma_z2) + radial_mean(d, radius, sigma_z2, distance)
}

/// The constant $C$ in $\mathbb E\|F_L - f_{\rm opt}\|^2 = C/L + o(1/L)$ for the softmax attention (6)
/// of Theorem 3.2 on this sphere.
///
/// The delta method for the ratio of two means in (6) gives, for any $p_X$ on a sphere,
/// $C = \mathbb E_{\tilde x}\, \mathbb E_X[e^{2\langle X, \tilde x\rangle/\sigma_Z^2}
/// \|X - f_{\rm opt}\|^2] / (\mathbb E_X e^{\langle X, \tilde x\rangle/\sigma_Z^2})^2$; here the inner
/// expectation is $M_\nu(2\kappa)\, R^2 [1 + r_\nu(\kappa)^2 - 2 r_\nu(\kappa) r_\nu(2\kappa)]$.
///
/// ```
/// use attnlab_denoising::theory::sphere::softmax_rate;
/// // scipy.integrate.quad with scipy.special.ive and gammaln
/// assert!((softmax_rate(1, 1.0, 0.5) - 0.5853182517).abs() < 1e-9);
/// assert!((softmax_rate(8, 1.0, 0.1) - 23.4988157558).abs() < 1e-8);
/// ```
pub fn softmax_rate(d: usize, radius: f64, sigma_z2: f64) -> f64 {
    let lambda = radius / sigma_z2.sqrt();
    radius * radius * radial_mean(d, radius, sigma_z2, |t| moment(d, 2.0, lambda * t))
}

/// $\mathbb E\, u^k \|X - f_{\rm opt}\|^2 / R^2$ at one query, with u the softmax weight over its mean.
fn moment(d: usize, k: f64, kappa: f64) -> f64 {
    let nu = order(d);
    let spread = ln_scaled_sphere_mean(nu, k * kappa) - k * ln_scaled_sphere_mean(nu, kappa);
    let a = bessel_ratio_complement(nu, kappa);
    let b = bessel_ratio_complement(nu, k * kappa);
    // 1 + r^2 - 2 r r' with r = 1 - a, r' = 1 - b, free of cancellation.
    spread.exp() * (a * a + 2.0 * b * (1.0 - a))
}

/// Range and scatter of the rate C/L.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftmaxAsymptotics {
    /// $L^*$: the next order is a share of about $2 L^*/L$.
    pub length: f64,
    /// Variance over queries of the constant of one query, relative to $C^2$.
    pub relative_variance: f64,
    /// Share of C that is along the projected query.
    pub along: f64,
}

/// Computes range and scatter of the rate C/L on this sphere.
///
/// ```
/// use attnlab_denoising::theory::sphere::softmax_asymptotics;
/// // Much noise: the mean of L uniform tokens, of which one component in d + 1 is along the query.
/// let noisy = softmax_asymptotics(3, 1.0, 1e6);
/// assert!((noisy.length - 1.0).abs() < 1e-4 && (noisy.along - 0.25).abs() < 1e-4);
/// assert!(noisy.relative_variance < 1e-4);
/// // Little noise: a cap of radius σ_Z/R around the projected query carries the weight, a share (σ_Z/R)^d.
/// let length = |radius: f64| softmax_asymptotics(2, radius, 1.0).length;
/// assert!((length(1e9) / length(1e8) / 100.0 - 1.0).abs() < 1e-9);
/// ```
pub fn softmax_asymptotics(d: usize, radius: f64, sigma_z2: f64) -> SoftmaxAsymptotics {
    let (lambda, nu) = (radius / sigma_z2.sqrt(), order(d));
    let mean = |g: &dyn Fn(f64) -> f64| radial_mean(d, radius, sigma_z2, |t| g(lambda * t));
    let constant = mean(&|kappa| moment(d, 2.0, kappa));
    // Across the query a token has $d\, r(2\kappa) / 2\kappa$ of its length squared.
    let across = mean(&|kappa| {
        let spread = ln_scaled_sphere_mean(nu, 2.0 * kappa) - 2.0 * ln_scaled_sphere_mean(nu, kappa);
        let share = match kappa > 0.0 {
            true => d as f64 * bessel_ratio(nu, 2.0 * kappa) / (2.0 * kappa),
            false => d as f64 / (d as f64 + 1.0),
        };
        spread.exp() * share
    });
    SoftmaxAsymptotics {
        length: mean(&|kappa| moment(d, 3.0, kappa)) / constant,
        relative_variance: mean(&|kappa| moment(d, 2.0, kappa).powi(2)) / constant.powi(2) - 1.0,
        along: (1.0 - across / constant).clamp(0.0, 1.0),
    }
}

/// Larger of two standard deviations: that of the $\ln\beta$ at which the mean loss of attention over infinitely many tokens is least,
/// α free, over draws of `prompts` queries, and that of the curvature there relative to its mean.
///
/// The loss is that of $\alpha R\, r_\nu(\beta R \|P\tilde x\|)$ along the projected query. With
/// $\varphi = \kappa r' - c\, r$, where $c = \mathbb E[\kappa r' r] / \mathbb E[r^2]$ takes out what α can do, its
/// curvature in $\ln\beta$ is $2 R^2 \mathbb E\varphi^2$, and its slope at one query has the variance
/// $4 R^4 \mathbb E[\varphi^2 r']$, because $R^2 r'$ is the posterior variance along the query.
pub fn minimum_scatter(d: usize, radius: f64, sigma_z2: f64, prompts: f64) -> f64 {
    let (lambda, nu) = (radius / sigma_z2.sqrt(), order(d));
    let mean = |g: &dyn Fn(f64, f64, f64) -> f64| {
        radial_mean(d, radius, sigma_z2, |t| {
            let kappa = lambda * t;
            let r = bessel_ratio(nu, kappa);
            let a = bessel_ratio_complement(nu, kappa);
            // r' = 1 - r^2 - d r / kappa.
            let slope = match kappa > 0.0 {
                true => (a * (2.0 - a) - d as f64 * r / kappa).max(0.0),
                false => 1.0 / (d as f64 + 1.0),
            };
            g(kappa, r, slope)
        })
    };
    let c = mean(&|kappa, r, slope| kappa * slope * r) / mean(&|_, r, _| r * r);
    let phi2 = |kappa: f64, r: f64, slope: f64| (kappa * slope - c * r).powi(2);
    let curvature = mean(&phi2);
    let weighted = mean(&|kappa, r, slope| phi2(kappa, r, slope) * slope);
    let square = mean(&|kappa, r, slope| phi2(kappa, r, slope).powi(2));
    let scatter = weighted.max(square - curvature * curvature) / prompts;
    // No curvature, or one that only rare queries have, is lost in rounding.
    if curvature <= f64::EPSILON { f64::INFINITY } else { scatter.sqrt() / curvature }
}

/// Share of the tokens that carry the weight of softmax attention at inverse temperature $1/\sigma_Z^2$, for many
/// tokens: $M_\nu(\kappa)^2 / M_\nu(2\kappa)$ at the root mean square of $\|P\tilde x\|$.
pub fn effective_share(d: usize, radius: f64, sigma_z2: f64) -> f64 {
    let norm = (radius * radius + (d as f64 + 1.0) * sigma_z2).sqrt();
    let (nu, kappa) = (order(d), radius * norm / sigma_z2);
    (2.0 * ln_scaled_sphere_mean(nu, kappa) - ln_scaled_sphere_mean(nu, 2.0 * kappa)).exp()
}

/// The loss of linear attention on this sphere as a function of γ: $\Sigma = (R^2/m) I$ on the subspace and
/// $x x^T x x^T = R^2 x x^T$ give $\mathbb E[\hat\Sigma^2] = (R^4/m^2)(1 + (m-1)/L)\, I$.
fn parabola(d: usize, context: f64, radius: f64, sigma_z2: f64) -> Parabola {
    let (m, r2) = (d as f64 + 1.0, radius * radius);
    let (total, by_context) = (r2 / m + sigma_z2, (m - 1.0) / context);
    let inverse = total * (1.0 + by_context);
    Parabola { a: inverse * r2 * r2 / m, best: 1.0 / inverse, least: r2 * ((sigma_z2 + total * by_context) / inverse) }
}

/// Expected loss of linear attention (3) with $\alpha\beta = \gamma$ at `context` clean tokens, exact.
pub fn linear_attention_mse(d: usize, context: f64, radius: f64, sigma_z2: f64, gamma: f64) -> f64 {
    parabola(d, context, radius, sigma_z2).at(gamma)
}

/// The $\gamma = \alpha\beta$ of least loss of linear attention:
/// $1 / [(R^2/m + \sigma_Z^2)(1 + (m-1)/L)]$.
///
/// ```
/// // The authors' setting: training reaches 4.63.
/// let gamma = attnlab_denoising::theory::sphere::best_linear_gamma(8, 499.0, 1.0, 0.1);
/// assert!((gamma - 4.662).abs() < 5e-4);
/// ```
pub fn best_linear_gamma(d: usize, context: f64, radius: f64, sigma_z2: f64) -> f64 {
    parabola(d, context, radius, sigma_z2).best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The density of the length integrates to one: this holds the Bessel functions, the chi law and
    /// the quadrature to each other.
    #[test]
    fn the_law_of_the_length_is_normalised() {
        for d in [0, 1, 2, 8, 100, 1000] {
            for sigma_z2 in [1e-6, 0.1, 10.0] {
                let total = radial_mean(d, 1.0, sigma_z2, |_| 1.0);
                // Logarithms of size kappa = 1/sigma_Z^2 carry an absolute error of 1e-16 kappa.
                assert!((total - 1.0).abs() < 1e-9, "{d} {sigma_z2} {total}");
            }
        }
    }

    #[test]
    fn limits_of_the_bayes_loss() {
        // Small noise: d tangent directions of variance sigma_Z^2. Large noise: the prior variance.
        assert!((mmse(8, 1.0, 1e-6) / 8e-6 - 1.0).abs() < 1e-5);
        assert!((mmse(8, 2.0, 1e6) / 4.0 - 1.0).abs() < 1e-5);
        // Scaling: R and sigma_Z together.
        assert!((mmse(3, 2.0, 0.4) / mmse(3, 1.0, 0.1) - 4.0).abs() < 1e-11);
    }
}
