//! Plain softmax instead of a thresholded one: the first layer of AoT (3) with $\varphi$ = softmax.

use attnlab_core::quadrature::integrate;
use attnlab_core::special::ln_chi_density;

/// The factor by which one layer with plain softmax multiplies the SNR (6) of every cluster, to
/// leading order in N: balanced clusters, p dimensions each, noise δ, step η.
///
/// In its own head a token attends to itself alone, once p is several times $\ln N$: the signal is
/// multiplied by $1 + \eta$. In another head its noise coefficients $e$, $|e| = \sigma$, become
/// $e + \eta \sum_i w_i y_i$ with the softmax weights of the $n = N/K$ scores
/// $\langle a_i, e\rangle = \sigma g_i$, the $N - n - 1$ scores $\delta\sigma h_m$ and the self
/// score $\sigma^2$. The normaliser concentrates at
/// $S = n e^{\sigma^2/2} + (N-n-1) e^{\delta^2\sigma^2/2} + e^{\sigma^2}$, and from
/// $\mathbb E \, a e^{\langle a, e\rangle} = e \, e^{\sigma^2/2}$ the mean of the sum is
/// $(W + \delta^2 W_n + w_s) e$ with $W = n e^{\sigma^2/2}/S$, $W_n = (N-n-1)
/// e^{\delta^2\sigma^2/2}/S$, $w_s = e^{\sigma^2}/S$: the noise attends to the cluster it is drawn
/// towards, and grows. Around that mean the sum fluctuates by
/// $p \, (n e^{2\sigma^2} + (N-n-1) \delta^2 e^{2\delta^2\sigma^2})/S^2$ in squared length, a floor
/// that no small δ avoids. Hence, averaged over $\sigma^2 = \delta^2\chi^2_p$,
///
/// $$ \frac{SNR^{(1)}}{SNR^{(0)}} = (1+\eta) \sqrt{ \frac{\delta^2 p}{\mathbb E \left(
///    \sigma^2 (1 + \eta (W + \delta^2 W_n + w_s))^2 + \eta^2 F \right)} }, $$
///
/// F being the fluctuation. Left out: correlations between the sum and S, of relative order 1/p and
/// 1/n, and other weights in the token's own head, $n e^{-p/2}$.
///
/// ```
/// // Far from 1 + eta = 1.5: at N = 1000, K = 4, p = 200 and delta = sqrt(log N / p)/8 it is 1.26.
/// let delta = (1000.0_f64.ln() / 200.0).sqrt() / 8.0;
/// let factor = attnlab_aot::theory::softmax::first_layer(1000, 4, 200, delta, 0.5);
/// assert!((factor - 1.26).abs() < 0.01);
/// ```
pub fn first_layer(tokens: usize, clusters: usize, dim: usize, delta: f64, eta: f64) -> f64 {
    first_layer_with(tokens, clusters, dim, delta, eta, |gain, floor| {
        (gain, floor)
    })
}

/// The same with the gain $W + \delta^2 W_n + w_s$ and the floor F replaced by a function of
/// them, for comparison with forms that leave one out.
pub(crate) fn first_layer_with(
    tokens: usize,
    clusters: usize,
    dim: usize,
    delta: f64,
    eta: f64,
    form: impl Fn(f64, f64) -> (f64, f64),
) -> f64 {
    let terms = FirstLayer::new(tokens, clusters, dim, delta);
    let p = dim as f64;
    let grown = terms.average(|sigma| {
        let (gain, floor) = terms.noise(sigma);
        let (gain, floor) = form(gain, floor);
        (sigma * (1.0 + eta * gain)).powi(2) + eta * eta * floor
    });
    (1.0 + eta) * (delta * delta * p / grown).sqrt()
}

/// The pieces of [`first_layer`].
#[derive(Clone, Copy, Debug)]
struct FirstLayer {
    n: f64,
    noise: f64,
    dim: f64,
    delta: f64,
}

impl FirstLayer {
    fn new(tokens: usize, clusters: usize, dim: usize, delta: f64) -> Self {
        let n = (tokens / clusters) as f64;
        FirstLayer {
            n,
            noise: (tokens as f64 - n - 1.0).max(0.0),
            dim: dim as f64,
            delta,
        }
    }

    /// $W + \delta^2 W_n + w_s$ and F at σ.
    fn noise(&self, sigma: f64) -> (f64, f64) {
        let (v, d2) = (sigma * sigma, self.delta * self.delta);
        // In units of e^v, which is the largest term for large σ.
        let own = 1.0;
        let cluster = self.n * (-0.5 * v).exp();
        let noise = self.noise * (0.5 * d2 * v - v).exp();
        let s = own + cluster + noise;
        let spread = self.n + self.noise * d2 * (2.0 * (d2 - 1.0) * v).exp();
        (
            (cluster + d2 * noise + own) / s,
            self.dim * spread / (s * s),
        )
    }

    /// The average over $\sigma = \delta\chi_p$.
    fn average(&self, f: impl Fn(f64) -> f64) -> f64 {
        // Ten standard deviations and more of χ_p to either side leave out less than 1e-40.
        let (low, high) = ((self.dim.sqrt() - 10.0).max(0.0), self.dim.sqrt() + 14.0);
        let term = |r: f64| ln_chi_density(self.dim, r).exp() * f(self.delta * r);
        integrate(term, low, high, 1.0, 1e-9)
    }
}
