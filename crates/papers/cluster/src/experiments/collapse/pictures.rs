//! The figure of `cluster_collapse`, from its rows.

use super::Collapse;
use crate::quantities::{PART, SCALE, START, TOKENS};
use crate::theory::collapse::bound;
use attnlab_lab::experiment::draw::{
    BAND, along, band, cells, curve, ends, groups, lists, over, tenths, with_number, with_word,
};
use attnlab_lab::figure::{Axis, GREY, INK, Marker, Panel, Point, Series, Stroke};
use attnlab_lab::prelude::*;

/// Range of the norms shown: three layers of cubes take the smallest start below it.
const NORMS: (f64, f64) = (1e-60, 1e4);

const NORM: &str = "‖res‖_{1,∞}";

pub fn figures(settings: &Collapse, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(Collapse::NAME, rows)?;
    let [layers, contexts] = ["layers", "contexts"].map(|part| with_word(&cells, PART, part));
    let panels = vec![
        by_layer(settings, &with_number(&layers, SCALE, settings.scales[0]))?,
        after_one(&layers)?,
        constants(&contexts)?,
    ];
    let Collapse { trials, dim, heads, tokens, scales, .. } = settings;
    Ok(vec![Figure::page(Collapse::NAME, Collapse::TITLE, 3, panels).captioned(format!(
        "Softmax attention without skip connections, *H* = {heads} heads with normal weights, *d* = {dim}: norm of the \
         distance of the tokens from their mean, residuals computed without cancellation. (a): *n* = {tokens}, scores of \
         standard deviation {} at tokens of variance 1; dotted: the printed bound (4*βH*/√*d*_{{qk}})^{{(3^*L*−1)/2}} \
         ‖res‖^{{3^*L*}}, where it is below 1. Start: standard deviation of the residuals before the first layer. (b): all \
         layers, starts and draws, by the standard deviation of the scores; dashed: slope 3 through the smallest of the first \
         colour, dotted: no change. (c): ‖res‖ after one layer over ‖res‖³ before, over the printed 4*βH*/√*d*_{{qk}}; \
         dashed: 1/*n* through the first point. Median and 10-90 % over {trials} draws.",
        scales[0],
    ))])
}

/// Axis of norms, with few ticks: labels of negative powers are wide.
fn norms(label: impl Into<String>) -> Axis {
    let ticks = [-60, -40, -20, 0].map(|exponent| (10_f64.powi(exponent), power(exponent)));
    Axis::log(label).from_to(NORMS.0, NORMS.1).ticks_named(ticks)
}

/// "10^{−20}".
fn power(exponent: i32) -> String {
    format!("10^{{{exponent}}}").replace('-', "−")
}

fn by_layer(settings: &Collapse, cells: &[&[Row]]) -> Result<Panel> {
    let layers: Vec<f64> = (0..=settings.layers).map(|l| l as f64).collect();
    let label = |cell: &[Row]| Ok(format!("start {}", cell[0].parameter(START.name)?));
    Panel::new("layer by layer", Axis::whole("layer *L*"), norms(NORM))
        .curves(cells, |colour, cell| Ok(curve(label(cell)?, colour, band(cell, "residual", &layers)?)))?
        .curves(cells, |colour, cell| {
            let printed = |row: &Row| {
                let (_, largest) = ends(row.series("constant")?);
                let start = row.series("residual")?[0];
                Ok((0..=settings.layers).map(|l| bound(largest, start, l)).collect())
            };
            let bounds = cell.iter().map(printed).collect::<Result<Vec<Vec<f64>>>>()?;
            let points = along(layers.iter().copied(), &bounds, |values| tenths(values).value.into());
            let below = points.into_iter().filter(|point| point.y < 1.0).collect();
            Ok(Series::predicted(format!("{}, bound", label(cell)?), colour, below).drawn(Stroke::Dotted).unlisted())
        })
        .map(|panel| panel.with(Series::key("printed bound", GREY, Stroke::Dotted)))
}

fn after_one(cells: &[&[Row]]) -> Result<Panel> {
    let pairs = |cells: &[&[Row]]| -> Result<Vec<Point>> {
        let mut points = vec![];
        for row in cells.iter().copied().flatten() {
            points.extend(row.series("residual")?.windows(2).map(|pair| Point::at(pair[0], pair[1])));
        }
        Ok(points)
    };
    let by_scale = groups(cells, SCALE)?;
    let first = pairs(&by_scale[0].1)?.into_iter().filter(|point| point.y > NORMS.0);
    let smallest = first.min_by(|a, b| a.x.total_cmp(&b.x));
    let cubes = smallest.map(|p| [p.x, 1.0].map(|x| Point::at(x, p.y * (x / p.x).powi(3))).to_vec());
    let same = [NORMS.0, NORMS.1].map(|x| Point::at(x, x)).to_vec();
    Ok(Panel::new("one layer", norms(format!("{NORM} before")), norms(format!("{NORM} after")))
        .curves(by_scale, |colour, (scale, cells)| {
            Ok(Series::marks(format!("scores {scale}"), colour, Marker::for_colour(colour), pairs(&cells)?))
        })?
        .with_any(Series::predicted("slope 3", INK, cubes.unwrap_or_default()))
        .with(Series::predicted("no change", GREY, same).drawn(Stroke::Dotted)))
}

fn constants(cells: &[&[Row]]) -> Result<Panel> {
    let ratios = over(cells, TOKENS, |cell| {
        let (residuals, constants) = (lists(cell, "residual")?, lists(cell, "constant")?);
        Ok(tenths(&residuals.iter().zip(&constants).map(|(r, c)| r[1] / (c[0] * r[0].powi(3))).collect::<Vec<_>>()))
    })?;
    let slope = ratios.iter().map(|point| Point::at(point.x, ratios[0].y * ratios[0].x / point.x)).collect();
    let tick = |exponent, digit| (f64::from(digit) * 10_f64.powi(exponent), format!("{digit}×{}", power(exponent)));
    let ticks = (-8..0).flat_map(|exponent| [1, 2, 5].map(|digit| tick(exponent, digit)));
    Ok(Panel::new("the constant", Axis::log("tokens *n*"), Axis::log("constant / printed one").ticks_named(ticks))
        .with_any(Series::predicted("slope −1", GREY, slope))
        .with(Series::bars("first layer", INK, ratios).with_interval(BAND)))
}
