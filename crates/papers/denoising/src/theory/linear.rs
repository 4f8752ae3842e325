//! Gaussians on a subspace: $X = Uc$ with $c_i \sim \mathcal N(0, \lambda_i)$ independent. The
//! paper's linear case has every $\lambda_i = \sigma_0^2$; its covariance is $\Sigma = U\Lambda U^T$.
//!
//! Linear attention with $W_{PV} = \alpha I$, $W_{KQ} = \beta I$ is $\gamma \hat\Sigma \tilde x$ with
//! $\gamma = \alpha\beta$ and $\hat\Sigma = \frac1L \sum_t X_t X_t^T$. Wick's theorem gives
//! $\mathbb E[\hat\Sigma B \hat\Sigma] = (1 + \tfrac1L)\Sigma B\Sigma + \tfrac1L \mathrm{tr}(\Sigma B)\Sigma$
//! for symmetric $B$, and with $B = \Sigma + \sigma_Z^2 I$ the exact loss at every $L$ and $\gamma$:
//! $$s_1 - 2\gamma s_2 + \gamma^2\left[(1 + \tfrac1L)(s_3 + \sigma_Z^2 s_2)
//! \mathbin{+} \tfrac1L s_1 (s_2 + \sigma_Z^2 s_1)\right], \qquad s_k = \sum_i \lambda_i^k.$$
//! The functions for equal variances are this with $s_k = d\,\sigma_0^{2k}$.

/// Factor of $P\tilde x$ in the Bayes optimum (A.1): $\sigma_0^2 / (\sigma_0^2 + \sigma_Z^2)$.
pub fn shrinkage(sigma0_2: f64, sigma_z2: f64) -> f64 {
    sigma0_2 / (sigma0_2 + sigma_z2)
}

/// Bayes loss $\sum_i \lambda_i \sigma_Z^2 / (\lambda_i + \sigma_Z^2)$; with equal variances the right side of (A.2).
///
/// ```
/// // d = 8, sigma_0^2 = 2, sigma_Z^2 = 1: the paper's linear case, 16/3.
/// let loss = attnlab_denoising::theory::linear::mmse(&[2.0; 8], 1.0);
/// assert!((loss - 16.0 / 3.0).abs() < 1e-14);
/// ```
pub fn mmse(variances: &[f64], sigma_z2: f64) -> f64 {
    variances.iter().map(|v| v * shrinkage(sigma_z2, *v)).sum()
}

/// The loss of linear attention as a function of γ: least + a (γ - best)².
///
/// With a from the loss at the top, best = $s_2/a$, and $a s_1 - s_2^2$ is a sum of terms that are nowhere negative,
/// as $s_1 s_3 - s_2^2 = s_1 \sum_i \lambda_i (\lambda_i - s_2/s_1)^2$: near the best γ nothing cancels.
pub(super) struct Parabola {
    pub a: f64,
    pub best: f64,
    pub least: f64,
}

impl Parabola {
    pub fn at(&self, gamma: f64) -> f64 {
        self.least + if self.a == 0.0 { 0.0 } else { self.a * (gamma - self.best).powi(2) }
    }
}

fn parabola(variances: &[f64], context: f64, sigma_z2: f64) -> Parabola {
    let s = |k: i32| variances.iter().map(|v| v.powi(k)).sum::<f64>();
    let (s1, s2, s3) = (s(1), s(2), s(3));
    let scatter: f64 = variances.iter().map(|v| v * (v - s2 / s1).powi(2)).sum();
    let noise = sigma_z2 * s2;
    let by_context = (s3 + noise + s1 * (s2 + sigma_z2 * s1)) / context;
    let a = s3 + noise + by_context;
    if a == 0.0 {
        // Of variances so small, attention sees nothing at any γ that is no infinity.
        return Parabola { a, best: f64::NAN, least: s1 };
    }
    Parabola { a, best: s2 / a, least: s1 * ((scatter + noise + by_context) / a) }
}

/// Expected loss of linear attention (3) with $\alpha\beta = \gamma$ and $L$ = `context` clean tokens;
/// `f64::INFINITY` gives the limit.
///
/// ```
/// use attnlab_denoising::theory::linear::{attention_mse, best_gamma};
/// // As L grows the best product approaches 1/(sigma_0^2 + sigma_Z^2) = 1/3; at the 499 clean
/// // tokens of the authors' code it is .3274, the paper's "0.327".
/// let gamma = best_gamma(&[2.0; 8], 499.0, 1.0);
/// assert!((gamma - 0.32743).abs() < 1e-5);
/// assert!((attention_mse(&[2.0; 8], 499.0, 1.0, gamma) / 16.0 - 0.34514).abs() < 1e-5);
/// ```
pub fn attention_mse(variances: &[f64], context: f64, sigma_z2: f64, gamma: f64) -> f64 {
    parabola(variances, context, sigma_z2).at(gamma)
}

/// The $\gamma = \alpha\beta$ of least expected loss at `context` clean tokens. With equal variances
/// $\gamma^* = 1 / [(\sigma_0^2 + \sigma_Z^2)(1 + (d+1)/L)]$.
pub fn best_gamma(variances: &[f64], context: f64, sigma_z2: f64) -> f64 {
    parabola(variances, context, sigma_z2).best
}

