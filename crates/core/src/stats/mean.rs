//! Student intervals for a mean.

use super::{Estimate, validate_level};
use crate::error::{Error, Result, require};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Computes the mean of `values` with its Student interval: exact for normal values, asymptotic
/// otherwise. The values are summed in the order given, so that the result is reproducible to the bit.
///
/// # Errors
/// If there are fewer than two values, or the level is outside (0, 1).
///
/// ```
/// // scipy.stats.t.interval(.95, 3, mean, sem([1, 2, 4, 7])) gives -0.7099807422985158, 7.709980742298516
/// let e = attnlab_core::stats::mean(&[1.0, 2.0, 4.0, 7.0], 0.95).unwrap();
/// assert!((e.low + 0.7099807422985158).abs() < 1e-9 && (e.high - 7.709980742298516).abs() < 1e-9);
/// ```
pub fn mean(values: &[f64], level: f64) -> Result<Estimate> {
    validate_level(level)?;
    require(values.len() >= 2, "trials", values.len(), "must be at least 2 for an interval of a mean")?;
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = t_quantile(n - 1.0, 0.5 + level / 2.0)? * (variance / n).sqrt();
    Ok(Estimate { value: mean, low: mean - half, high: mean + half, level })
}

/// Computes the p-quantile of Student's t distribution with `freedom` degrees of freedom.
///
/// # Errors
/// If `freedom` is not positive.
pub fn t_quantile(freedom: f64, p: f64) -> Result<f64> {
    Ok(student(freedom)?.inverse_cdf(p))
}

/// Computes P(T > t) for Student's t distribution with `freedom` degrees of freedom.
///
/// # Errors
/// If `freedom` is not positive.
pub fn t_tail(freedom: f64, t: f64) -> Result<f64> {
    // The symmetric lower tail keeps the digits of small probabilities.
    Ok(student(freedom)?.cdf(-t))
}

fn student(freedom: f64) -> Result<StudentsT> {
    StudentsT::new(0.0, 1.0, freedom).map_err(|e| Error::undefined(format!("Student's t with {freedom} degrees: {e}")))
}
