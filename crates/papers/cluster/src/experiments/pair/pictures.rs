//! The figure of `cluster_pair`, from its rows.

use super::super::PART;
use super::{ClosestPair, smooth};
use crate::quantities::{BETA, MASS_I, MASS_J};
use crate::theory::pair;
use attnlab_core::error::Result;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{BAND, band, cells, curve, panel, spread, with_word};
use attnlab_lab::figure::{Axis, Figure, GREY, INK, Panel, Point, Rule, Series, Stroke, Width};
use attnlab_lab::run::Row;

pub fn figures(settings: &ClosestPair, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(ClosestPair::NAME, rows)?;
    let (paths, durations) = (with_word(&cells, PART.name, "path"), with_word(&cells, PART.name, "duration"));
    let panels = vec![
        path(settings, &paths, "start_angle", "printed unit of time")?,
        path(settings, &paths, "angle", "unit of the present angle")?,
        duration(settings, &durations)?,
    ];
    Ok(vec![Figure {
        name: ClosestPair::NAME.into(),
        title: ClosestPair::TITLE.into(),
        caption: format!(
            "Angle of the closest of {} pairs of clusters from {} radian, masses {} and {}, all other inner products smaller \
             by {} or more; *d* = {}. (a): time in units of e^{{*β*(1−*ρ*)}} with the inner product *ρ* of the start, (b): with the present one. Dashed: tan(*θ*/2) falls like e^{{−*ms*}}, *m* = *α*_{{i}}/*α*_{{j}} + \
             *α*_{{j}}/*α*_{{i}}; dotted: as printed, *m* = 2. (c): time until the angle is halved, in units of \
             e^{{*β*(1−*ρ*)}}/*β* with *ρ* of the start, over its limit 1/(*m* sin²*θ*_{{0}}); dashed: with all orders in 1/*β*. Median and \
             10-90 % over {} draws of the other clusters.",
            settings.clusters * (settings.clusters - 1) / 2,
            settings.angle,
            settings.masses[0],
            settings.masses[1],
            settings.gap,
            settings.dim,
            settings.trials,
        ),
        width: Width::Page,
        columns: 3,
        panels,
    }])
}

fn path(settings: &ClosestPair, cells: &[&[Row]], name: &str, title: &str) -> Result<Panel> {
    let times = settings.times();
    let mut panel = panel(title, Axis::linear("rescaled time *s*"), Axis::linear("angle (radian)"));
    panel.x.range = Some((0.0, settings.until));
    panel.y.range = Some((0.0, 1.05 * settings.angle));
    for (colour, cell) in cells.iter().enumerate() {
        let label = format!("*β* = {}", cell[0].parameter(BETA.name)?);
        let mut points = vec![Point::at(0.0, settings.angle)];
        points.extend(band(cell, name, &times)?);
        panel.series.push(curve(label, colour, points));
    }
    let [a, b] = settings.masses;
    let law = |a: f64, b: f64| -> Vec<Point> {
        let all = std::iter::once(&0.0).chain(&times);
        all.map(|s| Point::at(*s, pair::angle(settings.angle, a, b, *s))).collect()
    };
    panel.series.push(Series::predicted("law with masses", INK, law(a, b)));
    panel.series.push(Series::predicted("law as printed", GREY, law(1.0, 1.0)).drawn(Stroke::Dotted));
    Ok(panel)
}

fn duration(settings: &ClosestPair, cells: &[&[Row]]) -> Result<Panel> {
    let mut panel = panel("duration", Axis::log("*β*"), Axis::linear("time / limit"));
    panel.rules.push(Rule::horizontal("", 1.0));
    for (place, ratio) in settings.ratios.iter().enumerate() {
        let colour = place + 3;
        let mut points = vec![];
        for cell in cells {
            let (a, b) = (cell[0].parameter(MASS_I.name)?, cell[0].parameter(MASS_J.name)?);
            if (b / a - ratio).abs() > 1e-9 * ratio {
                continue;
            }
            let limit = 1.0 / (pair::speed(a, b) * settings.angle.sin().powi(2));
            let found = spread(cell, "time", cell[0].parameter(BETA.name)?)?;
            let scaled = |x: f64| x / limit;
            points.push(Point {
                y: scaled(found.y),
                interval: found.interval.map(|(low, high)| (scaled(low), scaled(high))),
                ..found
            });
        }
        let label = format!("mass ratio {ratio}");
        panel.series.push(Series::bars(label, colour, points).with_interval(BAND));
    }
    let exact = smooth(&settings.duration_betas).into_iter().map(|beta| {
        let limit = 0.5 / settings.angle.sin().powi(2);
        Point::at(beta, pair::duration(beta, settings.angle, 0.5 * settings.angle, 1.0, 1.0) / limit)
    });
    panel.series.push(Series::predicted("all orders in 1/*β*", INK, exact.collect()));
    Ok(panel)
}
