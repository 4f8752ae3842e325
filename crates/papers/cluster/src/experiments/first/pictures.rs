//! The figure of `cluster_first`, from its rows.

use super::{FirstClusters, LINK, LOOK, MOST_LOOKS};
use crate::quantities::{BETA, MODEL};
use crate::theory::modes;
use attnlab_lab::experiment::draw::{PERCENT, cells, ends, log_spaced, numbers, over, student, with_word};
use attnlab_lab::figure::{Axis, GREY, INK, Measured, Panel, Point, Series};
use attnlab_lab::prelude::*;

/// Factor by which the points of the second model are moved to the right, so that the intervals do not cover each other.
const ASIDE: f64 = 1.05;

const INTERVAL: &str = "95 % interval of the mean";

pub fn figures(settings: &FirstClusters, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(FirstClusters::NAME, rows)?;
    let by_model = |title: &str, y: Axis, name: &str| {
        let models = [("sa", "softmax (SA)"), ("usa", "unnormalised (USA)")];
        Panel::new(title, Axis::log("*β*"), y).curves(models, |colour, (model, label)| {
            let mut points = over(&with_word(&cells, MODEL, model), BETA, |cell| average(cell, name))?;
            points.iter_mut().for_each(|point| point.x *= ASIDE.powi(colour as i32));
            Ok(Series::bars(label, colour, points).with_interval(INTERVAL))
        })
    };
    let y = Axis::log("clusters").ticks_at(&[1.0, 2.0, 5.0, 10.0, 15.0]);
    let count = by_model("number of first clusters", y, "count")?.with_each(predictions(settings));
    let time = by_model("time of the count", Axis::linear("time × rate of the fastest mode"), "time")?;
    let FirstClusters { trials, tokens, tight, share, .. } = settings;
    Ok(vec![Figure::page(FirstClusters::NAME, FirstClusters::TITLE, 2, vec![count, time]).captioned(format!(
        "{tokens} uniform tokens on the circle. A group: tokens with gaps below {LINK} × 2*π*/√(2*β*); counted are groups \
         of two or more and a width of {tight} × 2*π*/√(2*β*) or less, at the first of the looks, {LOOK}/rate apart, at \
         which they hold {} % of the tokens. Mean over those of {trials} draws in which they do by the time {}/rate, with \
         {PERCENT} % interval; USA is drawn slightly to the right of its *β*. Steps: the mode of largest rate.",
        100.0 * share,
        LOOK * MOST_LOOKS as f64,
    ))])
}

/// Mean of the draws in which the count was reached; NaN if it was in none.
fn average(cell: &[Row], name: &str) -> Result<Measured> {
    let reached: Vec<f64> = numbers(cell, name)?.into_iter().filter(|x| x.is_finite()).collect();
    if reached.is_empty() { Ok(f64::NAN.into()) } else { student(&reached) }
}

fn predictions(settings: &FirstClusters) -> [Series; 2] {
    let (low, high) = ends(settings.betas.iter().copied());
    let betas = log_spaced(low, high, 400);
    let points = |y: fn(f64) -> f64| betas.iter().map(|beta| Point::at(*beta, y(*beta))).collect();
    [
        Series::fitted("fastest mode", INK, points(|beta| modes::fastest(beta) as f64)),
        Series::predicted("√(2*β*)", GREY, points(|beta| (2.0 * beta).sqrt())),
    ]
}
