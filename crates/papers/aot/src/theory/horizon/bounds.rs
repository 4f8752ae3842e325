//! Rigorous bounds on the ways in which the pattern (30) can break that the law leaves out.

use super::{AVERAGE_TOL, Horizon};
use attnlab_core::quadrature::{integrate_panels, panels_about};
use attnlab_core::special::{chi_cdf, chi_tail, ln_chi_density, ln_normal_tail};

/// Upper bounds on expected numbers of columns, over all heads and all $\theta' \in [1, \theta]$
/// that occur; see [`Horizon::other_breaks`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OtherBreaks {
    /// Noise columns in which the self score's weight is above τ.
    pub own_score: f64,
    /// Noise columns in which the weight of another noise token is above τ.
    pub noise_scores: f64,
    /// Signal columns (j in C_k) whose own weight is not above τ, or with another one above it.
    pub signal_columns: f64,
}

/// Upper bounds on the expected number of signal columns that break through keys of their own cluster, and
/// through other keys; see [`Horizon::signal_matches`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignalMatches {
    /// Through keys of the same cluster.
    pub own: f64,
    /// Through keys of other clusters.
    pub others: f64,
}

impl OtherBreaks {
    /// The sum of the three.
    pub fn total(&self) -> f64 {
        self.own_score + self.noise_scores + self.signal_columns
    }
}

impl Horizon {
    /// The breaks that [`Horizon::lambda`] does not count, bounded from above without approximation: with them,
    /// $\mathbb P($ a column breaks $) \le \Lambda + $ total.
    ///
    /// *Noise columns.* By the inequality of the means, $N - 1$ exponentials sum to at least $(N-1) e^{m}$, $m$ the
    /// mean of their exponents. Against the self score all other scores enter, and $m$ is normal with variance
    /// $\sigma^2 v$, $v = (n\theta^2 + (N-n-1)\delta^2)/(N-1)^2$; so the self weight is above τ with probability at
    /// most $Q((\ln(N-1) + \ell - \sigma^2)/(\sigma\sqrt v))$. Against one noise score $\delta\sigma h$ the self score
    /// counts as 0, which is less than it is, and each has probability at most
    /// $Q((\ln(N-1) + \ell)/(\sigma\sqrt{\delta^2 + v}))$. Both grow with σ: on $\sigma \le \sigma_0$ they are at most
    /// their value there, and $\sigma > \sigma_0$ is counted as a break. Every $\sigma_0$ gives a bound; the best of a
    /// grid is taken. $m$ is linear in θ, so over $[1, \theta]$ it is least at an end: twice the bound at θ, the larger
    /// one, covers both.
    ///
    /// *Signal columns.* With $r = |a_j|$ the self score is $\theta^2 r^2$. If its weight is not above τ, or another
    /// one is, some other score is at least $\theta^2 r^2 - L$ with $L = \ln((N-1)/\varepsilon)$,
    /// $\varepsilon = (1-\tau)/\tau$ for $\tau \ge 1/2$ and τ below. The others are $\theta^2 r g$ ($n - 1$ of them)
    /// and $\theta\delta r h$ ($N - n$), and both $r - L/(\theta^2 r)$ and $(\theta r - L/(\theta r))/\delta$ increase
    /// in θ ≥ 1 and in r: the union bound at θ = 1 covers all layers, and $r < r_0$ is counted as a break. For
    /// $\tau \ge 1/2$ and $\delta \le 1$ the smaller one of this and [`Horizon::signal_matches`] is taken.
    ///
    /// The bounds are coarse where they are not small, and may exceed the number of columns.
    pub fn other_breaks(&self, theta: f64) -> OtherBreaks {
        let [_, own_score, noise_score] = self.noise_column_bounds(theta);
        OtherBreaks {
            own_score: 2.0 * self.noise_columns() * own_score,
            noise_scores: 2.0 * self.noise_columns() * noise_score,
            signal_columns: self.signal_columns(),
        }
    }

