//! The depth horizon: how many layers the linear rate of AoT Theorem 1 lasts.
//!
//! # Setting
//! Theorem 1 rests on the pattern (30): $\varphi(M_k) = \mathrm{BlkDiag}(0, .., \tau I, .., 0)$ for
//! every head $k$, where $M_k$ holds the scores of layer $l$. By the induction (35), as long as it
//! held, layer $l$ has only multiplied the signal by $\theta = (1 + \eta\tau)^l$. Take a column
//! $j \notin C_k$ of $M_k$, a *noise column*: all its weights must stay at most $\tau$. Its scores
//! are $\theta \langle a_i, e_{j,k} \rangle$ for the $n = N/K$ tokens $i \in C_k$,
//! $\langle e_{m,k}, e_{j,k} \rangle$ for the $N - n - 1$ tokens outside, and the self score
//! $|e_{j,k}|^2$.
//!
//! Write $\sigma = |e_{j,k}|$, so $\sigma^2 = \delta^2 \chi^2_p$. Since $a_i$ and $e_{m,k}$ are
//! isotropic normal and independent of $e_{j,k}$, given $\sigma$ the scores are *exactly*
//! $\theta\sigma g_i$, $\delta\sigma h_m$ and $\sigma^2$ with all $g_i$, $h_m$ independent and
//! standard normal. Only the first $n$ grow with $\theta$; that is what ends the linear rate.
//!
//! # The law
//! Let $s = \theta\sigma$, $\ell = \ln(\tau/(1-\tau))$, $S = \sum_{i \ge 2} e^{s g_i}$ ($n-1$
//! terms) and $B = e^{\sigma^2} + \sum_m e^{\delta\sigma h_m}$. Token 1 has a weight above $\tau$
//! iff $e^{s g_1 - \ell} > S + B$. An in-cluster weight above $\tau$ exists iff the largest is, and
//! each token is the largest with the same probability, so the column breaks with probability
//!
//! $$ P(\sigma) = n \mathbb E \, Q\left( \max\left( \max_{i \ge 2} g_i,
//!    \frac{\ell + \ln(S + B)}{s} \right) \right)
//!    = n \int \phi(x) \, \mathbb P\left( S + B \le c_x, \ g_i \le x \ \forall i \ge 2 \right) dx,
//!    \qquad c_x = e^{s x - \ell}. $$
//!
//! Both forms are exact for every $\tau \in (0, 1)$. The first is what [`rare_event`](crate::rare_event) averages. The
//! second is evaluated here: $S + B \le c_x$ forces $g_i \le x - \ell/s$, so with $y = \min(x, x - \ell/s)$
//!
//! $$ P(\sigma) = n \int \phi(x) \, \Phi(y)^{n-1} \, \mathbb P\left( S_y + B \le c_x \right) dx, $$
//!
//! $S_y$ being the sum of $n-1$ lognormals truncated at $e^{s y}$, whose moments are
//! $\mathbb E X^m = e^{m^2 s^2/2} \Phi(y - m s)/\Phi(y)$. (The terms of B are truncated at $c_x$
//! in the same way, unless $\delta\sigma$ is so small that it changes nothing.) The one approximation: the random part of
//! $S_y + B$ is replaced by the shifted lognormal of the same mean, variance and skewness. Finally
//! there are $N - n$ noise columns in each of $K$ heads, so that
//!
//! $$ \Lambda(\theta) = N (K-1) \, \mathbb E_{\sigma^2 = \delta^2\chi^2_p} P(\sigma) $$
//!
//! is the expected number of broken columns. Columns share the $a_i$ but are independent given them, and each is rarely
//! broken: their number is Poisson to a good approximation and the pattern holds at $\theta$ with probability
//! $\exp(-\Lambda(\theta))$. A largest weight that is above $\tau$ at $\theta$ stays above it for larger $\theta$, so
//! breaking at *some* layer up to $l$ is breaking at layer $l$: no union over layers.
//!
//! # Accuracy
//! Against simulation of the exact form above (20 000 draws; N from 200 to 200 000, n from 10 to
//! 100 000, K from 2 to 100, $\tau$ from .1 to .999, $\Lambda$ = .01 and .7) the largest error of
//! $\Lambda$ seen was 0.8 %, mostly below 0.4 %: under .003 in probability. Matching two moments by
//! a lognormal or gamma law instead is off by up to 2.7 %. The quadratures (adaptive Gauss-Kronrod,
//! over $x$ inside and over $\sigma$ outside) add about 1e-6.
//!
//! # For large N
//! With $K = O(1)$ and $\theta\sigma = b \sqrt{\ln N}$, $S$ concentrates at $n e^{s^2/2}$, hence
//! $\Lambda = N^{2 - (1 + b^2/2)^2/(2b^2) + o(1)} = N^{3/2 - 1/(2b^2) - b^2/8 + o(1)}$. The exponent
//! vanishes at $b^2 = 6 - 4\sqrt 2$, so
//!
//! $$ \theta_{crit} \, \delta \sqrt p \to (2 - \sqrt 2) \sqrt{\ln N} \approx 0.586 \sqrt{\ln N}. $$
//!
//! With $K = N^\kappa$ the constant is $2 - \sqrt{2 + 2\kappa}$ while the in-cluster sum $N^{1 - \kappa + b^2/2}$
//! outweighs the $N$ noise scores, that is up to $\kappa = 1/8$, and $1/2$ from there on. Convergence is slow: the
//! constant at finite $N$ is larger by some tenths. At $\delta = c\sqrt{\ln N/p}$ the horizon is thus about
//! $\ln(0.586/c)/\ln(1+\eta\tau)$ updates, whatever $N$.