/// $\mathbb E\|F_{\rm Lin} - f_{\rm opt}\|^2$ of Theorem 3.1's (4), times $L$:
/// $d(d+1)\sigma_0^4 / (\sigma_0^2 + \sigma_Z^2)$, exact at every $L$.
///
/// ```
/// use attnlab_denoising::theory::linear::{attention_mse, excess_rate, mmse};
/// let (variances, third) = ([2.0; 8], 1.0 / 3.0);
/// let excess = attention_mse(&variances, 500.0, 1.0, third) - mmse(&variances, 1.0);
/// assert!((excess * 500.0 - excess_rate(8, 2.0, 1.0)).abs() < 1e-9);
/// ```
pub fn excess_rate(d: usize, sigma0_2: f64, sigma_z2: f64) -> f64 {
    let d = d as f64;
    d * (d + 1.0) * sigma0_2 * shrinkage(sigma0_2, sigma_z2)
}

/// The context length from which the energy (A.23) of linear attention is positive definite, in the
/// limit of large d: $\lambda_{\max}$ of $\frac1L XX^T$ lies at $\sigma_0^2(1 + \sqrt{d/L})^2$
/// (Marchenko-Pastur), which is below $\sigma_0^2 + \sigma_Z^2$ for
/// $L > d/(\sqrt{1 + \sigma_Z^2/\sigma_0^2} - 1)^2$.
///
/// ```
/// let l = attnlab_denoising::theory::linear::definite_from(8, 2.0, 1.0);
/// assert!((l - 8.0 / (1.5_f64.sqrt() - 1.0).powi(2)).abs() < 1e-10); // 158.4
/// ```
pub fn definite_from(d: usize, sigma0_2: f64, sigma_z2: f64) -> f64 {
    let noise = sigma_z2 / sigma0_2;
    // √(1+x) - 1 without cancellation.
    d as f64 / (noise / ((1.0 + noise).sqrt() + 1.0)).powi(2)
}

/// A context length at which the energy (A.23) is positive definite except with probability `failure`, at every
/// d: $(\sqrt d + \sqrt{2\ln(1/\delta)})^2 / (\sqrt{1 + \sigma_Z^2/\sigma_0^2} - 1)^2$.
///
/// The largest singular value of a (d, L) matrix of standard normals exceeds $\sqrt L + \sqrt d + t$ with
/// probability $e^{-t^2/2}$ at most (Davidson and Szarek 2001, Theorem II.13), and (A.23) asks for less than
/// $\sqrt{L(1 + \sigma_Z^2/\sigma_0^2)}$.
///
/// ```
/// // The paper's setting: at most a tenth of the draws fail at L = 490, and it has L = 500.
/// let l = attnlab_denoising::theory::linear::definite_but(8, 2.0, 1.0, 0.1);
/// assert!((l - 489.8).abs() < 0.1);
/// ```
pub fn definite_but(d: usize, sigma0_2: f64, sigma_z2: f64, failure: f64) -> f64 {
    let spread = (-2.0 * failure.ln()).sqrt() / (d as f64).sqrt();
    definite_from(d, sigma0_2, sigma_z2) * (1.0 + spread).powi(2)
}

/// First percentile of the Tracy-Widom law of order 1.
const TRACY_WIDOM_PERCENT: f64 = -3.8954;

/// The longest context at which (A.23) fails to be positive definite with probability .99 by the law of Tracy
/// and Widom; None where there is no such length, for d of 3 or less and where the noise is large for d.
///
/// With $a = \sqrt{L - 1/2}$ and $b = \sqrt{d - 1/2}$ the largest eigenvalue of $\sum_t X_t X_t^T / \sigma_0^2$ is near
/// $(a + b)^2 + (a + b)(1/a + 1/b)^{1/3}\, W$ with W of that law (Ma 2012, an error of order $\min(d, L)^{-2/3}$; in
/// simulations at d from 4 to 32 the first percentile was passed by .02 of the draws at most).
///
/// ```
/// use attnlab_denoising::theory::linear::indefinite_up_to;
/// assert_eq!(indefinite_up_to(3, 1.0, 0.05), None);
/// let length = indefinite_up_to(8, 1.0, 0.05).unwrap();
/// assert!((2700..2900).contains(&length), "{length}");
/// ```
pub fn indefinite_up_to(d: usize, sigma0_2: f64, sigma_z2: f64) -> Option<u64> {
    let above = |length: f64| {
        let (root, dim_root) = ((length - 0.5).sqrt(), (d as f64 - 0.5).sqrt());
        let width = (root + dim_root) * (1.0 / root + 1.0 / dim_root).cbrt();
        // λ_max - L without the cancellation of L.
        (root + dim_root).powi(2) - length + TRACY_WIDOM_PERCENT * width >= length * sigma_z2 / sigma0_2
    };
    let mut high = definite_from(d, sigma0_2, sigma_z2).ceil();
    let mut low = high;
    while !above(low) {
        if low <= 1.0 {
            return None;
        }
        high = low;
        low = (low * 0.98).min(low - 1.0).floor().max(1.0);
    }
    // The boundary lies in [low, high).
    while high - low > 1.0 {
        let middle = (0.5 * (low + high)).floor();
        if above(middle) { low = middle } else { high = middle }
    }
    Some(low as u64)
}