    /// Upper bounds on the expected number of signal columns that leave the pattern at any θ ≥ 1, for
    /// $\tau \ge 1/2$ and $\delta \le 1$; None otherwise.
    ///
    /// Given $r = |a_j|$, the token keeps a weight above τ iff $\sum_i e^{x_i - \theta^2 r^2}$ over the other keys is
    /// below $c = (1-\tau)/\tau \le 1$. The keys of its own cluster have $x_i = \theta^2 r g_i$, the others
    /// $\theta\delta r h_m$. If no $g_i$ exceeds r and no $\delta h_m$ does, every term falls with θ; if one does, its
    /// term is at least 1 ≥ c at θ = 1: all is decided at θ = 1. There, with Markov's inequality for the terms below 1,
    ///
    /// $$ \mathbb P(\text{break} \mid r) \le (n-1) \left( Q(r) + \frac{e^{-r^2/2}}{2c} \right)
    ///    + (N-n) \left( Q(r/\delta) + \frac{e^{-r^2(1 - \delta^2/2)}}{c} \right), $$
    ///
    /// and $Q(x) \le e^{-x^2/2}/2$, $\mathbb E e^{-u\chi_p^2} = (1+2u)^{-p/2}$ give
    ///
    /// $$ \frac{N}{1-\tau} \left( \frac{n-1}{2} 2^{-p/2} + (N-n) (3-\delta^2)^{-p/2} \right). $$
    pub fn signal_matches(&self) -> Option<SignalMatches> {
        if self.tau < 0.5 || self.delta > 1.0 {
            return None;
        }
        let (n, total) = (self.per_cluster() as f64, self.tokens as f64);
        let half_dim = 0.5 * self.dim as f64;
        let rare = |base: f64| (-half_dim * base.ln()).exp() / (1.0 - self.tau);
        let count = |keys: f64, each: f64| if keys > 0.0 { total * keys * each } else { 0.0 };
        Some(SignalMatches {
            own: count(0.5 * (n - 1.0), rare(2.0)),
            others: count(total - n, rare(3.0 - self.delta.powi(2))),
        })
    }

    /// A lower bound on the probability that some signal column is outside the pattern (30) at `theta`, up to the
    /// error of the quadrature: that the shortest token of some head loses its own attention.
    ///
    /// Given its length r, the scores of the other keys of its cluster are $\theta^2 r g_i$, and $g_i \ge x$ has
    /// at least the probability $Q(x)$ for $x \ge 0$: that these keys are longer only helps. The token loses its
    /// own attention iff $\sum_i e^{x_i - \theta^2 r^2} \ge c = (1-\tau)/\tau$ over the other keys. Without noise
    /// the $N-n$ keys of other clusters have score 0 and give $f = (N-n) e^{-\theta^2 r^2}$ of it, so that one key of the
    /// cluster is enough from $x = r + \ln(c - f)/(\theta^2 r)$ on, and none is needed where $f \ge c$. With noise f is
    /// left out. Heads are independent.
    ///
    /// ```
    /// use attnlab_aot::theory::Horizon;
    /// // Two clusters of one token each, no noise: a token keeps a weight above 1/2 unless it is 0.
    /// let law = Horizon { tokens: 2, clusters: 2, dim: 1, delta: 0.0, tau: 0.5 };
    /// assert_eq!(law.signal_break_at_least(1.0), 0.0);
    /// // Of sixty tokens some is nearly always lost in 8 dimensions, and none in 1000.
    /// let law = Horizon { tokens: 60, dim: 8, ..law };
    /// assert!(law.signal_break_at_least(1.0) > 0.9);
    /// assert!(Horizon { dim: 1000, ..law }.signal_break_at_least(1.0) < 1e-100);
    /// ```
    pub fn signal_break_at_least(&self, theta: f64) -> f64 {
        let each = self.own_attention_lost(theta, self.per_cluster());
        -(self.clusters as f64 * (-each).ln_1p()).exp_m1()
    }

    /// A lower bound on the probability that a given signal column is outside the pattern (30) at `theta`, as in
    /// [`Horizon::signal_break_at_least`]; close to it where one key is what takes the token's attention.
    pub fn signal_column_break(&self, theta: f64) -> f64 {
        self.own_attention_lost(theta, 1)
    }

