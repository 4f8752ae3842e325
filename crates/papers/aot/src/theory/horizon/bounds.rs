//! Rigorous bounds on the ways in which the pattern (30) can break that the law leaves out.

use super::Horizon;
use attnlab_core::special::{chi_cdf, chi_tail, ln_normal_tail};

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
    /// *Noise columns.* By the inequality of the means, $N - 1$ exponentials sum to at least
    /// $(N-1) e^{m}$, $m$ the mean of their exponents. Against the self score all other scores
    /// enter, and $m$ is normal with variance $\sigma^2 v$,
    /// $v = (n\theta^2 + (N-n-1)\delta^2)/(N-1)^2$; so the self weight is above τ with probability
    /// at most $Q((\ln(N-1) + \ell - \sigma^2)/(\sigma\sqrt v))$. Against one noise score
    /// $\delta\sigma h$ the self score counts as 0, which is less than it is, and each has
    /// probability at most $Q((\ln(N-1) + \ell)/(\sigma\sqrt{\delta^2 + v}))$. Both grow with σ: on
    /// $\sigma \le \sigma_0$ they are at most their value there, and $\sigma > \sigma_0$ is counted
    /// as a break. Every $\sigma_0$ gives a bound; the best of a grid is taken. $m$ is linear in θ, so
    /// over $[1, \theta]$ it is least at an end: twice the bound at θ, the larger one, covers both.
    ///
    /// *Signal columns.* With $r = |a_j|$ the self score is $\theta^2 r^2$. If its weight is not
    /// above τ, or another one is, some other score is at least $\theta^2 r^2 - L$ with
    /// $L = \ln((N-1)/\varepsilon)$, $\varepsilon = (1-\tau)/\tau$ for $\tau \ge 1/2$ and τ below.
    /// The others are $\theta^2 r g$ ($n - 1$ of them) and $\theta\delta r h$ ($N - n$), and both
    /// $r - L/(\theta^2 r)$ and $(\theta r - L/(\theta r))/\delta$ increase in θ ≥ 1 and in r: the
    /// union bound at θ = 1 covers all layers, and $r < r_0$ is counted as a break.
    ///
    /// The bounds are coarse where they are not small, and may exceed the number of columns.
    pub fn other_breaks(&self, theta: f64) -> OtherBreaks {
        let (own, noise) = self.noise_column_bounds(theta);
        OtherBreaks {
            own_score: 2.0 * self.noise_columns() * own,
            noise_scores: 2.0 * self.noise_columns() * noise,
            signal_columns: self.tokens as f64 * self.signal_column_bound(),
        }
    }

    /// An upper bound, without approximation, on the probability that the pattern (30) breaks at
    /// some $\theta' \in [1, \theta]$; small while $\theta\delta\sqrt p$ stays below about
    /// $0.45\sqrt{\ln N}$, short of the law's $0.586$.
    ///
    /// The in-cluster keys, which [`Horizon::lambda`] counts and [`Horizon::other_breaks`] leaves
    /// out, by the same inequality of the means: key i breaks the column at $\theta'$ iff
    /// $\theta'\sigma g_i - \ell$ exceeds the logarithm of the sum of the $N - 1$ others, at least
    /// $\ln(N-1)$ plus the mean of their exponents; the difference is normal with variance at most
    /// $\sigma^2(\theta'^2 + v)$. In a noise column all these comparisons are linear in
    /// $\theta'$, so the worst $\theta'$ is one of the two ends: twice the bound at $\theta$ covers
    /// the interval. In a signal column $\theta' = 1$ is the worst already.
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
        let others = self.other_breaks(theta);
        let (n, noise) = (self.per_cluster() as f64, self.noise_scores());
        let rest = self.tokens as f64 - 1.0;
        let v = (n * theta * theta + noise * self.delta.powi(2)) / (rest * rest);
        let height = rest.ln() + self.logit();
        let own = |r: f64| {
            let spread = self.delta * r * (theta * theta + v).sqrt();
            chi_tail(self.dim as f64, r) + n * tail(height / spread)
        };
        let captured = if height > 0.0 {
            self.noise_columns() * best_above(self.dim as f64, own)
        } else {
            f64::INFINITY
        };
        let noise_columns = captured + others.own_score + others.noise_scores;
        (2.0 * noise_columns + others.signal_columns).min(1.0)
    }

    fn noise_column_bounds(&self, theta: f64) -> (f64, f64) {
        let (n, noise) = (self.per_cluster() as f64, self.noise_scores());
        let others = self.tokens as f64 - 1.0;
        let v = (n * theta * theta + noise * self.delta.powi(2)) / (others * others);
        let height = others.ln() + self.logit();
        // τ < 1/N: weights that are all equal are already above it, and every column is broken.
        if height <= 0.0 {
            return (1.0, 1.0);
        }
        let p = self.dim as f64;
        let own = |r: f64| {
            let sigma = self.delta * r;
            chi_tail(p, r) + tail((height - sigma * sigma) / (sigma * v.sqrt()))
        };
        let other = |r: f64| {
            let sigma = self.delta * r;
            let x = height / (sigma * (self.delta.powi(2) + v).sqrt());
            chi_tail(p, r) + noise * tail(x)
        };
        (best_above(p, own), best_above(p, other))
    }

    fn signal_column_bound(&self) -> f64 {
        let (n, others) = (self.per_cluster() as f64, self.tokens as f64 - 1.0);
        let ln_share = if self.tau >= 0.5 {
            -self.logit()
        } else {
            self.tau.ln()
        };
        let l = others.ln() - ln_share;
        let p = self.dim as f64;
        let bound = |r: f64| {
            let x = r - l / r;
            chi_cdf(p, r) + (n - 1.0) * tail(x) + (others + 1.0 - n) * tail(x / self.delta)
        };
        grid(0.01, p.sqrt() + 5.0).map(bound).fold(1.0, f64::min)
    }
}

fn tail(x: f64) -> f64 {
    ln_normal_tail(x).exp()
}

/// The least value of a bound over a grid of r_0 above the bulk of χ_p.
fn best_above(p: f64, bound: impl Fn(f64) -> f64) -> f64 {
    grid(p.sqrt(), p.sqrt() + 40.0)
        .map(bound)
        .fold(1.0, f64::min)
}

/// Points between two ends: 400 are within a few per cent of the best bound, and any is a bound.
fn grid(low: f64, high: f64) -> impl Iterator<Item = f64> {
    (0..=400).map(move |i| low + (high - low) * f64::from(i) / 400.0)
}
