//! Sample quantiles, and exact intervals for quantiles of the law.

use super::{Estimate, MAX_TRIALS, binomial_cdf, validate_level};
use crate::error::{Result, require};

/// Computes the p-quantile of `values` by linear interpolation between order statistics (type 7 of
/// Hyndman and Fan 1996, the default of R and NumPy); NaN if there are no values or p is NaN. NaN values count
/// as the largest, so that they cannot make a band look narrower.
///
/// ```
/// // numpy.quantile([4, 1, 3, 2], [.1, .5, .9]) gives 1.3 2.5 3.7
/// use attnlab_core::stats::quantile;
/// assert!((quantile(&[4.0, 1.0, 3.0, 2.0], 0.1) - 1.3).abs() < 1e-15);
/// assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), 2.5);
/// ```
pub fn quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())));
    let Some(last) = sorted.len().checked_sub(1).filter(|_| !p.is_nan()) else { return f64::NAN };
    let place = p.clamp(0.0, 1.0) * last as f64;
    let (i, f) = (place as usize, place.fract());
    // An infinite neighbour of weight 0 would otherwise give NaN.
    if f == 0.0 || sorted[i] == sorted[i + 1] { sorted[i] } else { sorted[i] + f * (sorted[i + 1] - sorted[i]) }
}

/// Estimates the p-quantile of the law of `values`, with the exact interval between two order statistics:
/// whatever the law, it covers with probability at least `level`. An end is infinite if there are too few
/// values for a finite one. NaN values count as the largest, as in [`quantile`].
///
/// # Errors
/// If there are no values or more than [`MAX_TRIALS`], or p or the level is outside (0, 1).
///
/// ```
/// // Ten values: x_(2) to x_(9) cover the median with probability 1 - 2 * 11/1024 = 0.979.
/// let values: Vec<f64> = (1..=10).map(f64::from).collect();
/// let median = attnlab_core::stats::quantile_interval(&values, 0.5, 0.95)?;
/// assert_eq!((median.value, median.low, median.high), (5.5, 2.0, 9.0));
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn quantile_interval(values: &[f64], p: f64, level: f64) -> Result<Estimate> {
    validate_level(level)?;
    require(p > 0.0 && p < 1.0, "quantile", p, "must be a number in (0, 1)")?;
    let n = values.len() as u64;
    let allowed = format!("must be a whole number from 1 to {MAX_TRIALS}");
    require((1..=MAX_TRIALS).contains(&n), "trials", n, allowed)?;
    let tail = (1.0 - level) / 2.0;
    // x_(i) exceeds the quantile with the probability that fewer than i values lie below the quantile.
    let (mut lower, mut upper) = (None, None);
    for i in 1..=n {
        let above = binomial_cdf(i - 1, n, p)?;
        lower = if above <= tail { Some(i) } else { lower };
        upper = upper.or((above >= 1.0 - tail).then_some(i));
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())));
    let order = |i: u64| sorted[i as usize - 1];
    Ok(Estimate {
        value: quantile(values, p),
        low: lower.map_or(f64::NEG_INFINITY, order),
        high: upper.map_or(f64::INFINITY, order),
        level,
    })
}
