//! The figure of `memory_slack`, from its rows and the closed forms.

use super::MemorySlack;
use crate::quantities::{DIM, STRENGTH};
use crate::theory::ramsauer::Capacity;
use crate::theory::sphere::ln_mean;
use attnlab_lab::experiment::draw::{BAND, cells, ends, groups, log_spaced, numbers, over, tenths};
use attnlab_lab::figure::{Axis, INK, Marker, Panel, Point, Rule, Series};
use attnlab_lab::prelude::*;

/// Factor by which the points of the lost patterns are moved to the right, so that the intervals do not cover each other.
const ASIDE: f64 = 1.1;

pub fn figures(settings: &MemorySlack, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(MemorySlack::NAME, rows)?;
    let panels = groups(&cells, DIM)?.into_iter().map(|(d, cells)| of_dimension(settings, d as usize, &cells));
    let figure = Figure::fitting(MemorySlack::NAME, MemorySlack::TITLE, 3, panels.collect::<Result<_>>()?);
    let MemorySlack { trials, most, p, .. } = settings;
    Ok(vec![figure.captioned(format!(
        "Patterns of length *M* on the sphere in *d* dimensions. Stored: the most patterns of a draw that are certified to \
         have fixed points of their own. Lost: the fewest of which two are shown to share one, drawn slightly to the right. \
         Both are median and 10-90 % over {trials} draws with at most {most} patterns, in steps of 12 %; a point is left \
         out where its interval goes beyond. Promised: √*p* *c*^{{(*d*−1)/4}} of Theorem 3 at *p* = {p}, whose condition \
         is that this is two or more. Left of *βM*² = 1 the update is a contraction and stores one pattern, whatever is \
         promised. Dashed: 1 + 1/*m*, the number of patterns at which the others have the weight of the own one in the mean.",
    ))])
}

fn of_dimension(settings: &MemorySlack, d: usize, cells: &[&[Row]]) -> Result<Panel> {
    let highest = 1.3 * settings.most as f64;
    let (low, high) = ends(settings.strengths.iter().copied());
    let strengths = log_spaced(low, high, 201);
    // On the unit sphere K = 1/√(d − 1).
    let k = 1.0 / ((d - 1) as f64).sqrt();
    let promised =
        strengths.iter().map(|beta| Ok(Point::at(*beta, Capacity::new(d, k, *beta, settings.p)?.ln_patterns.exp())));
    let balanced = strengths.iter().map(|beta| Point::at(*beta, 1.0 + (-ln_mean(d, *beta)).exp()));
    let balanced = balanced.filter(|point| point.y <= highest);
    let mut lost = within(cells, "lost")?;
    lost.iter_mut().for_each(|point| point.x *= ASIDE);
    let (x, y) = (Axis::log("*βM*²"), Axis::log("number of patterns").from_to(0.3, highest));
    Ok(Panel::new(format!("*d* = {d}"), x, y)
        .with_any(Series::bars("stored", 0, within(cells, "stored")?).with_interval(BAND))
        .with_any(Series::marks("lost", 2, Marker::Open, lost).with_interval(BAND))
        .with(Series::fitted("promised", 1, promised.collect::<Result<_>>()?))
        .with(Series::predicted("1 + 1/*m*", INK, balanced.collect()))
        .ruled(Rule::vertical("*βM*² = 1", 1.0).written()))
}

/// Median and 10-90 % of a number of patterns, where the interval ends within the patterns drawn.
fn within(cells: &[&[Row]], name: &str) -> Result<Vec<Point>> {
    let points = over(cells, STRENGTH, |cell| Ok(tenths(&numbers(cell, name)?)))?;
    Ok(points.into_iter().filter(|point| point.high().is_finite()).collect())
}
