//! The figure of `cluster_pair`, from its rows.

use super::ClosestPair;
use crate::quantities::{BETA, MASS_I, MASS_J, PART};
use crate::theory::pair;
use attnlab_lab::experiment::draw::{
    BAND, band, cells, curve, ends, grouped, log_spaced, numbers, over, tenths, with_word,
};
use attnlab_lab::figure::{Axis, GREY, INK, Panel, Point, Rule, Series, Stroke};
use attnlab_lab::prelude::*;

pub fn figures(settings: &ClosestPair, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(ClosestPair::NAME, rows)?;
    let [paths, durations] = ["path", "duration"].map(|part| with_word(&cells, PART, part));
    let panels = vec![
        path(settings, &paths, "start_angle", "printed unit of time")?,
        path(settings, &paths, "angle", "unit of the present angle")?,
        duration(settings, &durations)?,
    ];
    let ClosestPair { clusters, dim, gap, angle, masses: [mass_i, mass_j], trials, .. } = settings;
    Ok(vec![Figure::page(ClosestPair::NAME, ClosestPair::TITLE, 3, panels).captioned(format!(
        "Closest pair of {clusters} clusters in *d* = {dim}: angle {angle} radian at the start, masses {mass_i} and \
         {mass_j}, all other inner products smaller by {gap} or more. (a): time in units of e^{{*β*(1−*ρ*)}} with the \
         inner product *ρ* of the start, (b): with the present one. Dashed: tan(*θ*/2) falls like e^{{−*ms*}}, *m* = \
         *α*_{{i}}/*α*_{{j}} + *α*_{{j}}/*α*_{{i}}; dotted: as printed, *m* = 2. (c): time until the angle is halved, in \
         units of e^{{*β*(1−*ρ*)}}/*β* with *ρ* of the start, over its limit 1/(*m* sin²*θ*_{{0}}); dashed: with all \
         orders in 1/*β*. Median and 10-90 % over {trials} draws of the other clusters.",
    ))])
}

fn path(settings: &ClosestPair, cells: &[&[Row]], name: &str, title: &str) -> Result<Panel> {
    let times = settings.times();
    let law = |mass_i: f64, mass_j: f64| {
        let times = std::iter::once(&0.0).chain(&times);
        times.map(|s| Point::at(*s, pair::angle(settings.angle, mass_i, mass_j, *s))).collect()
    };
    let [mass_i, mass_j] = settings.masses;
    let x = Axis::linear("rescaled time *s*").from_to(0.0, settings.until);
    Ok(Panel::new(title, x, Axis::linear("angle (radian)").from_to(0.0, 1.05 * settings.angle))
        .curves(cells, |colour, cell| {
            let mut points = vec![Point::at(0.0, settings.angle)];
            points.extend(band(cell, name, &times)?);
            Ok(curve(format!("*β* = {}", cell[0].parameter(BETA.name)?), colour, points))
        })?
        .with(Series::predicted("law with masses", INK, law(mass_i, mass_j)))
        .with(Series::predicted("law as printed", GREY, law(1.0, 1.0)).drawn(Stroke::Dotted)))
}

fn duration(settings: &ClosestPair, cells: &[&[Row]]) -> Result<Panel> {
    let masses = |cell: &&[Row]| Ok([cell[0].parameter(MASS_I.name)?, cell[0].parameter(MASS_J.name)?]);
    let limit = |[mass_i, mass_j]: [f64; 2]| 1.0 / (pair::speed(mass_i, mass_j) * settings.angle.sin().powi(2));
    let (low, high) = ends(settings.duration_betas.iter().copied());
    let exact = log_spaced(low, high, 60).into_iter().map(|beta| {
        Point::at(beta, pair::duration(beta, settings.angle, 0.5 * settings.angle, 1.0, 1.0) / limit([1.0, 1.0]))
    });
    Ok(Panel::new("duration", Axis::log("*β*"), Axis::linear("time / limit"))
        .ruled(Rule::horizontal("", 1.0))
        .curves(grouped(cells.iter().copied(), masses)?, |place, (masses, cells)| {
            let scaled = |cell: &[Row]| {
                Ok(tenths(&numbers(cell, "time")?.into_iter().map(|time| time / limit(masses)).collect::<Vec<_>>()))
            };
            let label = format!("mass ratio {}", settings.ratios[place]);
            Ok(Series::bars(label, place + 3, over(&cells, BETA, scaled)?).with_interval(BAND))
        })?
        .with(Series::predicted("all orders in 1/*β*", INK, exact.collect())))
}