mod bounds;
mod column;

use attnlab_core::error::{Error, Result, at_least, positive, require};
use attnlab_core::memo::Memo;
use attnlab_core::quadrature::{integrate_panels, panels_about};
use attnlab_core::special::{ln_chi_density, ln_normal_tail};
use column::Column;
use std::convert::Infallible;
use std::sync::LazyLock;

pub use bounds::OtherBreaks;

/// The constant $2 - \sqrt 2$ of the large-N law.
pub const LARGE_N_CONSTANT: f64 = 2.0 - std::f64::consts::SQRT_2;

/// Parts of the σ-average below e^-40 of its peak are left out: less than 1e-17 of the whole.
const NEGLIGIBLE: f64 = 40.0;
/// Relative error asked of the average over σ.
const AVERAGE_TOL: f64 = 1e-6;
/// θδ√p below which in-cluster scores are all equal, and above which every column is broken that
/// ever will be: the search for θ gives up beyond.
const SMALLEST_S: f64 = 1e-9;
/// See [`SMALLEST_S`].
const LARGEST_S: f64 = 1e4;
/// Relative error asked of θ in [`Horizon::theta`].
const THETA_TOL: f64 = 1e-9;
/// Relative error of Λ at which the search for θ ends: below [`AVERAGE_TOL`] Λ is rounding.
const LAMBDA_TOL: f64 = 3e-7;

/// The setting of the law: AoT Definition 1 with K clusters of N/K tokens in p dimensions each and
/// noise level δ, and the threshold τ.
///
/// ```
/// use attnlab_aot::theory::Horizon;
/// // N = 2000, K = 2, p = 900, delta = sqrt(log N / p)/8: the pattern lasts to theta = 5.16,
/// let law = Horizon::new(2000, 2, 900, 0.011_487, 0.55)?;
/// let theta = law.theta(0.5)?;
/// assert!((theta - 5.16).abs() < 0.02);
/// // which eta = 0.5 reaches after 7 exact updates.
/// assert_eq!(law.exact_updates(0.5, 0.5)?, 7);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Horizon {
    /// N, number of tokens.
    pub tokens: usize,
    /// K ≥ 2, number of clusters and heads.
    pub clusters: usize,
    /// p, dimension of each subspace.
    pub dim: usize,
    /// Noise level δ > 0.
    pub delta: f64,
    /// Threshold τ in (0, 1).
    pub tau: f64,
}

