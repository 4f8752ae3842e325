//! AoT Theorem 1: its φ, and heads in its regime.

use attnlab::attention::ThresholdedSoftmax;
use attnlab::rng::Streams;
use attnlab::sample::Mixture;
use ndarray::Array2;

/// φ of the theorem.
pub const THRESHOLDED: ThresholdedSoftmax = ThresholdedSoftmax { tau: 0.55 };

/// The heads of one draw, by the streams of this benchmark.
pub fn draw(bench: &str, tokens: usize, heads: usize, dim: usize) -> (Mixture, Vec<Array2<f32>>) {
    let delta = ((tokens as f64).ln() / dim as f64).sqrt() / 8.0;
    let mixture = Mixture::balanced(tokens, heads, dim, delta).expect("a valid size");
    let streams = Streams::new(1, bench, 0, 0);
    let drawn = (0..heads).map(|k| mixture.head(k, &streams)).collect();
    (mixture, drawn)
}
