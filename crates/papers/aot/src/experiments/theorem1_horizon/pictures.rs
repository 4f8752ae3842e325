//! The figure of `theorem1_horizon`, from its rows.

use super::Theorem1Horizon;
use crate::experiments::law::law_of;
use crate::quantities::*;
use crate::theory::horizon::LARGE_N_CONSTANT;
use attnlab_core::error::Result;
use attnlab_lab::experiment::draw::{self, BAND, numbers, tenths};
use attnlab_lab::figure::{Axis, Figure, GREY, INK, Panel, Point, Rule, Series};
use attnlab_lab::run::Row;

const NOISE_AXIS: &str = "noise, *δ* / √(log *N* / *p*)";
const PREDICTED: &str = "predicted median (horizon law)";

/// One cell: what was measured and what the law says.
struct Cell {
    tokens: f64,
    noise: f64,
    theta: Vec<f64>,
    updates: Vec<f64>,
    law: f64,
    law_updates: f64,
}

impl Cell {
    fn from_rows(settings: &Theorem1Horizon, rows: &[Row]) -> Result<Cell> {
        let law = law_of(&rows[0], settings.tau)?;
        Ok(Cell {
            tokens: rows[0].parameter(TOKENS.name)?,
            noise: rows[0].parameter(NOISE.name)?,
            theta: numbers(rows, "theta")?,
            updates: numbers(rows, "updates")?,
            law: law.theta(0.5)?,
            law_updates: law.exact_updates(settings.eta, 0.5)? as f64,
        })
    }
}

/// Median and 10-90 % of `values`, each times `factor`, at x.
fn spread(x: f64, values: &[f64], factor: f64) -> Point {
    let spread = Point::at(x, tenths(values));
    Point::between(x, factor * spread.y, factor * spread.low(), factor * spread.high())
}

pub fn figures(settings: &Theorem1Horizon, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = draw::cells("theorem1_horizon", rows)?;
    let cells = cells.iter().map(|c| Cell::from_rows(settings, c)).collect::<Result<Vec<_>>>()?;
    let sizes: Vec<&[Cell]> = cells.chunk_by(|a, b| a.tokens == b.tokens).collect();
    let x = || Axis::log(NOISE_AXIS);
    let mut theta = Panel::new("where the pattern (30) first breaks", x(), Axis::log("*θ*_{crit}"));
    let mut depth = Panel::new("depth", x(), Axis::whole("exact updates"));
    let mut ratio = Panel::new("measured against predicted", x(), Axis::linear("*θ*_{crit} / predicted median"))
        .ruled(Rule::horizontal("", 1.0));
    for (colour, size) in sizes.iter().enumerate() {
        // Side by side where they would hide each other: a few hundredths of a decade apart.
        let aside = |x: f64| x * 1.035_f64.powf(colour as f64 - (sizes.len() - 1) as f64 / 2.0);
        let line = |y: fn(&Cell) -> f64| {
            Series::predicted(PREDICTED, GREY, size.iter().map(|c| Point::at(c.noise, y(c))).collect())
        };
        let bars = |values: fn(&Cell) -> &[f64], factor: fn(&Cell) -> f64| {
            let points = size.iter().map(|c| spread(aside(c.noise), values(c), factor(c))).collect();
            Series::bars(format!("measured, *N* = {}", size[0].tokens), colour, points).with_interval(BAND)
        };
        theta = theta.with(line(|c| c.law)).with(bars(|c| &c.theta, |_| 1.0));
        depth = depth.with(line(|c| c.law_updates)).with(bars(|c| &c.updates, |_| 1.0));
        ratio = ratio.with(bars(|c| &c.theta, |c| 1.0 / c.law));
    }
    let Theorem1Horizon { clusters, dim, eta, tau, .. } = settings;
    let (title, panels) = ("To which depth Theorem 1 holds", vec![theta, depth, ratio, by_size(&sizes)]);
    Ok(vec![Figure::page("theorem1_horizon", title, 2, panels).captioned(format!(
        "Largest signal gain *θ* = (1 + *ητ*)^{{*l*}} up to which the pattern (30), and with it the linear rate (8), \
         is exact in a draw, and the number of exact updates, for *K* = {clusters}, *p* = {dim}, *η* = {eta}, *τ* = \
         {tau}: median and 10-90 % over {} draws, every column of every head measured. Dashed: median by the horizon \
         law. (d): all noise levels together in units of the large-*N* limit; dotted: 2 − √2. (11) allows noise up to \
         0.125 in these units. Points of several *N* are set side by side.",
        cells[0].theta.len(),
    ))])
}

/// θ_crit δ √(p / log N) over N, which tends to 2 - √2.
fn by_size(sizes: &[&[Cell]]) -> Panel {
    let pooled = |size: &&[Cell]| {
        let scaled = size.iter().flat_map(|c| c.theta.iter().map(|t| t * c.noise));
        Point::at(size[0].tokens, tenths(&scaled.collect::<Vec<f64>>()))
    };
    let law = |size: &&[Cell]| {
        let mean = size.iter().map(|c| c.law * c.noise).sum::<f64>() / size.len() as f64;
        Point::at(size[0].tokens, mean)
    };
    let pooled = Series::bars("measured, all noise levels", INK, sizes.iter().map(pooled).collect());
    let y = Axis::linear("*θ*_{crit} *δ* √(*p* / log *N*)");
    Panel::new("towards the large-*N* limit", Axis::log("tokens *N*"), y)
        .with(Series::predicted(PREDICTED, GREY, sizes.iter().map(law).collect()))
        .with(pooled.with_interval(BAND))
        .ruled(Rule::horizontal("limit for large *N*, 2 − √2", LARGE_N_CONSTANT))
}