    /// Returns `true` if all noise columns break because their weights are equal and above τ: without noise they are
    /// 1/N. Nearer to τ than rounding, the answer is `false`.
    pub fn equal_weights_break(&self) -> bool {
        let above = self.tau * (self.tokens as f64) < 1.0 - 4.0 * f64::EPSILON;
        self.clusters >= 2 && self.delta == 0.0 && above
    }

    /// A lower bound on the probability that the shortest one of `among` tokens of a cluster loses its own attention.
    fn own_attention_lost(&self, theta: f64, among: usize) -> f64 {
        if self.tau >= 1.0 {
            return 1.0; // no weight exceeds 1
        }
        let (p, root) = (self.dim as f64, (self.dim as f64).sqrt());
        let (n, among) = (self.per_cluster() as f64, among as f64);
        let odds = (1.0 - self.tau) / self.tau;
        let others = if self.delta == 0.0 { self.tokens as f64 - n } else { 0.0 };
        // The length below which the keys of other clusters alone take the token's attention.
        let drowned = if others > odds { (others / odds).ln().sqrt() / theta } else { 0.0 };
        let lost = |r: f64| {
            let scale = theta * theta * r;
            let rest = odds - others * (-scale * r).exp();
            let x = if rest > 0.0 { (r + rest.ln() / scale).max(0.0) } else { 0.0 };
            let by_some_key = -((n - 1.0) * (-tail(x)).ln_1p()).exp_m1();
            let longer = if among > 1.0 { (among - 1.0) * chi_tail(p, r).ln() } else { 0.0 };
            by_some_key * among * (ln_chi_density(p, r) + longer).exp()
        };
        // χ_p has standard deviation below .71: what lies farther out is negligible, and leaving it out is safe.
        let (low, high) = (drowned.max(root - 12.0), root + 8.0);
        // Near `low` the integrand changes over 1/θ; with noise, where ln(odds)/(θ²r) is about 1; and over some share of the
        // length that one of `among` tokens does not exceed in the mean.
        let by_theta = 0.25 / if self.delta == 0.0 { theta } else { theta * theta };
        // χ_p has the density r^{p-1} times its value at 1 without e^{-1/2} near 0.
        let shortest = ((p.ln() - ln_chi_density(p, 1.0) - 0.5 - among.ln()) / p).exp();
        let ends = panels_about((low, high), low, by_theta.min(0.02 * shortest), 0.25);
        let by_key = if n > 1.0 { integrate_panels(lost, &ends, AVERAGE_TOL) } else { 0.0 };
        let by_others = if drowned > 0.0 { -(among * (-chi_cdf(p, drowned)).ln_1p()).exp_m1() } else { 0.0 };
        (by_others + by_key).clamp(0.0, 1.0)
    }

    fn signal_columns(&self) -> f64 {
        let closed = self.signal_matches().map_or(f64::INFINITY, |m| m.own + m.others);
        closed.min(self.tokens as f64 * self.signal_column_bound())
    }

