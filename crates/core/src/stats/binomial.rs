//! Exact (Clopper-Pearson) intervals for a probability.

use super::{Estimate, validate_level};
use crate::error::{Error, Result, require};
use statrs::distribution::{Beta, Binomial, ContinuousCDF, DiscreteCDF};

/// Largest number of trials for which statrs' incomplete beta function converges. Beyond it the function
/// stops iterating early and reports nothing (measured against mpmath: relative error 1e-14 up to this
/// number, third digit wrong at 10^6).
pub const MAX_TRIALS: u64 = 100_000;

/// Computes the Clopper-Pearson interval for a success probability after `successes` in `trials`.
///
/// # Errors
/// If there are no trials, more successes than trials, a level outside (0, 1), or more than
/// [`MAX_TRIALS`] trials.
///
/// ```
/// // scipy.stats.binomtest(18, 20).proportion_ci(.95, 'exact'): 0.6830172859809209, 0.9876514728297041
/// let e = attnlab_core::stats::binomial(18, 20, 0.95).unwrap();
/// assert!((e.low - 0.6830172859809209).abs() < 1e-12 && (e.high - 0.9876514728297041).abs() < 1e-12);
/// ```
pub fn binomial(successes: u64, trials: u64, level: f64) -> Result<Estimate> {
    validate_level(level)?;
    let allowed = format!(
        "must be a whole number from 1 to {MAX_TRIALS}; beyond that the incomplete beta function \
         behind exact binomial intervals is not accurate"
    );
    require((1..=MAX_TRIALS).contains(&trials), "trials", trials, allowed)?;
    require(successes <= trials, "successes", successes, format!("must be at most trials = {trials}"))?;
    let tail = (1.0 - level) / 2.0;
    let (s, n) = (successes as f64, trials as f64);
    let low = if successes == 0 { 0.0 } else { beta_quantile(s, n - s + 1.0, tail)? };
    let high = if successes == trials { 1.0 } else { beta_quantile(s + 1.0, n - s, 1.0 - tail)? };
    Ok(Estimate { value: s / n, low, high, level })
}

/// Computes the least number of trials n for which n successes give an interval above `q` at `level`:
/// (tail)^(1/n) ≥ q with tail = (1 - level)/2. `None` if `q` ≥ 1, where no number of trials is enough.
pub fn trials_for_lower_bound(q: f64, level: f64) -> Option<u64> {
    if q >= 1.0 {
        return None;
    }
    let tail: f64 = (1.0 - level) / 2.0;
    Some((tail.ln() / q.max(f64::MIN_POSITIVE).ln()).ceil().max(1.0) as u64)
}

/// Computes P(X ≤ k) for X ~ Binomial(n, p).
///
/// # Errors
/// If p is not a probability, or n exceeds [`MAX_TRIALS`].
///
/// ```
/// // scipy.stats.binom.cdf(2, 40, 0.2)
/// let tail = attnlab_core::stats::binomial_cdf(2, 40, 0.2)?;
/// // The incomplete beta function is good to 1e-12 of its value.
/// assert!((tail - 0.007_942_137_274_814_89).abs() < 1e-14);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn binomial_cdf(k: u64, n: u64, p: f64) -> Result<f64> {
    if n > MAX_TRIALS {
        return Err(Error::invalid("trials", n, format!("must be at most {MAX_TRIALS}")));
    }
    let law = Binomial::new(p, n).map_err(|e| Error::undefined(format!("Binomial({p}, {n}) has no tail: {e}")))?;
    Ok(law.cdf(k))
}

fn beta_quantile(a: f64, b: f64, p: f64) -> Result<f64> {
    let beta = Beta::new(a, b).map_err(|e| Error::undefined(format!("Beta({a}, {b}) has no quantile: {e}")))?;
    Ok(beta.inverse_cdf(p))
}
