//! Expected number of columns that break the pattern (30), at sizes where a full draw is out of reach.
//!
//! At N = 200 000, p = 1300 a draw has 5·10⁸ coefficients and 4·10¹⁰ scores, and below the horizon hardly any draw
//! shows a break at all. But one noise column's law is known without drawing A: given σ² = δ²χ²_p it has an
//! in-cluster weight above τ with probability P(σ), a mean in its first form in
//! [`theory::horizon`](crate::theory::horizon), whose code this module does not use. By symmetry token 1 stands there
//! for the one with the largest score, whose own score is integrated out. The rare part, one score far out, is thus
//! never drawn, and what is left inside the mean varies little. σ is drawn from a χ law stretched towards the columns
//! that break, with its likelihood ratio as weight. So every value is an unbiased estimate of Λ(θ), the expected
//! number of broken noise columns over all heads, with no approximation in between.

use crate::theory::ln_sum_exp;
use attnlab_core::error::{Error, Result, at_least, positive, require};
use attnlab_core::rng::Streams;
use attnlab_core::special::normal_tail;
use rand_distr::{ChiSquared, Distribution, StandardNormal};

/// The setting: AoT Definition 1 with K clusters of N/K tokens in p dimensions, and the threshold τ.
///
/// ```
/// use attnlab_core::rng::Streams;
/// use attnlab_aot::rare_event::RareBreaks;
/// use attnlab_core::stats::mean;
/// let breaks = RareBreaks { tokens: 20_000, clusters: 2, dim: 1000, delta: 0.0124, tau: 0.55 };
/// let value = |trial| breaks.draw(4.0, &Streams::new(1, "doc", 0, trial));
/// let values = (0..40).map(value).collect::<Result<Vec<_>, _>>()?;
/// let estimate = mean(&values, 0.95)?;
/// // 40 draws are enough for 10 % of a probability of a few in a thousand.
/// assert!(estimate.high - estimate.low < 0.1 * estimate.value);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RareBreaks {
    /// N, number of tokens, a multiple of K.
    pub tokens: usize,
    /// K, number of clusters and heads.
    pub clusters: usize,
    /// p, dimension of each subspace.
    pub dim: usize,
    /// Noise level δ > 0.
    pub delta: f64,
    /// Threshold τ in (0, 1).
    pub tau: f64,
}

impl RareBreaks {
    /// One unbiased value of Λ(θ): the expected number of noise columns, over all heads, in which
    /// an in-cluster weight is above τ when the signal has grown by `theta`.
    ///
    /// Not counted: columns broken by their self score or by another noise token, and signal
    /// columns. [`Horizon::other_breaks`](crate::theory::Horizon::other_breaks) bounds them; with
    /// it the mean bounds the probability that any column breaks.
    ///
    /// Time and memory are those of N normals.
    ///
    /// # Errors
    /// When a parameter is out of range.
    pub fn draw(&self, theta: f64, streams: &Streams) -> Result<f64> {
        self.draw_number(0, theta, streams)
    }

    /// The mean of `draws` independent values of [`RareBreaks::draw`] within one trial.
    ///
    /// # Errors
    /// When a parameter is out of range, or there are no draws.
    pub fn mean(&self, draws: u64, theta: f64, streams: &Streams) -> Result<f64> {
        require(draws > 0, "draws", draws, "must be a whole number >= 1")?;
        let sum = (0..draws).try_fold(0.0, |sum, i| self.draw_number(i, theta, streams).map(|value| sum + value))?;
        Ok(sum / draws as f64)
    }

    fn draw_number(&self, i: u64, theta: f64, streams: &Streams) -> Result<f64> {
        self.validate(theta)?;
        let mut rng = streams.part("column", i);
        let p = self.dim as f64;
        let stretch = self.stretch(theta);
        let chi2 = ChiSquared::new(p)
            .map_err(|e| Error::undefined(format!("chi-squared with p = {p}: {e}")))?
            .sample(&mut rng);
        // Density of χ²_p at stretch·chi2 over that of the proposal.
        let ln_weight = 0.5 * p * stretch.ln() - 0.5 * (stretch - 1.0) * chi2;
        let sigma = self.delta * (stretch * chi2).sqrt();
        let (s, noise_sd) = (theta * sigma, self.delta * sigma);

        let (n, logit) = (self.tokens / self.clusters, self.logit());
        let mut normals = |count: usize, sd: f64| -> Vec<f64> {
            (0..count).map(|_| sd * Distribution::<f64>::sample(&StandardNormal, &mut rng)).collect()
        };
        let in_cluster = normals(n - 1, s);
        let mut scores = normals(self.tokens - n - 1, noise_sd);
        let largest = in_cluster.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        scores.extend(in_cluster);
        scores.push(sigma * sigma);
        let needed = largest.max(logit + ln_sum_exp(&scores)) / s;
        let columns = self.tokens as f64 * (self.clusters - 1) as f64;
        Ok(columns * n as f64 * ln_weight.exp() * normal_tail(needed))
    }

    /// Factor by which χ²_p is stretched so that its mode lies where broken columns are most frequent,
    /// as far as the mean of S + B tells. Any value is unbiased; this one keeps the weights even.
    fn stretch(&self, theta: f64) -> f64 {
        let p = self.dim as f64;
        let n = (self.tokens / self.clusters) as f64;
        let rest = self.tokens as f64 - n;
        let ln_frequency = |r: f64| {
            let (s, sigma) = (theta * self.delta * r, self.delta * r);
            let sum = [n.ln() + 0.5 * s * s, rest.ln(), sigma * sigma];
            let needed = ((self.logit() + ln_sum_exp(&sum)) / s).max(0.0);
            p * r.ln() - 0.5 * (r * r + needed * needed)
        };
        // A smooth function with one maximum: a grid of a tenth of χ_p's spread finds it.
        let grid = (1..=400).map(|i| p.sqrt() * (1.0 + 0.07 * f64::from(i) / p.sqrt()));
        let best = grid.fold(p.sqrt(), |best, r| if ln_frequency(r) > ln_frequency(best) { r } else { best });
        best * best / p
    }

    fn logit(&self) -> f64 {
        self.tau.ln() - (-self.tau).ln_1p()
    }

    fn validate(&self, theta: f64) -> Result<()> {
        let k = self.clusters;
        require(k >= 2, "clusters", k, "must be a whole number >= 2: with one cluster there are no noise columns")?;
        let multiple = self.tokens > 0 && self.tokens.is_multiple_of(k);
        require(multiple, "tokens", self.tokens, format!("must be a positive multiple of clusters = {k}"))?;
        at_least("dim", self.dim, 1)?;
        positive("delta", self.delta)?;
        require(self.tau > 0.0 && self.tau < 1.0, "tau", self.tau, "must be a number in (0, 1)")?;
        positive("theta", theta)
    }
}
