//! Plain softmax instead of a thresholded one: the first layer of AoT (3) with $\varphi$ = softmax.

use super::chi_average;

/// The factor by which one layer with plain softmax multiplies the SNR (6) of every cluster, to
/// leading order in N: balanced clusters, p dimensions each, noise δ, step η.
///
/// In its own head a token attends to itself alone, once p is several times $\ln N$: the signal is multiplied by
/// $1 + \eta$. In another head its noise coefficients $e$, $|e| = \sigma$, become $e + \eta \sum_i w_i y_i$ with the
/// softmax weights of the $n = N/K$ scores $\langle a_i, e\rangle = \sigma g_i$, the $N - n - 1$ scores
/// $\delta\sigma h_m$ and the self score $\sigma^2$. The normaliser concentrates at $S = n e^{\sigma^2/2} + (N-n-1)
/// e^{\delta^2\sigma^2/2} + e^{\sigma^2}$, and from $\mathbb E \, a e^{\langle a, e\rangle} = e \,
/// e^{\sigma^2/2}$ the mean of the sum is $(W + \delta^2 W_n + w_s) e$ with $W = n e^{\sigma^2/2}/S$, $W_n = (N-n-1)
/// e^{\delta^2\sigma^2/2}/S$, $w_s = e^{\sigma^2}/S$: the noise attends to the cluster it is drawn towards, and grows.
/// Around that mean the sum fluctuates by $p \, (n e^{2\sigma^2} + (N-n-1) \delta^2 e^{2\delta^2\sigma^2})/S^2$ in
/// squared length, a floor that no small δ avoids. Hence, averaged over $\sigma^2 = \delta^2\chi^2_p$,
///
/// $$ \frac{SNR^{(1)}}{SNR^{(0)}} = (1+\eta) \sqrt{ \frac{\delta^2 p}{\mathbb E \left(
///    \sigma^2 (1 + \eta (W + \delta^2 W_n + w_s))^2 + \eta^2 F \right)} }, $$
///
/// F being the fluctuation. Left out: the fluctuation of S and its correlation with the sum, which
/// [`range`] estimates; the spread of F, which the tokens of a cluster share, of relative order 1/p; and other
/// weights in the token's own head, $n 2^{-p/2}$. The form fails from about $\delta\sqrt p = \sqrt{\ln n}/2$
/// on, where single keys take the attention of a column.
///
/// ```
/// // Far from 1 + eta = 1.5: at N = 1000, K = 4, p = 200 and delta = sqrt(log N / p)/8 it is 1.26.
/// let delta = (1000.0_f64.ln() / 200.0).sqrt() / 8.0;
/// let factor = attnlab_aot::theory::softmax::first_layer(1000, 4, 200, delta, 0.5);
/// assert!((factor - 1.26).abs() < 0.01);
/// ```
pub fn first_layer(tokens: usize, clusters: usize, dim: usize, delta: f64, eta: f64) -> f64 {
    first_layer_with(tokens, clusters, dim, delta, eta, |gain, floor| (gain, floor))
}

/// Sizes of what [`first_layer`] leaves out, and of its floor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// First neglected term of the expansion in the fluctuation of S, as a share of the factor: with
    /// $V = \mathrm{Var}(S)/S^2$ and $C$ the covariance of the sum with S over $S^2$, the gain changes by
    /// $gV - C$ and the floor by $3FV - 2C_F$. Infinite where it overflows.
    pub neglected: f64,
    /// Weight that a token gives to other tokens in its own head: at most
    /// $n 2^{-p/2} + (N-n)(3-\delta^2)^{-p/2}$ in the mean.
    pub own_head: f64,
    /// Share of the floor in the squared noise after the layer.
    pub floor: f64,
}

/// Largest [`Range::neglected`] and [`Range::own_head`] at which [`first_layer`] is given out: simulated factors
/// differed from it by up to 1.3 times the neglected term.
pub const MOST_NEGLECTED: f64 = 0.01;

