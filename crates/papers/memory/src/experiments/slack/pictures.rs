//! The figure of `memory_slack`, from its rows and the closed forms.

use super::Slack;
use crate::quantities::{BETA, DIM};
use crate::theory::ramsauer::Capacity;
use crate::theory::sphere::ln_mean;
use attnlab_core::error::Result;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{cells, numbers, panel};
use attnlab_lab::figure::{Axis, Figure, INK, Marker, Panel, Point, Rule, Series, Stroke, Width};
use attnlab_lab::run::Row;

/// Meaning of the bars of a median.
const BAND: &str = "10-90 % of the draws";

pub fn figures(settings: &Slack, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(Slack::NAME, rows)?;
    let panels = settings.dims.iter().map(|d| of_dimension(settings, &cells, *d)).collect::<Result<Vec<_>>>()?;
    Ok(vec![Figure {
        name: Slack::NAME.into(),
        title: Slack::TITLE.into(),
        caption: format!(
            "Patterns of length *M* on the sphere in *d* dimensions. Stored: the most patterns of a draw that are certified to \
             have fixed points of their own, median and 10-90 % over {} draws with at most {} patterns; a point is left out \
             where a tenth of the draws stores all of them. Promised: Theorem 3 at *p* = {}; it has fewer than two where its \
             condition fails. Left of *βM*² = 1 (vertical line) the update is a contraction and stores one pattern, whatever \
             is promised. Dashed: 1/*m*, the number of patterns whose weight at one of them equals its own.",
            settings.trials, settings.most, settings.p,
        ),
        width: Width::Page,
        columns: panels.len().min(3),
        panels,
    }])
}

fn of_dimension(settings: &Slack, cells: &[&[Row]], d: usize) -> Result<Panel> {
    let mut panel = panel(format!("*d* = {d}"), Axis::log("*βM*²"), Axis::log("number of patterns"));
    panel.y.range = Some((0.7, settings.most as f64 * 1.3));
    let mut stored = vec![];
    for cell in cells {
        if cell[0].parameter(DIM.name)? == d as f64 {
            stored.extend(median(cell)?);
        }
    }
    panel.series.push(Series::bars("stored", 0, stored).with_interval(BAND));
    let low = settings.heats.iter().copied().fold(f64::INFINITY, f64::min);
    let high = settings.heats.iter().copied().fold(0.0, f64::max);
    let heats: Vec<f64> = (0..=200).map(|i| low * (high / low).powf(f64::from(i) / 200.0)).collect();
    // On the unit sphere K = 1/√(d − 1).
    let k = 1.0 / ((d - 1) as f64).sqrt();
    let promised = heats.iter().filter_map(|beta| {
        let found = Capacity::new(d, k, *beta, settings.p).ok()?;
        Some(Point::at(*beta, found.patterns()))
    });
    panel.series.push(Series { marker: Marker::None, ..Series::measured("promised", 1, promised.collect()) });
    let balanced = heats
        .iter()
        .map(|beta| Point::at(*beta, 1.0 + (-ln_mean(d, *beta)).exp()))
        .filter(|p| p.y <= settings.most as f64 * 1.3);
    panel.series.push(Series::predicted("1/*m*", INK, balanced.collect()).drawn(Stroke::Dashed));
    panel.rules.push(Rule::vertical("", 1.0));
    Ok(panel)
}

/// Median and 10-90 % of the stored numbers; None where more than a tenth of the draws stored all.
fn median(cell: &[Row]) -> Result<Option<Point>> {
    let mut found = numbers(cell, "stored")?;
    let all = found.iter().filter(|n| n.is_nan()).count();
    if 10 * all > found.len() {
        return Ok(None);
    }
    found.retain(|n| n.is_finite());
    found.sort_by(f64::total_cmp);
    let at = |q: f64| found[((found.len() - 1) as f64 * q).round() as usize];
    Ok(Some(Point::between(cell[0].parameter(BETA.name)?, at(0.5), at(0.1), at(0.9))))
}
