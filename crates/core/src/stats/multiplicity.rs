//! Multiple testing: Holm's step-down adjustment.

/// Computes Holm-adjusted p-values, in the order given. Rejecting the hypotheses whose adjusted p-value is at most α
/// keeps the probability of any false rejection at most α, whatever the dependence of the tests.
///
/// ```
/// // By hand: sorted .01, .02, .03, .04 times 4, 3, 2, 1, then the running maximum.
/// let adjusted = attnlab_core::stats::holm(&[0.03, 0.01, 0.04, 0.02]);
/// for (a, b) in adjusted.iter().zip([0.06, 0.04, 0.06, 0.06]) {
///     assert!((a - b).abs() < 1e-15);
/// }
/// ```
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, i) in order.into_iter().enumerate() {
        let factor = (p_values.len() - rank) as f64;
        largest = largest.max((factor * p_values[i]).min(1.0));
        adjusted[i] = largest;
    }
    adjusted
}