/// Computes the sizes of the terms that [`first_layer`] leaves out.
///
/// ```
/// use attnlab_aot::theory::softmax::{MOST_NEGLECTED, range};
/// // Simulated at N = 600, K = 3, p = 120, eta = .5: the form is right to .3 % at delta = .1, and .67 in
/// // place of .98 at delta = .2.
/// assert!(range(600, 3, 120, 0.1, 0.5).neglected < MOST_NEGLECTED);
/// assert!(range(600, 3, 120, 0.2, 0.5).neglected > 100.0);
/// ```
pub fn range(tokens: usize, clusters: usize, dim: usize, delta: f64, eta: f64) -> Range {
    let terms = FirstLayer::new(tokens, clusters, dim, delta);
    let part = |f: &dyn Fn(f64) -> f64| {
        let value = terms.average(f);
        if value.is_nan() { f64::INFINITY } else { value }
    };
    let grown = part(&|sigma| {
        let (gain, floor) = terms.noise(sigma);
        (sigma * (1.0 + eta * gain)).powi(2) + eta * eta * floor
    });
    let neglected = part(&|sigma| terms.neglected(sigma, eta));
    let floor = eta * eta * part(&|sigma| terms.noise(sigma).1);
    let half_dim = 0.5 * dim as f64;
    let rare = |base: f64| (-half_dim * base.ln()).exp();
    let own_head =
        if delta <= 1.0 { terms.n * rare(2.0) + terms.noise * rare(3.0 - delta * delta) } else { f64::INFINITY };
    // Half: the factor is an inverse square root.
    Range { neglected: 0.5 * neglected / grown, own_head, floor: floor / grown }
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
        FirstLayer { n, noise: (tokens as f64 - n - 1.0).max(0.0), dim: dim as f64, delta }
    }

    /// $W + \delta^2 W_n + w_s$ and F at σ.
    fn noise(&self, sigma: f64) -> (f64, f64) {
        let (v, d2) = (sigma * sigma, self.delta * self.delta);
        // In units of e^v, which is the largest term for large σ.
        let self_term = 1.0;
        let cluster = self.n * (-0.5 * v).exp();
        let noise = self.noise * (0.5 * d2 * v - v).exp();
        let s = self_term + cluster + noise;
        let spread = self.n + self.noise * d2 * (2.0 * (d2 - 1.0) * v).exp();
        ((cluster + d2 * noise + self_term) / s, self.dim * spread / (s * s))
    }

    /// Modulus of the first term in the squared noise at σ that the form leaves out.
    fn neglected(&self, sigma: f64, eta: f64) -> f64 {
        /// σ² beyond which the exponentials below overflow, and the form has long failed.
        const MOST_V: f64 = 100.0;
        let (v, d2) = (sigma * sigma, self.delta * self.delta);
        if v > MOST_V {
            return f64::INFINITY;
        }
        let (gain, floor) = self.noise(sigma);
        let s = v.exp() + self.n * (0.5 * v).exp() + self.noise * (0.5 * d2 * v).exp();
        // Over both kinds of other keys: m of them with scores of variance v or δ²v and entries of 1 or δ².
        let over = |term: &dyn Fn(f64) -> f64, signal: f64| self.n * term(v) + self.noise * signal * term(d2 * v);
        let spread = over(&|v| (2.0 * v).exp() - v.exp(), 1.0) / (s * s);
        let along = over(&|v| 2.0 * (2.0 * v).exp() - v.exp(), d2) / (s * s);
        let across = self.dim * over(&|v| (4.5 * v).exp() - (2.5 * v).exp(), d2) / s.powi(3);
        let gain_change = gain * spread - along;
        let floor_change = 3.0 * floor * spread - 2.0 * across;
        (2.0 * v * (1.0 + eta * gain) * eta * gain_change).abs() + (eta * eta * floor_change).abs()
    }

    /// The average over $\sigma = \delta\chi_p$.
    fn average(&self, f: impl Fn(f64) -> f64) -> f64 {
        chi_average(self.dim, self.delta, 1.0 / self.delta.max(1.0), None, f)
    }
}
