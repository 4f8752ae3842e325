//! Tests for the difference of two independent samples.

use super::{MAX_TRIALS, t_tail};
use crate::error::{Error, Result};
use statrs::function::factorial::ln_binomial;

/// Relative excess up to which two tables count as equally probable, as in R's `fisher.test`.
const TIE: f64 = 1e-7;

/// Computes the two-sided p-value of Fisher's exact test: the probability, given all margins, of a table that is at
/// most as probable as `first` of `trials[0]` against `second` of `trials[1]`.
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
        if n == 0 || n > MAX_TRIALS {
            let allowed = format!("must be a whole number from 1 to {MAX_TRIALS}");
            return Err(Error::invalid("trials", n, allowed));
        }
        if s > n {
            let allowed = format!("must be at most trials = {n}");
            return Err(Error::invalid("successes", s, allowed));
        }
    }
    let [n, m] = trials;
    let all = successes[0] + successes[1];
    let whole = ln_binomial(n + m, all);
    let probability = |k: u64| (ln_binomial(n, k) + ln_binomial(m, all - k) - whole).exp();
    let seen = probability(successes[0]) * (1.0 + TIE);
    let tables = all.saturating_sub(m)..=all.min(n);
    let sum: f64 = tables.map(probability).filter(|p| *p <= seen).sum();
    Ok(sum.min(1.0))
}

/// Mean of a sample with what Welch's test needs to know of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleMean {
    /// The mean.
    pub mean: f64,
    /// Standard error of the mean.
    pub error: f64,
    /// Number of values, at least 2.
    pub count: u64,
}

impl SampleMean {
    /// Computes the mean of `values`, summed in the order given.
    ///
    /// # Errors
    /// If there are fewer than two values.
    pub fn of(values: &[f64]) -> Result<Self> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        let sample = SampleMean { mean, error: (squares / (n - 1.0) / n).sqrt(), count: values.len() as u64 };
        sample.enough()?;
        Ok(sample)
    }

    fn enough(&self) -> Result<()> {
        if self.count >= 2 {
            return Ok(());
        }
        let allowed = "must be at least 2 for a test of means";
        Err(Error::invalid("trials", self.count, allowed))
    }
}

/// Computes the two-sided p-value of Welch's test for two means, with Satterthwaite's degrees of freedom; 1 for
/// equal means without spread.
///
/// # Errors
/// A sample of fewer than two values, means and errors that are not finite, or different means without spread.
///
/// ```
/// use attnlab_core::stats::{SampleMean, welch};
/// // Simpson's rule over the density of t with 6.8712268743914295 degrees, from 0 to 2.497421350525749.
/// let (a, b) = (SampleMean::of(&[1.0, 2.0, 4.0, 7.0])?, SampleMean::of(&[3.0, 8.0, 9.0, 12.0, 13.0])?);
/// assert!((welch(a, b)? - 0.041_763_274_729_86).abs() < 1e-9);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn welch(a: SampleMean, b: SampleMean) -> Result<f64> {
    a.enough()?;
    b.enough()?;
    let (u, v) = (a.error.powi(2), b.error.powi(2));
    let gap = (a.mean - b.mean).abs();
    if !(gap.is_finite() && (u + v).is_finite()) {
        let problem = "Welch's test needs finite means and standard errors";
        return Err(Error::undefined(problem));
    }
    if u + v == 0.0 {
        let problem = "Welch's test needs a spread in one of the samples";
        return match gap {
            0.0 => Ok(1.0),
            _ => Err(Error::undefined(problem)),
        };
    }
    let spread = |x: f64, n: u64| x.powi(2) / (n as f64 - 1.0);
    let freedom = (u + v).powi(2) / (spread(u, a.count) + spread(v, b.count));
    Ok((2.0 * t_tail(freedom, gap / (u + v).sqrt())?).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_samples_do_not_differ() {
        assert_eq!(fisher([5, 5], [10, 10]).unwrap(), 1.0);
        assert_eq!(fisher([0, 0], [40, 40]).unwrap(), 1.0);
        let sample = SampleMean::of(&[1.0, 2.0]).unwrap();
        assert!((welch(sample, sample).unwrap() - 1.0).abs() < 1e-15);
        let constant = |x: f64| SampleMean::of(&[x, x, x]).unwrap();
        assert_eq!(welch(constant(2.0), constant(2.0)).unwrap(), 1.0);
        assert!(welch(constant(2.0), constant(3.0)).is_err());
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
        assert!(SampleMean::of(&[1.0]).is_err() && SampleMean::of(&[]).is_err());
        let wild = SampleMean::of(&[f64::INFINITY, 1.0]).unwrap();
        assert!(welch(wild, wild).is_err());
    }
}
