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
            let chosen = &squares[rng.random_range(0..count)];
            sum.iter_mut().zip(chosen).for_each(|(s, e)| *s += e);
        }
    }
    let unit = 1.0 / (count as f64 * scale);
    let by_point = |k: usize| sums.iter().map(|s| s[k] * unit).collect::<Vec<f64>>();
    let (mut means, mut lows, mut highs) = (vec![], vec![], vec![]);
    for k in 0..points {
        let spread = by_point(k);
        means.push(squares.iter().map(|s| s[k]).sum::<f64>() * unit);
        lows.push(quantile(&spread, ENDS.0));
        highs.push(quantile(&spread, ENDS.1));
    }
    for (what, values) in [("mean", means), ("low", lows), ("high", highs)] {
        data.insert(format!("{name}.{what}"), store::series(&values));
    }
}
