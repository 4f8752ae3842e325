//! Entropy of attention weights, in nats.

/// Computes the entropy of softmax(a) in nats: from 0 (all weight on one token) to the logarithm of the
/// number of tokens.
///
/// ```
/// use attnlab_theory::measure::softmax_entropy;
/// // A few operations on numbers up to 2, each rounded by half an ε of them.
/// assert!((softmax_entropy(&[3.0, 3.0]) - 2.0_f64.ln()).abs() < 8.0 * f64::EPSILON);
/// assert!(softmax_entropy(&[0.0, 900.0]) == 0.0);
/// ```
pub fn softmax_entropy(logits: &[f64]) -> f64 {
    // With p = e^{a - top} / S: H = ln S - Σ p (a - top), whose terms are all ≥ 0 and cannot cancel.
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut sum, mut mean) = (0.0, 0.0);
    for a in logits {
        let e = (a - top).exp();
        sum += e;
        if e > 0.0 {
            mean -= e * (a - top);
        }
    }
    f64::ln(sum) + mean / sum
}
