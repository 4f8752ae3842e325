//! Confidence sequences for a probability: anytime-valid intervals, which may be looked at after every
//! trial and remain valid under any stopping rule.

use super::{Estimate, validate_level};
use crate::error::{Result, require};
use statrs::function::gamma::ln_gamma;

/// Confidence sequence from the beta-binomial mixture.
///
/// For trials that hold with probability q, independently, s of the first n holding, let
/// $$ M_n(q) = \frac{\int_0^1 \theta^s (1-\theta)^{n-s}\, d\mathrm{Beta}(a, b)(\theta)}
///                  {q^s (1-q)^{n-s}}
///           = \frac{B(a+s,\, b+n-s)}{B(a, b)\; q^s (1-q)^{n-s}}. $$
/// Under q this is a non-negative martingale that starts at 1, so that by Ville's inequality
/// $\mathbb P_q(\exists n: M_n(q) \ge 1/\alpha) \le \alpha$. The set $C_n = \{q: M_n(q) < 1/\alpha\}$, an interval
/// because $M_n$ is convex in q on the logarithmic scale, therefore contains the true q *at every n at once* with
/// probability at least 1 - α. That is Robbins' method of mixtures (Robbins, *Statistical methods related to the law of
/// the iterated logarithm*, Ann. Math. Stat. 41, 1970; Howard, Ramdas, McAuliffe and Sekhon, *Time-uniform,
/// nonparametric, nonasymptotic confidence sequences*, Ann. Stat. 49, 2021, which also treats this mixture).
///
/// The mixing law is Beta(a, b) with a = b = 1/2, the Krichevsky-Trofimov mixture. It loses least against the best θ
/// for probabilities near 0 and 1, where most claims lie, and loses at the same rate (ln n)/2 everywhere else.
///
/// ```
/// use attnlab_core::stats::{Sequence, binomial};
/// let sequence = Sequence::new(0.95)?;
/// let e = sequence.interval(50, 50)?;
/// // mpmath: B(50.5, .5)/B(.5, .5) = .0795892, and (.0795892 · .05)^(1/50) = .895358.
/// assert!((e.low - 0.895_357_522_895_484).abs() < 1e-12 && e.high == 1.0);
/// // The price: for a number of trials fixed in advance the interval would be narrower.
/// assert!(e.low < binomial(50, 50, 0.95)?.low);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sequence {
    level: f64,
}

/// Both parameters a = b of the mixing beta law.
const MIXING: f64 = 0.5;

impl Sequence {
    /// Name of the method in rows and files.
    pub const NAME: &'static str = "beta-binomial";

    /// Builds the sequence whose intervals all contain the true probability, at every n at once, with
    /// probability `level`.
    ///
    /// # Errors
    /// If the level is outside (0, 1).
    pub fn new(level: f64) -> Result<Self> {
        validate_level(level)?;
        Ok(Sequence { level })
    }

    /// Computes the interval after `trials`, of which `successes` held.
    ///
    /// # Errors
    /// If there are no trials, or more successes than trials.
    pub fn interval(&self, successes: u64, trials: u64) -> Result<Estimate> {
        require(trials > 0, "trials", trials, "must be at least 1")?;
        require(successes <= trials, "successes", successes, format!("must be at most trials = {trials}"))?;
        let (s, n) = (successes as f64, trials as f64);
        let value = s / n;
        // C_n is the set of q at which the log-likelihood exceeds this bound.
        let least = ln_beta(MIXING + s, MIXING + n - s) - ln_beta(MIXING, MIXING) + (1.0 - self.level).ln();
        let inside = |q: f64| ln_likelihood(q, s, n) > least;
        Ok(Estimate {
            value,
            low: if successes == 0 { 0.0 } else { edge(0.0, value, inside) },
            high: if successes == trials { 1.0 } else { edge(1.0, value, inside) },
            level: self.level,
        })
    }
}

/// Computes ln(q^s (1-q)^(n-s)), with 0 ln 0 = 0.
fn ln_likelihood(q: f64, s: f64, n: f64) -> f64 {
    let times = |count: f64, ln: f64| if count == 0.0 { 0.0 } else { count * ln };
    times(s, q.ln()) + times(n - s, (-q).ln_1p())
}

/// Finds the place between `outside` and `inside_point` where `inside` changes. The result is rounded
/// outwards, so that the interval is never too narrow.
fn edge(mut outside: f64, inside_point: f64, inside: impl Fn(f64) -> bool) -> f64 {
    let mut within = inside_point;
    loop {
        let middle = 0.5 * (outside + within);
        // Bisection ends when the two are neighbouring numbers.
        if middle == outside || middle == within {
            return outside;
        }
        if inside(middle) {
            within = middle;
        } else {
            outside = middle;
        }
    }
}

fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}
