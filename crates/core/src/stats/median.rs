//! Distribution-free intervals for a median.

use super::{Estimate, quantile, validate_level};
use crate::error::{Result, require};

/// Largest number n of values: beyond it 2^-n leaves the range of f64.
const MOST: usize = 1000;

/// Computes the median of `values` with the interval from the r-th least to the r-th largest value.
/// Whatever the law, the interval covers the median of the law with probability at least
/// $1 - 2\,P[\mathrm{Bin}(n, 1/2) < r]$. r is the largest index for which this probability is `level` or
/// more, or 1. The estimate's level is the probability itself, so with few values it may be lower than
/// `level`. An outlier affects the result by its rank only, however large it is.
///
/// # Errors
/// If there are fewer than two values or more than 1000, or the level is outside (0, 1).
///
/// ```
/// // Six values, the extremes: the median lies outside if all six fall on one side, 2/2^6.
/// let e = attnlab_core::stats::median(&[3.0, 1.0, 4.0, 1.5, 9.0, 2.6], 0.95)?;
/// assert_eq!((e.value, e.low, e.high, e.level), (2.8, 1.0, 9.0, 0.96875));
/// // Twelve: between the third from either end, 1 - 2 (1 + 12 + 66) / 2^12.
/// let twelve: Vec<f64> = (1..=12).map(f64::from).collect();
/// let e = attnlab_core::stats::median(&twelve, 0.95)?;
/// assert_eq!((e.value, e.low, e.high, e.level), (6.5, 3.0, 10.0, 0.96142578125));
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn median(values: &[f64], level: f64) -> Result<Estimate> {
    validate_level(level)?;
    let n = values.len();
    let allowed = format!("must be a whole number from 2 to {MOST} for an exact interval of a median");
    require((2..=MOST).contains(&n), "trials", n, allowed)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // P[Bin(n, 1/2) = k] for k = 0, 1, ...
    let (mut term, mut tail, mut r) = (0.5_f64.powi(n as i32), 0.0, 0);
    let mut covered = 1.0 - 2.0 * term;
    for k in 0..n / 2 {
        tail += term;
        if 1.0 - 2.0 * tail < level && k > 0 {
            break;
        }
        (covered, r) = (1.0 - 2.0 * tail, k);
        term *= (n - k) as f64 / (k + 1) as f64;
    }
    Ok(Estimate { value: quantile(values, 0.5), low: sorted[r], high: sorted[n - 1 - r], level: covered })
}
