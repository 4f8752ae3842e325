//! The figure of `cluster_first`, from its rows.

use super::FirstClusters;
use crate::experiments::log_times;
use crate::quantities::{BETA, MODEL};
use crate::theory::modes;
use attnlab_core::error::Result;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{cells, mean_at, numbers, panel, with_word};
use attnlab_lab::figure::{Axis, Figure, GREY, INK, Marker, Panel, Point, Series, Stroke, Width};
use attnlab_lab::run::Row;

const INTERVAL: &str = "95 % interval of the mean";

pub fn figures(settings: &FirstClusters, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(FirstClusters::NAME, rows)?;
    let mut count = panel("number of first clusters", Axis::log("*β*"), Axis::log("clusters"));
    count.y = count.y.ticks_at(&[1.0, 2.0, 5.0, 10.0, 15.0]);
    let mut time = panel("time of the count", Axis::log("*β*"), Axis::linear("time × rate of the fastest mode"));
    for (colour, model) in [(0, "sa"), (1, "usa")] {
        let own = with_word(&cells, MODEL.name, model);
        let label = if model == "sa" { "softmax (SA)" } else { "unnormalised (USA)" };
        for (name, panel) in [("count", &mut count), ("time", &mut time)] {
            let points = own.iter().map(|cell| average(cell, name)).collect::<Result<Vec<_>>>()?;
            panel.series.push(Series::bars(label, colour, points).with_interval(INTERVAL));
        }
    }
    predictions(settings, &mut count);
    Ok(vec![Figure {
        name: FirstClusters::NAME.into(),
        title: FirstClusters::TITLE.into(),
        caption: format!(
            "{} uniform tokens on the circle. A group: tokens with gaps below an eighth of 2*π*/√(2*β*); counted are groups of \
             two or more and a width of {} × 2*π*/√(2*β*) or less, at the first of the looks, a quarter of 1/rate apart, at \
             which they hold {} % of the tokens. Mean over {} draws with 95 % interval. Steps: the mode of largest rate.",
            settings.tokens,
            settings.tight,
            100.0 * settings.share,
            settings.trials,
        ),
        width: Width::Page,
        columns: 2,
        panels: vec![count, time],
    }])
}

/// Mean of the draws in which the count was reached.
fn average(cell: &[Row], name: &str) -> Result<Point> {
    let found: Vec<f64> = numbers(cell, name)?.into_iter().filter(|x| x.is_finite()).collect();
    let beta = cell[0].parameter(BETA.name)?;
    if found.is_empty() {
        return Ok(Point::at(beta, f64::NAN));
    }
    mean_at(beta, &found)
}

fn predictions(settings: &FirstClusters, panel: &mut Panel) {
    let low = settings.betas.iter().copied().fold(f64::INFINITY, f64::min);
    let high = settings.betas.iter().copied().fold(0.0, f64::max);
    let betas = log_times(low, high, 400);
    let steps = betas.iter().map(|b| Point::at(*b, modes::fastest(*b) as f64)).collect();
    panel.series.push(Series { marker: Marker::None, ..Series::measured("fastest mode", INK, steps) });
    let root = betas.iter().map(|b| Point::at(*b, (2.0 * b).sqrt())).collect();
    panel.series.push(Series::predicted("√(2*β*)", GREY, root).drawn(Stroke::Dashed));
}
