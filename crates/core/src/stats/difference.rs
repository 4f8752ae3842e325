//! Tests for the difference of two independent samples.

use super::{Estimate, MAX_TRIALS, t_quantile, t_tail};
use crate::error::{Error, Result, require};
use crate::special::normal_tail;
use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::factorial::ln_binomial;

/// Relative excess up to which two tables count as equally probable, as in R's `fisher.test`: far above the rounding of
/// logarithms of binomials (1e-10), far below the ratio of different tables.
const TIE: f64 = 1e-7;

/// Computes the two-sided p-value of Fisher's exact test: the probability, given all margins, of a table that is at
/// most as probable as that of `successes` of `trials` in the two samples.
///
/// # Errors
/// A sample without trials or with more than [`MAX_TRIALS`], or more successes than trials.
///
/// ```
/// // The hypergeometric law in whole numbers: 0.03095030514385353.
/// let p = attnlab_core::stats::fisher([18, 11], [20, 20])?;
/// assert!((p - 0.030_950_305_143_853_53).abs() < 1e-12);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn fisher(successes: [u64; 2], trials: [u64; 2]) -> Result<f64> {
    for (s, n) in successes.into_iter().zip(trials) {
        let allowed = format!("must be a whole number from 1 to {MAX_TRIALS}");
        require((1..=MAX_TRIALS).contains(&n), "trials", n, allowed)?;
        require(s <= n, "successes", s, format!("must be at most trials = {n}"))?;
    }
    let ([n, m], total) = (trials, successes[0] + successes[1]);
    let all_tables = ln_binomial(n + m, total);
    let probability = |k: u64| (ln_binomial(n, k) + ln_binomial(m, total - k) - all_tables).exp();
    let largest = probability(successes[0]) * (1.0 + TIE);
    let tables = total.saturating_sub(m)..=total.min(n);
    Ok(tables.map(probability).filter(|p| *p <= largest).sum::<f64>().min(1.0))
}

/// Computes the two-sided p-value of Welch's test for two means with Student intervals of `counts` values, as
/// [`mean`](super::mean) makes them: the standard errors are those of the intervals, the degrees of freedom
/// Satterthwaite's.
///
/// # Errors
/// Samples of fewer than two values, intervals that are not finite, or both without width.
///
/// ```
/// use attnlab_core::stats::{mean, welch};
/// // Simpson's rule over the density of t with 6.8712268743914295 degrees, from 0 to 2.497421350525749.
/// let (a, b) = (mean(&[1.0, 2.0, 4.0, 7.0], 0.95)?, mean(&[3.0, 8.0, 9.0, 12.0, 13.0], 0.99)?);
/// assert!((welch([a, b], [4, 5])? - 0.041_763_274_729_86).abs() < 1e-8);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn welch(means: [Estimate; 2], counts: [u64; 2]) -> Result<f64> {
    let (mut squares, mut per_freedom) = (0.0, 0.0);
    for (e, count) in means.iter().zip(counts) {
        require(count >= 2, "trials", count, "must be at least 2 for a test of means")?;
        let freedom = count as f64 - 1.0;
        let square = (0.5 * (e.high - e.low) / t_quantile(freedom, 0.5 + e.level / 2.0)?).powi(2);
        squares += square;
        per_freedom += square.powi(2) / freedom;
    }
    let t = distance(means, squares)?;
    Ok((2.0 * t_tail(squares.powi(2) / per_freedom, t)?).min(1.0))
}

/// Computes the two-sided p-value of the difference of two estimates by the normal law, with standard errors from the
/// widths of their intervals. It is approximate: the estimates should be normal and their intervals symmetric.
///
/// # Errors
/// Intervals that are not finite, or both without width.
///
/// ```
/// use attnlab_core::stats::{Estimate, normal_difference};
/// // R: qnorm(0.975) = 1.959964, qnorm(0.995) = 2.575829; 2 * pnorm(-5 / sqrt(9 + 16)) = 0.3173105.
/// let a = Estimate { value: 0.0, low: -5.879_891_953_620_162, high: 5.879_891_953_620_162, level: 0.95 };
/// let b = Estimate { value: 5.0, low: 5.0 - 10.303_317_214_195_604, high: 15.303_317_214_195_604, level: 0.99 };
/// assert!((normal_difference([a, b])? - 0.317_310_507_862_914).abs() < 1e-9);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn normal_difference(estimates: [Estimate; 2]) -> Result<f64> {
    let law = Normal::standard();
    let square = |e: Estimate| (0.5 * (e.high - e.low) / law.inverse_cdf(0.5 + e.level / 2.0)).powi(2);
    let z = distance(estimates, estimates.map(square).iter().sum())?;
    Ok((2.0 * normal_tail(z)).min(1.0))
}

/// Returns the distance of two estimates in units of its standard error, the root of `squares`.
fn distance([a, b]: [Estimate; 2], squares: f64) -> Result<f64> {
    let distance = (a.value - b.value).abs() / squares.sqrt();
    if squares > 0.0 && squares.is_finite() && distance.is_finite() {
        return Ok(distance);
    }
    Err(Error::undefined("a test of a difference needs finite intervals, one of them with a width"))
}

#[cfg(test)]
mod tests {
    use super::super::mean;
    use super::*;

    #[test]
    fn equal_samples_do_not_differ() {
        assert_eq!(fisher([5, 5], [10, 10]).unwrap(), 1.0);
        assert_eq!(fisher([0, 0], [40, 40]).unwrap(), 1.0);
        let sample = mean(&[1.0, 2.0], 0.95).unwrap();
        assert!((welch([sample, sample], [2, 2]).unwrap() - 1.0).abs() < 1e-15);
        assert!((normal_difference([sample, sample]).unwrap() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn opposite_samples_differ() {
        // 1 / C(20, 10), twice.
        let p = fisher([10, 0], [10, 10]).unwrap();
        assert!((p - 2.0 / 184_756.0).abs() < 1e-15, "{p}");
        assert!(fisher([100_000, 0], [100_000, 100_000]).unwrap() < 1e-300);
    }

    #[test]
    fn samples_that_cannot_be_tested_are_refused() {
        for (successes, trials) in [([0, 0], [0, 4]), ([5, 0], [4, 4]), ([0, 0], [4, 100_001])] {
            assert!(fisher(successes, trials).is_err(), "{successes:?} {trials:?}");
        }
        let constant = |x: f64| mean(&[x, x, x], 0.95).unwrap();
        let (two, three) = (constant(2.0), constant(3.0));
        let wild = Estimate { high: f64::INFINITY, ..two };
        for pair in [[two, three], [two, two], [wild, two], [two, Estimate { value: f64::NAN, ..wild }]] {
            assert!(welch(pair, [3, 3]).is_err() && normal_difference(pair).is_err(), "{pair:?}");
        }
        let sample = mean(&[1.0, 2.0], 0.95).unwrap();
        assert!(welch([sample, sample], [2, 1]).is_err());
    }
}
