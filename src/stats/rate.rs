//! Rates: the exponent b of y ≈ c x^b as a slope on log-log axes, with its interval.

use super::{Estimate, t_quantile, validate_level};
use crate::error::{Error, Result};

/// The exponent b in y ≈ c x^b: the least-squares slope of log y over log x with its Student
/// interval (exact for independent normal errors of log y with equal spread).
///
/// # Errors
/// With fewer than three points, unequal lengths, values that are not positive and finite, or a
/// single x.
///
/// ```
/// // scipy.stats.linregress(log([1, 2, 4, 8]), log([3, 5, 13, 24])): slope 1.0379, stderr 0.0836
/// let e = attnlab::stats::log_log_slope(&[1.0, 2.0, 4.0, 8.0], &[3.0, 5.0, 13.0, 24.0], 0.95)?;
/// assert!((e.value - 1.0378511623253732).abs() < 1e-12);
/// assert!((e.high - e.value - 0.35976777643722074).abs() < 1e-8);
/// # Ok::<(), attnlab::Error>(())
/// ```
pub fn log_log_slope(x: &[f64], y: &[f64], level: f64) -> Result<Estimate> {
    validate_level(level)?;
    if x.len() != y.len() || x.len() < 3 {
        let found = (x.len(), y.len());
        return Err(Error::shape(
            "points of a rate",
            found,
            "two lists of equal length >= 3",
        ));
    }
    if let Some(bad) = x.iter().chain(y).find(|v| !(**v > 0.0 && v.is_finite())) {
        return Err(Error::invalid(
            "points of a rate",
            bad,
            "positive finite numbers only",
        ));
    }
    let logs = |values: &[f64]| values.iter().map(|v| v.ln()).collect::<Vec<_>>();
    let (x, y) = (logs(x), logs(y));
    let n = x.len() as f64;
    let (mean_x, mean_y) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let sxx: f64 = x.iter().map(|v| (v - mean_x).powi(2)).sum();
    if sxx == 0.0 {
        return Err(Error::invalid(
            "points of a rate",
            x[0].exp(),
            "at least two different x",
        ));
    }
    let sxy: f64 = x
        .iter()
        .zip(&y)
        .map(|(a, b)| (a - mean_x) * (b - mean_y))
        .sum();
    let slope = sxy / sxx;
    let residual = |(a, b): (&f64, &f64)| (b - mean_y - slope * (a - mean_x)).powi(2);
    let rss: f64 = x.iter().zip(&y).map(residual).sum();
    let half = t_quantile(n - 2.0, 0.5 + level / 2.0)? * (rss / (n - 2.0) / sxx).sqrt();
    Ok(Estimate {
        value: slope,
        low: slope - half,
        high: slope + half,
        level,
    })
}
