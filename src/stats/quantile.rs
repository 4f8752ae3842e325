//! Sample quantiles.

/// The p-quantile of `values` by linear interpolation between order statistics (type 7 of Hyndman
/// and Fan 1996, the default of R and NumPy); NaN for no values. NaN values count as the largest,
/// so that they cannot make a band look narrower.
///
/// ```
/// // numpy.quantile([4, 1, 3, 2], [.1, .5, .9]) gives 1.3 2.5 3.7
/// use attnlab::stats::quantile;
/// assert!((quantile(&[4.0, 1.0, 3.0, 2.0], 0.1) - 1.3).abs() < 1e-15);
/// assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), 2.5);
/// ```
pub fn quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| {
        a.partial_cmp(b)
            .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    });
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = p.clamp(0.0, 1.0) * last as f64;
    let (i, f) = (place as usize, place.fract());
    // Without this, an infinite neighbour of weight 0 would give NaN.
    if f == 0.0 || sorted[i] == sorted[i + 1] {
        return sorted[i];
    }
    sorted[i] + f * (sorted[i + 1] - sorted[i])
}