    /// An upper bound, without approximation, on the probability that the pattern (30) breaks at
    /// some $\theta' \in [1, \theta]$; small while $\theta\delta\sqrt p$ stays below about
    /// $0.45\sqrt{\ln N}$, short of the law's $0.586$.
    ///
    /// The in-cluster keys, which [`Horizon::lambda`] counts and [`Horizon::other_breaks`] leaves out, by the same
    /// inequality of the means: key i breaks the column at $\theta'$ iff $\theta'\sigma g_i - \ell$ exceeds the
    /// logarithm of the sum of the $N - 1$ others, at least $\ln(N-1)$ plus the mean of their exponents; the difference
    /// is normal with variance at most $\sigma^2(\theta'^2 + v)$. In a noise column all these comparisons are linear in
    /// $\theta'$, so the worst $\theta'$ is one of the two ends: twice the bound at $\theta$ covers the interval. In a
    /// signal column $\theta' = 1$ is the worst already. Without noise (δ = 0) all weights of a noise column are 1/N,
    /// and with K = 1 there are none.
    ///
    /// ```
    /// use attnlab_aot::theory::Horizon;
    /// let delta = (180_000_f64.ln() / 1300.0).sqrt() / 8.0;
    /// let law = Horizon::new(180_000, 2, 1300, delta, 0.55)?;
    /// assert!(law.break_bound(3.0) < 1e-5);
    /// assert_eq!(law.break_bound(20.0), 1.0);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn break_bound(&self, theta: f64) -> f64 {
        let signal_columns = self.signal_columns();
        if self.clusters < 2 {
            return signal_columns.min(1.0);
        }
        if self.delta == 0.0 {
            // All weights of a noise column are 1/N.
            let unbroken = self.tau * self.tokens as f64 >= 1.0;
            return if unbroken { signal_columns.min(1.0) } else { 1.0 };
        }
        let [captured, own_score, noise_score] =
            self.noise_column_bounds(theta).map(|each| self.noise_columns() * each);
        let noise_columns = captured + 2.0 * own_score + 2.0 * noise_score;
        let bound = 2.0 * noise_columns + signal_columns;
        // NaN where θ overflows: nothing is known.
        if bound < 1.0 { bound } else { 1.0 }
    }

    /// Bounds at θ on the probability that in a noise column the weight of some in-cluster key, of the self score and
    /// of some other noise score is above τ.
    fn noise_column_bounds(&self, theta: f64) -> [f64; 3] {
        let (n, noise) = (self.per_cluster() as f64, self.noise_scores());
        let others = self.tokens as f64 - 1.0;
        let v = (n * theta * theta + noise * self.delta.powi(2)) / (others * others);
        let height = others.ln() + self.logit();
        // τ < 1/N: weights that are all equal are already above it, and every column is broken.
        if height <= 0.0 {
            return [1.0; 3];
        }
        let p = self.dim as f64;
        let captured = |r: f64| {
            let spread = self.delta * r * (theta * theta + v).sqrt();
            chi_tail(p, r) + n * tail(height / spread)
        };
        let own_score = |r: f64| {
            let sigma = self.delta * r;
            chi_tail(p, r) + tail((height - sigma * sigma) / (sigma * v.sqrt()))
        };
        let noise_score = |r: f64| {
            let sigma = self.delta * r;
            let x = height / (sigma * (self.delta.powi(2) + v).sqrt());
            chi_tail(p, r) + noise * tail(x)
        };
        [best_above(p, captured), best_above(p, own_score), best_above(p, noise_score)]
    }

    fn signal_column_bound(&self) -> f64 {
        let (n, others) = (self.per_cluster() as f64, self.tokens as f64 - 1.0);
        let ln_share = if self.tau >= 0.5 { -self.logit() } else { self.tau.ln() };
        let l = others.ln() - ln_share;
        let p = self.dim as f64;
        let bound = |r: f64| {
            let x = r - l / r;
            let noise = others + 1.0 - n;
            // Without noise the other keys have score 0, below any positive x.
            let drowned = if self.delta == 0.0 && x > 0.0 || noise == 0.0 { 0.0 } else { noise * tail(x / self.delta) };
            chi_cdf(p, r) + (n - 1.0) * tail(x) + drowned
        };
        grid(0.01, p.sqrt() + 5.0).map(bound).fold(1.0, f64::min)
    }
}

fn tail(x: f64) -> f64 {
    ln_normal_tail(x).exp()
}

/// The least value of a bound over a grid of r_0 above the bulk of χ_p.
fn best_above(p: f64, bound: impl Fn(f64) -> f64) -> f64 {
    grid(p.sqrt(), p.sqrt() + 40.0).map(bound).fold(1.0, f64::min)
}

/// Points between two ends: 400 are within a few per cent of the best bound, and any is a bound.
fn grid(low: f64, high: f64) -> impl Iterator<Item = f64> {
    (0..=400).map(move |i| low + (high - low) * f64::from(i) / 400.0)
}
