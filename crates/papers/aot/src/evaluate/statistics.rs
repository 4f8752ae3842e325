//! Numbers of an evaluation with their intervals and baselines.

use attnlab_core::stats::{Estimate, binomial, t_quantile, validate_level};
use attnlab_lab::prelude::*;
use attnlab_lab::run::store::number;
use std::collections::HashMap;

/// Result of a reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The number and its interval.
    pub estimate: Estimate,
    /// "accuracy", or the unit of a loss: "nats per token", "nats per word", "nats per byte".
    pub unit: &'static str,
    /// Number of independent units behind the interval: passages, questions, or blocks of a text.
    pub units: usize,
    /// Baselines: name and value, in the unit of the reading.
    pub baselines: Vec<(&'static str, f64)>,
    /// Counts of the data that the reading is about.
    pub counts: Vec<(&'static str, f64)>,
}

impl Found {
    /// Returns the numbers of a row: `value` with `low` and `high`, `unit`, `units`, of losses `perplexity` (e to the
    /// value), `baselines` and `counts`.
    pub fn data(&self) -> Map<String, Value> {
        let object = |entries: &[(&str, f64)]| {
            Value::Object(entries.iter().map(|(name, x)| (name.to_string(), number(*x))).collect())
        };
        let e = &self.estimate;
        let mut data = Map::from_iter([
            ("value".to_string(), number(e.value)),
            ("low".to_string(), number(e.low)),
            ("high".to_string(), number(e.high)),
            ("unit".to_string(), self.unit.into()),
            ("units".to_string(), self.units.into()),
        ]);
        if self.unit != ACCURACY {
            data.insert("perplexity".into(), number(e.value.exp()));
        }
        data.insert("baselines".into(), object(&self.baselines));
        data.insert("counts".into(), object(&self.counts));
        data
    }
}

/// Unit of a share of correct answers.
pub(super) const ACCURACY: &str = "accuracy";

/// The share of correct answers with the exact (Clopper-Pearson) interval over questions.
pub(super) fn accuracy(correct: &[bool], level: f64) -> Result<Estimate> {
    binomial(correct.iter().filter(|c| **c).count() as u64, correct.len() as u64, level)
}

/// Computes Σ sums / Σ counts, a mean per token over units of unequal length, with the Student interval of a ratio: the
/// residuals sums_i − r counts_i of the units are taken as independent. One unit has no interval (NaN).
///
/// ```
/// // Units of one length: the Student interval of their means.
/// let estimate = attnlab_aot::evaluate::ratio(&[2.0, 4.0, 8.0, 14.0], &[2.0; 4], 0.95)?;
/// let plain = attnlab_core::stats::mean(&[1.0, 2.0, 4.0, 7.0], 0.95)?;
/// assert!((estimate.value - plain.value).abs() < 1e-12 && (estimate.low - plain.low).abs() < 1e-9);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
///
/// # Errors
/// A level outside (0, 1).
pub fn ratio(sums: &[f64], counts: &[f64], level: f64) -> Result<Estimate> {
    validate_level(level)?;
    let (sum, count) = (sums.iter().sum::<f64>(), counts.iter().sum::<f64>());
    let value = sum / count;
    let n = sums.len() as f64;
    let half = match sums.len() {
        0 | 1 => f64::NAN,
        _ => {
            let residuals = sums.iter().zip(counts).map(|(s, c)| s - value * c);
            let squares: f64 = residuals.map(|e| e * e).sum();
            let error = (n * squares / (n - 1.0)).sqrt() / count;
            t_quantile(n - 1.0, 0.5 + level / 2.0)? * error
        }
    };
    Ok(Estimate { value, low: value - half, high: value + half, level })
}

/// The least loss (nats per token) that one distribution over tokens can have on these tokens, the entropy of their own
/// frequencies. It knows the answers, so that a network without context stays above it.
pub(super) fn entropy_of_counts(tokens: impl Iterator<Item = u32>) -> f64 {
    let mut counts: HashMap<u32, u64> = HashMap::new();
    tokens.for_each(|t| *counts.entry(t).or_default() += 1);
    let total = counts.values().sum::<u64>() as f64;
    // In a fixed order, so that the sum has the same bits in every run.
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable();
    counts.iter().map(|c| *c as f64 / total * (total / *c as f64).ln()).sum()
}

/// Baselines of a loss with `scale` tokens per unit, on tokens of this [entropy](entropy_of_counts).
pub(super) fn baselines_of_loss(scale: f64, vocabulary: usize, entropy: f64) -> Vec<(&'static str, f64)> {
    vec![
        ("uniform over the vocabulary", scale * (vocabulary as f64).ln()),
        ("ceiling: the text's own frequencies of tokens", scale * entropy),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_have_their_entropy() {
        let entropy = entropy_of_counts([1, 1, 2, 3].into_iter());
        assert!((entropy - 1.5 * 2.0_f64.ln()).abs() < 1e-12, "{entropy}");
    }

    /// Shares of samples of two independent units: hand-computed residuals.
    #[test]
    fn a_ratio_weighs_units_by_their_length() {
        let estimate = ratio(&[3.0, 1.0], &[1.0, 3.0], 0.95).unwrap();
        assert_eq!(estimate.value, 1.0);
        // Residuals 2 and −2; error √(2 · 8)/4 = 1; t(1, .975) = 12.7062.
        assert!((estimate.high - 1.0 - 12.706_204_736).abs() < 1e-6);
        assert!(ratio(&[3.0], &[1.0], 0.95).unwrap().low.is_nan());
    }
}