impl Horizon {
    /// The law at these parameters.
    ///
    /// # Errors
    /// When N is not a multiple of K ≥ 2, p is 0, δ is not positive or τ is not in (0, 1).
    pub fn new(tokens: usize, clusters: usize, dim: usize, delta: f64, tau: f64) -> Result<Self> {
        let several = "must be a whole number >= 2: with one cluster there are no noise columns";
        require(clusters >= 2, "clusters", clusters, several)?;
        let multiple = tokens > 0 && tokens.is_multiple_of(clusters);
        require(multiple, "tokens", tokens, format!("must be a positive multiple of clusters = {clusters}"))?;
        at_least("dim", dim, 1)?;
        let noisy = "must be a finite number > 0: without noise the pattern never breaks";
        require(delta > 0.0 && delta.is_finite(), "delta", delta, noisy)?;
        require(tau > 0.0 && tau < 1.0, "tau", tau, "must be a number in (0, 1)")?;
        Ok(Horizon { tokens, clusters, dim, delta, tau })
    }

    /// n = N/K, tokens per cluster.
    pub fn per_cluster(&self) -> usize {
        self.tokens / self.clusters
    }

    /// N(K-1), noise columns over all heads.
    pub fn noise_columns(&self) -> f64 {
        self.tokens as f64 * (self.clusters - 1) as f64
    }

    /// $P(\sigma)$: the probability that a noise column with $|e_{j,k}| = \sigma$ is broken at
    /// `theta` by an in-cluster score.
    pub fn column(&self, theta: f64, sigma: f64) -> f64 {
        Column::new(self, theta, sigma).breaks()
    }

    /// $\Lambda(\theta)$, the expected number of noise columns, over all heads, in which an
    /// in-cluster weight is above τ at `theta` > 0. Values below 1e-300 may come out as 0.
    ///
    /// The self score and the other noise scores can break a column too, and so can the signal
    /// columns: [`Horizon::other_breaks`] bounds them.
    pub fn lambda(&self, theta: f64) -> f64 {
        self.noise_columns() * self.once("breaks", theta, || self.average(theta, |sigma| self.column(theta, sigma)))
    }

    /// A lower bound on the probability that the pattern is broken at `theta`, up to the error of the
    /// quadratures: the larger one of [`Horizon::signal_break_at_least`] and of the bound for noise columns that an
    /// in-cluster score breaks. The latter takes one noise column of each of the K heads, which are independent,
    /// each with the bound of Markov's inequality on its normaliser. It tends to
    /// $1 - 2^{-N}$ for large θ, and is far below $1 - e^{-\Lambda}$ where few columns break. Without noise (δ = 0)
    /// all weights of a noise column are 1/N, and with K = 1 there are none.
    ///
    /// ```
    /// use attnlab_aot::theory::Horizon;
    /// let law = Horizon::new(2000, 2, 900, 0.0115, 0.55)?;
    /// let (least, lambda) = (law.break_at_least(8.0), law.lambda(8.0));
    /// assert!(least > 1e-3 && least < 2.0 * lambda / law.noise_columns());
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn break_at_least(&self, theta: f64) -> f64 {
        let signal = self.signal_break_at_least(theta);
        if self.tau >= 1.0 || self.clusters < 2 {
            return signal;
        }
        if self.delta == 0.0 {
            return if self.equal_weights_break() { 1.0 } else { signal };
        }
        let at_least = |sigma| Column::new(self, theta, sigma).breaks_at_least();
        let each = self.once("breaks at least", theta, || self.average(theta, at_least)).min(1.0);
        signal.max(-(self.clusters as f64 * (-each).ln_1p()).exp_m1())
    }

    /// θ, or the θ from which on every column is broken that ever will be, if that is smaller.
    pub fn clipped(&self, theta: f64) -> f64 {
        theta.min(LARGEST_S / self.typical_sigma())
    }

