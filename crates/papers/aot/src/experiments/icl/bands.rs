//! Mean errors by number of examples, with bootstrap bands over prompts.

use attnlab_core::stats::quantile;
use attnlab_lab::prelude::*;
use rand::RngExt;

/// Ends of the bands: 5 and 95 % of the bootstrap distribution of the mean, as Garg et al. plot.
pub const ENDS: (f64, f64) = (0.05, 0.95);

/// "NAME.mean", "NAME.low" and "NAME.high": the mean over prompts of the squared errors
/// `squares[prompt][k]` divided by `scale`, and the ends of its bootstrap band, for every k.
pub fn record(
    name: &str,
    squares: &[Vec<f64>],
    scale: f64,
    resamples: usize,
    streams: &Streams,
    data: &mut Map<String, Value>,
) {
    let points = squares.first().map_or(0, Vec::len);
    let count = squares.len();
    let mut rng = streams.part(&format!("bootstrap {name}"), 0);
    let mut sums = vec![vec![0.0; points]; resamples];
    for sum in &mut sums {
        // A prompt is drawn with all its errors: neighbouring points of a curve move together.
        for _ in 0..count {
            sum.iter_mut().zip(&squares[rng.random_range(0..count)]).for_each(|(s, e)| *s += e);
        }
    }
    let unit = 1.0 / (count as f64 * scale);
    let mean = |k: usize| squares.iter().map(|s| s[k]).sum::<f64>() * unit;
    let spreads: Vec<Vec<f64>> = (0..points).map(|k| sums.iter().map(|s| s[k] * unit).collect()).collect();
    let end = |probability| spreads.iter().map(|spread| quantile(spread, probability)).collect();
    for (what, values) in
        [("mean", (0..points).map(mean).collect::<Vec<_>>()), ("low", end(ENDS.0)), ("high", end(ENDS.1))]
    {
        data.insert(format!("{name}.{what}"), store::series(&values));
    }
}
