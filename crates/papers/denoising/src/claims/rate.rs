//! The rate of limits in L, as claims measure it: the exponent of L in a mean squared distance.

use attnlab_core::stats::log_log_slope_of_means;
use attnlab_lab::claim::verdict::judge_estimate;
use attnlab_lab::prelude::*;
use ndarray::{Array1, ArrayView1, ArrayView2};
use serde_json::Value;

/// Context lengths of a rate: L, 2L, .., 16L.
const DOUBLINGS: u32 = 5;

/// Largest distance of the exponent from -1: an estimate that does not converge has 0, and at the default
/// L the terms of order 1/L² move it by less than half of this.
const EXPONENT_BAND: f64 = 0.1;

/// The context lengths of a rate, each twice the one before.
pub fn lengths(shortest: usize) -> Vec<usize> {
    (0..DOUBLINGS)
        .map(|doubling| shortest << doubling)
        .collect()
}

/// The longest of them.
pub fn longest(shortest: usize) -> usize {
    shortest << (DOUBLINGS - 1)
}

/// The outcome of one trial: the mean squared distance at each of the [`lengths`].
pub fn outcome(shortest: usize, errors: &[f64]) -> Outcome {
    Outcome::Value {
        value: errors[0] * shortest as f64,
        witness: witness! { "L" => lengths(shortest), "error2" => errors },
    }
}

/// Judges whether the mean over trials falls like 1/L.
///
/// # Errors
/// With fewer than two trials, or outcomes of other trials.
pub fn judge(outcomes: &[Outcome], level: f64) -> Result<Judgement> {
    let series = |outcome: &Outcome, name: &str| -> Result<Vec<f64>> {
        let list = outcome.witness().get(name).and_then(Value::as_array);
        let numbers: Option<Vec<f64>> = list.and_then(|l| l.iter().map(Value::as_f64).collect());
        numbers.ok_or_else(|| Error::undefined(format!("a trial left no finite {name}")))
    };
    let errors: Result<Vec<_>> = outcomes.iter().map(|o| series(o, "error2")).collect();
    let at = outcomes.first().map_or(Ok(vec![]), |o| series(o, "L"))?;
    let exponent = log_log_slope_of_means(&at, &errors?, level)?;
    let (low, high) = (-1.0 - EXPONENT_BAND, -1.0 + EXPONENT_BAND);
    let mut found = judge_estimate(low, high, exponent, outcomes.len());
    if let Verdict::Refuted { witness } = &mut found.verdict {
        *witness = witness! { "exponent_of_L" => exponent.value };
    }
    Ok(found)
}

/// The mean squared distance of softmax attention $\alpha X\,\mathrm{softmax}(\beta X^T\tilde x)$ from its
/// `limits` (n, M) at `queries` (n, M), for each of the [`lengths`] whose longest is that of the
/// context (n, 16 L): over all disjoint contexts of that length in it. The exponentials are shared.
pub fn softmax_errors(
    context: ArrayView2<f64>,
    (alpha, beta): (f64, f64),
    queries: ArrayView2<f64>,
    limits: ArrayView2<f64>,
) -> Vec<f64> {
    let mut errors = vec![0.0; DOUBLINGS as usize];
    let shortest = context.ncols() >> (DOUBLINGS - 1);
    for (query, limit) in queries.columns().into_iter().zip(limits.columns()) {
        let mut parts = Part::of_blocks(context, beta, query, shortest);
        for error in &mut errors {
            let share = 1.0 / (queries.ncols() * parts.len()) as f64;
            for part in &parts {
                let distance = &part.weighted * (alpha / part.sum) - limit;
                *error += share * distance.dot(&distance);
            }
            parts = parts
                .chunks_exact(2)
                .map(|pair| pair[0].with(&pair[1]))
                .collect();
        }
    }
    errors
}

/// The two sums of softmax attention over some tokens, up to a factor of e^`largest`.
struct Part {
    largest: f64,
    sum: f64,
    weighted: Array1<f64>,
}

impl Part {
    /// The sums over consecutive blocks of `length` tokens.
    fn of_blocks(
        context: ArrayView2<f64>,
        beta: f64,
        query: ArrayView1<f64>,
        length: usize,
    ) -> Vec<Part> {
        let scores = context.t().dot(&query) * beta;
        let block = |(tokens, scores): (ArrayView2<f64>, ArrayView1<f64>)| {
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights = scores.mapv(|v| (v - largest).exp());
            Part {
                largest,
                sum: weights.sum(),
                weighted: tokens.dot(&weights),
            }
        };
        let tokens = context.axis_chunks_iter(ndarray::Axis(1), length);
        tokens
            .zip(scores.axis_chunks_iter(ndarray::Axis(0), length))
            .map(block)
            .collect()
    }

    /// The sums over both.
    fn with(&self, other: &Part) -> Part {
        let largest = self.largest.max(other.largest);
        let (a, b) = (
            (self.largest - largest).exp(),
            (other.largest - largest).exp(),
        );
        Part {
            largest,
            sum: a * self.sum + b * other.sum,
            weighted: &self.weighted * a + &other.weighted * b,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use attnlab_core::linalg::normal_matrix;
    use attnlab_theory::attention::softmax_attention;
    use ndarray::{Array2, s};

    /// Against the plain layer on every disjoint context.
    #[test]
    fn blocks_are_contexts() {
        let streams = Streams::new(3, "denoise_rate", 0, 0);
        let draw = |name, count| normal_matrix(3, count, &mut streams.part(name, 0));
        let (context, queries, limits) =
            (draw("context", 96), draw("queries", 2), draw("limits", 2));
        let found = softmax_errors(context.view(), (0.9, 4.0), queries.view(), limits.view());
        let (w_pv, w_kq) = (Array2::eye(3) * 0.9, Array2::eye(3) * 4.0);
        for (length, found) in lengths(6).into_iter().zip(found) {
            let mut plain = vec![];
            for (query, limit) in queries.columns().into_iter().zip(limits.columns()) {
                for start in (0..96).step_by(length) {
                    let x = context.slice(s![.., start..start + length]);
                    let d = softmax_attention(x, w_pv.view(), w_kq.view(), query) - limit;
                    plain.push(d.dot(&d));
                }
            }
            let plain = plain.iter().sum::<f64>() / plain.len() as f64;
            assert!(
                (found / plain - 1.0).abs() < 1e-12,
                "{length}: {found} {plain}"
            );
        }
    }
}