    /// The first-moment form of the law: $S + B$ replaced by one lognormal of its mean and
    /// variance, untruncated, at $\sigma = \delta\sqrt p$. Cheap, good for τ up to about .7, and
    /// off for τ near 1, where rare huge terms decide those moments.
    pub fn lambda_moments(&self, theta: f64) -> f64 {
        let (s, mean) = self.annealed_sum(theta);
        let n1 = (self.per_cluster() - 1) as f64;
        let relative = (s * s).exp() * (s * s).exp_m1() * n1 / (mean * mean);
        let spread = relative.ln_1p();
        let level = self.logit() + mean.ln() - 0.5 * spread;
        self.first_moment(level / (s * s + spread).sqrt())
    }

    /// The annealed form: $S + B$ replaced by its mean, at $\sigma = \delta\sqrt p$. It gives the
    /// right exponent for large N and is kept for comparison.
    pub fn lambda_annealed(&self, theta: f64) -> f64 {
        let (s, mean) = self.annealed_sum(theta);
        self.first_moment((self.logit() + mean.ln()) / s)
    }

    /// The θ by which the pattern has broken with this `probability`:
    /// $\exp(-\Lambda(\theta)) = 1 - $ `probability`. Below 1 it breaks before the first layer.
    ///
    /// # Errors
    /// When `probability` is not in (0, 1), or no θ reaches it.
    pub fn theta(&self, probability: f64) -> Result<f64> {
        require(probability > 0.0 && probability < 1.0, "probability", probability, "must be a number in (0, 1)")?;
        let target = -(-probability).ln_1p();
        let excess = |u: f64| (self.lambda(u.exp()) / target).ln().max(-1e3);
        let ln_sigma = self.typical_sigma().ln();
        let ln_n = (self.tokens as f64).ln();
        let guess = (LARGE_N_CONSTANT * ln_n.sqrt().max(1.0)).ln() - ln_sigma;
        let (mut low, mut high) = (guess, guess + 0.1);
        let (mut at_low, mut at_high) = (excess(low), excess(high));
        // Steps that double reach any bracket in a few evaluations.
        let mut step = 0.2;
        while at_low > 0.0 {
            let never = "reached for no theta: tau is so small that equal weights exceed it";
            require(low + ln_sigma >= SMALLEST_S.ln(), "probability", probability, never)?;
            (high, at_high) = (low, at_low);
            low -= step;
            at_low = excess(low);
            step *= 2.0;
        }
        while at_high < 0.0 {
            if high + ln_sigma > LARGEST_S.ln() {
                let most = self.lambda(high.exp());
                let allowed =
                    format!("below {:.3}: no theta breaks more than {most:.3} columns in the mean", -(-most).exp_m1());
                return Err(Error::invalid("probability", probability, allowed));
            }
            (low, at_low) = (high, at_high);
            high += step;
            at_high = excess(high);
            step *= 2.0;
        }
        Ok(root(excess, (low, at_low), (high, at_high), (THETA_TOL, LAMBDA_TOL)).exp())
    }

    /// The number of updates that are exact before the pattern breaks, where it breaks at the θ that [`Horizon::theta`]
    /// gives for `probability`: updates 0, 1, .. use $\theta_l = (1+\eta\tau)^l$, so
    /// $\lceil \ln\theta / \ln(1+\eta\tau) \rceil$ of them come before θ is reached.
    ///
    /// # Errors
    /// As [`Horizon::theta`], when `eta` is not positive, and when there are more than 2^53 updates.
    pub fn exact_updates(&self, eta: f64, probability: f64) -> Result<u64> {
        const MOST: f64 = (1_u64 << 53) as f64;
        positive("eta", eta)?;
        let updates = (self.theta(probability)?.ln() / (eta * self.tau).ln_1p()).ceil().max(0.0);
        require(updates <= MOST, "eta", eta, format!("must be larger: {updates:e} updates are no exact number"))?;
        Ok(updates as u64)
    }

    /// $\ln(\tau/(1-\tau))$.
    pub(crate) fn logit(&self) -> f64 {
        self.tau.ln() - (-self.tau).ln_1p()
    }

    /// N - n - 1, noise scores in a noise column besides its self score.
    fn noise_scores(&self) -> f64 {
        (self.tokens - self.per_cluster()).saturating_sub(1) as f64
    }

    /// δ√p, about which |e| concentrates.
    fn typical_sigma(&self) -> f64 {
        self.delta * (self.dim as f64).sqrt()
    }

