//! The figure of `cluster_trajectories`, from its rows.

use super::{Trajectories, plateaus};
use crate::experiments::arcs::arcs;
use crate::quantities::{BETA, PART};
use crate::theory::pair;
use attnlab_lab::experiment::draw::{band, cells, curve, points, with_number, with_word};
use attnlab_lab::figure::{Axis, Body, Film, GREY, INK, Marker, Panel, Point, Series};
use attnlab_lab::prelude::*;
use std::f64::consts::{PI, TAU};

const TIME: &str = "time *t*";
const ANGLE: &str = "angle (radian)";

/// Ratio of the last and the first time of a plateau whose end is predicted.
const LASTING: f64 = 10.0;

pub fn figures(settings: &Trajectories, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(Trajectories::NAME, rows)?;
    let [circle, sphere] = ["circle", "sphere"].map(|part| with_word(&cells, PART, part));
    let Trajectories { circle_tokens, sphere_tokens, circle_betas, sphere_betas, link, trials, .. } = settings;
    let [circle_beta, sphere_beta] = [circle_betas, sphere_betas].map(|betas| betas[betas.len() / 2]);
    let mut panels = vec![];
    if let Some(cell) = with_number(&circle, BETA, circle_beta).first() {
        panels.push(circle_paths(settings, &cell[0])?);
    }
    if let Some(cell) = with_number(&sphere, BETA, sphere_beta).first() {
        panels.push(sphere_paths(settings, &cell[0])?);
    }
    panels.push(counts(settings, "groups on the circle", &circle)?);
    panels.push(counts(settings, "groups on the sphere", &sphere)?);
    panels.push(energies(settings, "energy on the circle, one draw each", &circle)?);
    panels.push(energies(settings, "energy on the sphere, one draw each", &sphere)?);
    let figure = Figure::page(Trajectories::NAME, Trajectories::TITLE, 2, panels).captioned(format!(
        "Softmax attention (SA) from uniform tokens, *n* = {circle_tokens} on the circle and {sphere_tokens} on the sphere, \
         *d* = 3. (a): one draw at *β* = {circle_beta}, coloured by the clusters of its longest plateau; crosses: time \
         and place at which the closest pair of clusters of a plateau merges by the law for two clusters, from the start \
         of the plateau, for plateaus that last for a factor of {LASTING} in time. (b): one draw at *β* = {sphere_beta} \
         from its start to its longest plateau, where the markers are, in the cylindrical projection that keeps areas. \
         (c), (d): number of groups, tokens linked by steps of less than {link} radian; median and 10-90 % over {trials} \
         draws. (e), (f): energy *n*^{{−2}} Σ e^{{*β*(⟨*x*,*y*⟩ − 1)}}, 1 at a single point. The film shows the draw of (b).",
    ));
    Ok(vec![match with_number(&sphere, BETA, sphere_beta).first() {
        Some(cell) => figure.filmed(film(settings, &cell[0])?),
        None => figure,
    }])
}

/// The tokens of a row on the sphere, and their number of groups.
fn film(settings: &Trajectories, row: &Row) -> Result<Film> {
    let (clusters, angles, heights) = (row.series("cluster")?, row.series("angle")?, row.series("height")?);
    let marks = points(&settings.times(), &row.series("groups")?);
    let bodies = clusters.iter().enumerate().map(|(token, cluster)| {
        let places = angles.iter().zip(&heights).skip(token).step_by(clusters.len());
        let place = |(angle, height): (&f64, &f64)| {
            let radius = (1.0 - height * height).max(0.0).sqrt();
            [radius * angle.cos(), radius * angle.sin(), *height]
        };
        Body { colour: colour(*cluster), path: places.map(place).collect() }
    });
    let title = format!("groups of {} tokens, *β* = {}", clusters.len(), row.parameter(BETA.name)?);
    let groups = Series::fitted("", INK, marks.clone()).unlisted();
    let chart = Panel::new(title, Axis::log(TIME), groups_axis()).with(groups);
    Ok(Film { chart, marks, bodies: bodies.collect() })
}

/// Index of the colour of a cluster: one of those before grey and ink, first those after the colours of three β.
fn colour(cluster: f64) -> usize {
    (cluster as usize + 3) % GREY
}

/// The path of a token in the colour of its cluster, interrupted where its `angle` goes through ±π.
fn path(token: usize, cluster: f64, points: impl Iterator<Item = Point>, angle: impl Fn(&Point) -> f64) -> Series {
    let mut line: Vec<Point> = vec![];
    for point in points {
        if line.last().is_some_and(|before| (angle(&point) - angle(before)).abs() > PI) {
            line.push(Point::at(point.x, f64::NAN));
        }
        line.push(point);
    }
    Series::fitted(format!("token {token}"), colour(cluster), line).unlisted()
}

/// An axis of angles.
fn angle_axis() -> Axis {
    let ticks = [(-PI, "−*π*".to_string()), (0.0, "0".to_string()), (PI, "*π*".to_string())];
    Axis::linear(ANGLE).from_to(-PI, PI).ticks_named(ticks)
}

