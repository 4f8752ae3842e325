//! Rank correlation.

/// Computes Spearman's rank correlation of paired values, with average ranks for ties; NaN where either side is
/// constant or there are fewer than two pairs.
///
/// ```
/// // scipy.stats.spearmanr([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]).statistic is 0.8207826816681233
/// let r = attnlab_core::stats::spearman(&[1.0, 2.0, 3.0, 4.0, 5.0], &[5.0, 6.0, 7.0, 8.0, 7.0]);
/// assert!((r - 0.8207826816681233).abs() < 1e-12);
/// ```
pub fn spearman(x: &[f64], y: &[f64]) -> f64 {
    let (x, y) = (ranks(x), ranks(y));
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (mx, my) = (mean(&x), mean(&y));
    let pairs = x.iter().zip(&y).map(|(a, b)| (a - mx, b - my));
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (a, b) in pairs {
        xy += a * b;
        xx += a * a;
        yy += b * b;
    }
    xy / (xx * yy).sqrt()
}

/// Ranks from 1; equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |v: f64| values.iter().filter(|w| **w < v).count() as f64;
    let equal = |v: f64| values.iter().filter(|w| **w == v).count() as f64;
    values.iter().map(|v| below(*v) + 0.5 * (equal(*v) + 1.0)).collect()
}
