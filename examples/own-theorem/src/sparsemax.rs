//! Sparsemax, as a nonlinearity that every layer of attnlab takes.

use attnlab::attention::Nonlinearity;

/// Sparsemax (Martins & Astudillo, 2016): max(x_i - τ, 0) with the τ for which the weights sum to 1. In
/// contrast to softmax most weights are exactly 0.
///
/// ```
/// use attnlab::attention::{Mssa, Nonlinearity};
/// use own_theorem::sparsemax::Sparsemax;
/// let mut column = [1.0, 0.5, -1.0, f64::NEG_INFINITY];
/// Sparsemax.apply(&mut column);
/// assert_eq!(column, [0.75, 0.25, 0.0, 0.0]);
/// let layer = Mssa::new(Sparsemax, 0.5);
/// assert_eq!(layer.phi.name(), "sparsemax");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sparsemax;

impl Nonlinearity for Sparsemax {
    fn name(&self) -> &str {
        "sparsemax"
    }

    /// Algorithm 1 of the paper, in O(n log n).
    fn apply(&self, column: &mut [f64]) {
        let threshold = threshold(column);
        for x in column {
            // A masked score is -∞ and gets 0.
            *x = (*x - threshold).max(0.0);
        }
    }
}

/// τ(x) = (Σ of the k largest scores - 1) / k for the largest k with 1 + k x_(k) > Σ of the k largest.
fn threshold(scores: &[f64]) -> f64 {
    let mut sorted = scores.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut threshold) = (0.0, 0.0);
    for (i, x) in sorted.into_iter().enumerate() {
        let k = (i + 1) as f64;
        sum += x;
        // Not for -∞, and from the first k on for which it fails it fails for all larger ones.
        if 1.0 + k * x <= sum || x == f64::NEG_INFINITY {
            break;
        }
        threshold = (sum - 1.0) / k;
    }
    threshold
}