    /// s = θδ√p and the mean of S + B there.
    fn annealed_sum(&self, theta: f64) -> (f64, f64) {
        let sigma = self.typical_sigma();
        let s = theta * sigma;
        let in_cluster = (self.per_cluster() - 1) as f64 * (0.5 * s * s).exp();
        let noise = self.noise_scores() * (0.5 * (self.delta * sigma).powi(2)).exp();
        (s, in_cluster + (sigma * sigma).exp() + noise)
    }

    fn first_moment(&self, x: f64) -> f64 {
        self.noise_columns() * self.per_cluster() as f64 * ln_normal_tail(x).exp()
    }

    /// Returns the value of an integral of this law at θ, which is computed once: a claim asks for the same one in its
    /// hypotheses, its number of trials and its verdict.
    fn once(&self, integral: &'static str, theta: f64, value: impl FnOnce() -> f64) -> f64 {
        type Argument = (&'static str, [usize; 3], [u64; 3]);
        static KNOWN: LazyLock<Memo<Argument, f64>> = LazyLock::new(Memo::new);
        let sizes = [self.tokens, self.clusters, self.dim];
        let numbers = [self.delta, self.tau, theta].map(f64::to_bits);
        let Ok(value) = KNOWN.value((integral, sizes, numbers), || Ok::<f64, Infallible>(value()));
        value
    }

    /// $\mathbb E f(\delta\chi_p)$ for f with values in [0, 1] that grows with σ over the bulk of χ_p, from θσ of some
    /// tenths on.
    fn average(&self, theta: f64, f: impl Fn(f64) -> f64) -> f64 {
        // χ_p has standard deviation below .71 whatever p is: steps of a half do not pass over its bulk, nor do the
        // nodes of a panel of 2, which are at most .21 apart.
        const STEP: f64 = 0.5;
        const WIDEST: f64 = 2.0;
        let p = self.dim as f64;
        let ln_term = |r: f64| ln_chi_density(p, r) + f(self.delta * r).ln();
        let mut best = f64::NEG_INFINITY;
        let mut high = p.sqrt();
        // Past the bulk of the density, stop where even f = 1 could not matter any more, or where
        // the density underflows.
        while high < p.sqrt() + 1.0 || ln_chi_density(p, high) > (best - NEGLIGIBLE).max(-745.0) {
            best = best.max(ln_term(high));
            high += STEP;
        }
        let mut low = p.sqrt();
        let (mut term, mut above) = (ln_term(low), ln_term(low + STEP));
        while low > 0.0 && term.max(above) > best - NEGLIGIBLE {
            low -= STEP;
            (term, above) = (ln_term(low), term);
        }
        let low = low.max(0.0);
        // f rises over some share of θσ: panels from 0 on may grow with it.
        let ends = panels_about((low, high), low, low.max(1.0 / (theta * self.delta)), WIDEST);
        integrate_panels(|r| ln_chi_density(p, r).exp() * f(self.delta * r), &ends, AVERAGE_TOL)
    }
}

/// Computes the root of an increasing function between two points of opposite sign, to the first tolerance, or where the
/// magnitude of its value is below the second: the Illinois form of false position, which cannot leave the bracket and converges faster than
/// linearly.
fn root(f: impl Fn(f64) -> f64, mut low: (f64, f64), mut high: (f64, f64), tol: (f64, f64)) -> f64 {
    let mut last = 0;
    for _ in 0..60 {
        if high.0 - low.0 < tol.0 || low.1 == 0.0 {
            return low.0;
        }
        let x = (low.0 * high.1 - high.0 * low.1) / (high.1 - low.1);
        let value = f(x);
        if value.abs() < tol.1 {
            return x;
        }
        if value < 0.0 {
            low = (x, value);
            if last == -1 {
                high.1 *= 0.5;
            }
            last = -1;
        } else {
            high = (x, value);
            if last == 1 {
                low.1 *= 0.5;
            }
            last = 1;
        }
    }
    0.5 * (low.0 + high.0)
}

#[cfg(test)]
mod tests;