fn circle_paths(settings: &Trajectories, row: &Row) -> Result<Panel> {
    let (clusters, angles) = (row.series("cluster")?, row.series("angle")?);
    let (n, times) = (clusters.len(), settings.times());
    let title = format!("paths on the circle, *β* = {}", row.parameter(BETA.name)?);
    let paths = clusters.iter().enumerate().map(|(token, cluster)| {
        let places = times.iter().zip(angles.iter().skip(token).step_by(n));
        path(token, *cluster, places.map(|(t, angle)| Point::at(*t, *angle)), |point| point.y)
    });
    let predicted = Series::marks("merging of the closest pair", INK, Marker::Cross, merges(settings, row)?);
    Ok(Panel::new(title, Axis::log(TIME), angle_axis()).with_each(paths).with_any(predicted))
}

/// Time and angle at which the closest pair of clusters merges by its law, from the start of each lasting plateau.
fn merges(settings: &Trajectories, row: &Row) -> Result<Vec<Point>> {
    let (beta, angles, times) = (row.parameter(BETA.name)?, row.series("angle")?, settings.times());
    let n = row.series("cluster")?.len();
    let mut merges = vec![];
    for plateau in plateaus(&row.series("groups")?) {
        let (start, end) = (plateau.start, plateau.end - 1);
        if times[end] < LASTING * times[start] {
            continue;
        }
        let clusters = arcs(angles[start * n..(start + 1) * n].iter().copied(), settings.link);
        let neighbours = clusters.iter().zip(clusters.iter().cycle().skip(1));
        let pairs = neighbours.map(|(a, b)| ((b.centre() - a.centre()).rem_euclid(TAU), a, b));
        let Some((angle, a, b)) = pairs.filter(|(angle, ..)| *angle < PI).min_by(|p, q| p.0.total_cmp(&q.0)) else {
            continue;
        };
        let (mass_a, mass_b) = (a.size as f64, b.size as f64);
        let unit = (beta * (1.0 - angle.cos())).exp() / beta;
        let time = times[start] + unit * pair::duration(beta, angle, settings.link, mass_a, mass_b);
        // The cluster a covers the share (mass_b / mass_a) / m of the angle.
        let place = a.centre() + angle * mass_b / mass_a / pair::speed(mass_a, mass_b);
        if time <= settings.until {
            merges.push(Point::at(time, (place + PI).rem_euclid(TAU) - PI));
        }
    }
    Ok(merges)
}

fn sphere_paths(settings: &Trajectories, row: &Row) -> Result<Panel> {
    let (clusters, angles, heights) = (row.series("cluster")?, row.series("angle")?, row.series("height")?);
    let n = clusters.len();
    let plateau = plateaus(&row.series("groups")?).first().map_or(settings.points, |run| run.start + 1);
    let paths = clusters.iter().enumerate().map(|(token, cluster)| {
        let places = angles.iter().zip(&heights).skip(token).step_by(n).take(plateau);
        path(token, *cluster, places.map(|(angle, height)| Point::at(*angle, *height)), |point| point.x)
    });
    let ends = paths
        .clone()
        .map(|path| Series::marks("", path.colour, Marker::Circle, path.points.last().copied().into_iter().collect()));
    let title = format!("paths on the sphere, *β* = {}", row.parameter(BETA.name)?);
    Ok(Panel::new(title, angle_axis(), Axis::linear("height").from_to(-1.0, 1.0)).with_each(paths).with_each(ends))
}

fn label(cell: &[Row]) -> Result<String> {
    Ok(format!("*β* = {}", cell[0].parameter(BETA.name)?))
}

/// Index of the colour of a β, the same in all panels.
fn palette(settings: &Trajectories, cell: &[Row]) -> Result<usize> {
    let beta = cell[0].parameter(BETA.name)?;
    let mut betas: Vec<f64> = settings.circle_betas.iter().chain(&settings.sphere_betas).copied().collect();
    betas.sort_by(f64::total_cmp);
    betas.dedup();
    Ok(betas.iter().filter(|other| **other < beta).count())
}

fn groups_axis() -> Axis {
    Axis::log("number of groups").ticks_at(&[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0])
}

fn counts(settings: &Trajectories, title: &str, cells: &[&[Row]]) -> Result<Panel> {
    Panel::new(title, Axis::log(TIME), groups_axis()).curves(cells, |_, cell| {
        Ok(curve(label(cell)?, palette(settings, cell)?, band(cell, "groups", &settings.times())?))
    })
}

fn energies(settings: &Trajectories, title: &str, cells: &[&[Row]]) -> Result<Panel> {
    Panel::new(title, Axis::log(TIME), Axis::linear("energy").from_to(0.0, 1.05)).curves(cells, |_, cell| {
        let energy = points(&settings.times(), &cell[0].series("energy")?);
        Ok(Series::fitted(label(cell)?, palette(settings, cell)?, energy))
    })
}
