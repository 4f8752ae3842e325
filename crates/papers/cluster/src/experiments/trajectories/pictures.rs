//! The figure of `cluster_trajectories`, from its rows.

use super::super::PART;
use super::Trajectories;
use crate::quantities::{BETA, TOKENS};
use attnlab_core::error::Result;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{band, cells, curve, panel, with_word};
use attnlab_lab::figure::{Axis, Figure, Marker, Panel, Point, Series, Stroke, Width};
use attnlab_lab::run::Row;
use std::f64::consts::{PI, TAU};

const TIME: &str = "time *t*";

pub fn figures(settings: &Trajectories, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(Trajectories::NAME, rows)?;
    let (circle, sphere) = (with_word(&cells, PART.name, "circle"), with_word(&cells, PART.name, "sphere"));
    let mut panels = vec![];
    if let Some(cell) = circle.get(circle.len() / 2) {
        panels.push(paths(settings, &cell[0])?);
    }
    panels.push(counts(settings, "groups on the circle", &circle)?);
    panels.push(energies(settings, &circle)?);
    panels.push(counts(settings, "groups on the sphere, *d* = 3", &sphere)?);
    Ok(vec![Figure {
        name: Trajectories::NAME.into(),
        title: Trajectories::TITLE.into(),
        caption: format!(
            "Softmax attention (SA) from uniform tokens, *n* = {} on the circle and {} on the sphere. (a): the angles of \
             one draw at *β* = {}. (b), (d): number of groups, tokens linked by steps of less than {} radian. (c): energy \
             *n*^{{−2}} Σ e^{{*β*(⟨*x*,*y*⟩ − 1)}}, 1 at a single point. Median and 10-90 % over {} draws.",
            settings.circle_tokens,
            settings.sphere_tokens,
            settings.circle[settings.circle.len() / 2],
            settings.link,
            settings.trials,
        ),
        width: Width::Page,
        columns: 2,
        panels,
    }])
}

/// The angles of all tokens of a row; a line is interrupted where it goes around.
fn paths(settings: &Trajectories, row: &Row) -> Result<Panel> {
    let n = row.parameter(TOKENS.name)? as usize;
    let (angles, times) = (row.series("angles")?, settings.times());
    let title = format!("paths on the circle, *β* = {}", row.parameter(BETA.name)?);
    let mut panel = panel(title, Axis::log(TIME), Axis::linear("angle (radian)"));
    panel.y.ticks = vec![(-PI, "−*π*".into()), (0.0, "0".into()), (PI, "*π*".into())];
    panel.y.range = Some((-PI, PI));
    for i in 0..n {
        let mut points: Vec<Point> = vec![];
        let mut before = f64::NAN;
        for (k, t) in times.iter().enumerate() {
            let angle = angles[k * n + i];
            // A jump of half a turn or more is a passage through ±π.
            if (angle - before).abs() > 0.5 * TAU {
                points.push(Point::at(*t, f64::NAN));
            }
            points.push(Point::at(*t, angle));
            before = angle;
        }
        panel.series.push(Series {
            stroke: Stroke::Solid,
            marker: Marker::None,
            ..Series::measured(format!("token {i}"), 0, points).unlisted()
        });
    }
    Ok(panel)
}

fn counts(settings: &Trajectories, title: &str, cells: &[&[Row]]) -> Result<Panel> {
    let mut panel = panel(title, Axis::log(TIME), Axis::log("number of groups"));
    panel.y = panel.y.ticks_at(&[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
    for cell in cells {
        let label = format!("*β* = {}", cell[0].parameter(BETA.name)?);
        panel.series.push(curve(label, palette(settings, &cell[0])?, band(cell, "groups", &settings.times())?));
    }
    Ok(panel)
}

/// Colour of a β: the same in all panels.
fn palette(settings: &Trajectories, row: &Row) -> Result<usize> {
    let beta = row.parameter(BETA.name)?;
    let mut all: Vec<f64> = settings.circle.iter().chain(&settings.sphere).copied().collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    Ok(all.iter().position(|b| *b == beta).unwrap_or(0))
}

fn energies(settings: &Trajectories, cells: &[&[Row]]) -> Result<Panel> {
    let mut panel = panel("energy on the circle, one draw each", Axis::log(TIME), Axis::linear("energy"));
    panel.y.range = Some((0.0, 1.05));
    let times = settings.times();
    for cell in cells {
        let label = format!("*β* = {}", cell[0].parameter(BETA.name)?);
        let energy = cell[0].series("energy")?;
        let points = times.iter().zip(&energy).map(|(t, e)| Point::at(*t, *e)).collect();
        let series = Series::measured(label, palette(settings, &cell[0])?, points);
        panel.series.push(Series { marker: Marker::None, ..series });
    }
    Ok(panel)
}
