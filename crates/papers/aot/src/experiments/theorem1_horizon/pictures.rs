//! The figure of `theorem1_horizon`, from its rows.

use super::Theorem1Horizon;
use crate::quantities::*;
use crate::theory::Horizon;
use crate::theory::horizon::LARGE_N_CONSTANT;
use attnlab_core::error::{Error, Result};
use attnlab_core::stats::quantile;
use attnlab_lab::figure::{Axis, Figure, GREY, INK, Panel, Point, Rule, Series, Width};
use attnlab_lab::run::Row;
use attnlab_lab::run::store::by_cell;

const SPREAD: &str = "10-90 % of draws";
const NOISE_AXIS: &str = "noise, *δ* / √(log *N* / *p*)";
const THETA_AXIS: &str = "*θ*_{crit}";

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
        let row = &rows[0];
        let whole = |name| row.parameter(name).map(|x| x as usize);
        let (n, k, p) = (whole(TOKENS.name)?, whole(CLUSTERS.name)?, whole(DIM.name)?);
        let law = Horizon::new(n, k, p, row.parameter(DELTA.name)?, settings.tau)?;
        let of = |name| rows.iter().map(|r| r.number(name)).collect::<Result<Vec<f64>>>();
        Ok(Cell {
            tokens: n as f64,
            noise: row.parameter(NOISE.name)?,
            theta: of("theta")?,
            updates: of("updates")?,
            law: law.theta(0.5)?,
            law_updates: law.exact_updates(settings.eta, 0.5)? as f64,
        })
    }
}

/// Median and 10-90 % of `values`, each times `factor`, at x.
fn spread(x: f64, values: &[f64], factor: f64) -> Point {
    let q = |p| factor * quantile(values, p);
    Point::between(x, q(0.5), q(0.1), q(0.9))
}

/// Points with error bars instead of a band.
fn bars(label: &str, colour: usize, points: Vec<Point>) -> Series {
    let series = Series::measured(label, colour, points).with_interval(SPREAD);
    Series { band: false, stroke: attnlab_lab::figure::Stroke::None, ..series }
}

pub fn figures(settings: &Theorem1Horizon, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = by_cell(rows);
    let cells = cells.iter().map(|c| Cell::from_rows(settings, c)).collect::<Result<Vec<_>>>()?;
    if cells.is_empty() {
        let problem = "no rows to draw; run the experiment first".into();
        return Err(Error::Content { path: "rows of theorem1_horizon".into(), problem });
    }
    let mut theta = Panel {
        title: "where the pattern (30) first breaks".into(),
        x: Axis::log(NOISE_AXIS),
        y: Axis::log(THETA_AXIS),
        ..Panel::default()
    };
    let mut depth =
        Panel { title: "depth".into(), x: Axis::log(NOISE_AXIS), y: Axis::whole("exact updates"), ..Panel::default() };
    let mut ratio = Panel {
        title: "measured against predicted".into(),
        x: Axis::log(NOISE_AXIS),
        y: Axis::linear("*θ*_{crit} / predicted median"),
        rules: vec![Rule::horizontal("", 1.0)],
        ..Panel::default()
    };
    let sizes: Vec<&[Cell]> = cells.chunk_by(|a, b| a.tokens == b.tokens).collect();
    for (colour, size) in sizes.iter().enumerate() {
        let label = format!("measured, *N* = {}", size[0].tokens);
        // Side by side where they would hide each other: a few hundredths of a decade apart.
        let aside = |x: f64| x * 1.035_f64.powf(colour as f64 - (sizes.len() - 1) as f64 / 2.0);
        let line = |y: fn(&Cell) -> f64| size.iter().map(|c| Point::at(c.noise, y(c))).collect();
        let at = |c: &Cell| spread(aside(c.noise), &c.theta, 1.0);
        theta.series.push(Series::predicted("predicted median (horizon law)", GREY, line(|c| c.law)));
        theta.series.push(bars(&label, colour, size.iter().map(at).collect()));
        let at = |c: &Cell| spread(aside(c.noise), &c.updates, 1.0);
        depth.series.push(Series::predicted("predicted median (horizon law)", GREY, line(|c| c.law_updates)));
        depth.series.push(bars(&label, colour, size.iter().map(at).collect()));
        let at = |c: &Cell| spread(aside(c.noise), &c.theta, 1.0 / c.law);
        ratio.series.push(bars(&label, colour, size.iter().map(at).collect()));
    }
    let panels = vec![theta, depth, ratio, by_size(&sizes)];
    let (k, p, draws) = (settings.clusters, settings.dim, cells[0].theta.len());
    Ok(vec![Figure {
        name: "theorem1_horizon".into(),
        title: "To which depth Theorem 1 holds".into(),
        caption: format!(
            "Largest signal gain *θ* = (1 + *ητ*)^{{*l*}} up to which the pattern (30), and with it the \
             linear rate (8), is exact in a draw, and the number of exact updates, for *K* = {k}, *p* = \
             {p}, *η* = {}, *τ* = {}: median and 10-90 % over {draws} draws, every column of every head \
             measured. Dashed: median by the horizon law. (d): all noise levels together in units of \
             the large-*N* limit; dotted: 2 − √2. (11) allows noise up to 0.125 in these units. Points \
             of several *N* are set side by side.",
            settings.eta, settings.tau,
        ),
        width: Width::Page,
        columns: 2,
        panels,
    }])
}

/// θ_crit δ √(p / log N) over N, which tends to 2 - √2.
fn by_size(sizes: &[&[Cell]]) -> Panel {
    let pooled = |size: &&[Cell]| {
        let scaled = |c: &Cell| c.theta.iter().map(|t| t * c.noise).collect::<Vec<_>>();
        let values: Vec<f64> = size.iter().flat_map(scaled).collect();
        spread(size[0].tokens, &values, 1.0)
    };
    let law = |size: &&[Cell]| {
        let mean = size.iter().map(|c| c.law * c.noise).sum::<f64>() / size.len() as f64;
        Point::at(size[0].tokens, mean)
    };
    Panel {
        title: "towards the large-*N* limit".into(),
        x: Axis::log("tokens *N*"),
        y: Axis::linear("*θ*_{crit} *δ* √(*p* / log *N*)"),
        series: vec![
            Series::predicted("predicted median (horizon law)", GREY, sizes.iter().map(law).collect()),
            bars("measured, all noise levels", INK, sizes.iter().map(pooled).collect()),
        ],
        rules: vec![Rule::horizontal("limit for large *N*, 2 − √2", LARGE_N_CONSTANT)],
        ..Panel::default()
    }
}
