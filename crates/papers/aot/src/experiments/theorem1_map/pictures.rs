//! The figures of `theorem1_map`, from its rows.

use super::{Theorem1Map, lemma3_dim};
use crate::experiments::law::half_curve;
use crate::quantities::*;
use crate::theory::Horizon;
use crate::theory::horizon::LARGE_N_CONSTANT;
use crate::theory::printed::{delta_limit, min_tokens};
use attnlab_core::error::{Error, Result};
use attnlab_core::stats::{Estimate, PowerLaw, binomial, mean};
use attnlab_lab::experiment::plane::{Plane, finer};
use attnlab_lab::figure::{Axis, Cell, Figure, INK, Panel, Point, Rule, Scale, Series, Stroke, Width};
use attnlab_lab::run::Row;
use attnlab_lab::run::store::by_cell;

const LEVEL: f64 = 0.95;
const INTERVAL: &str = "95 % interval (Clopper-Pearson)";
/// Palette colour of the theorem's statement: vermillion.
const STATED: usize = 1;
/// Palette colour of measured points beside curves: blue.
const MEASURED: usize = 0;
/// Palette colour of the horizon law beside measured points.
const LINES: usize = INK;
/// Palette colour of the horizon law over a map: orange, seen on blue and on yellow.
const LAW: usize = 4;

pub fn figures(settings: &Theorem1Map, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = by_cell(rows);
    let of_group = |group: &str| -> Vec<&[Row]> {
        let is = |cell: &&[Row]| cell[0].word(GROUP.name).is_ok_and(|g| g == group);
        cells.iter().copied().filter(is).collect()
    };
    let (map, rate) = (of_group("map"), of_group("rate"));
    let mut figures = vec![];
    if !map.is_empty() {
        figures.push(slack_map(settings, &map)?);
    }
    if !rate.is_empty() {
        figures.push(rates(settings, &rate)?);
    }
    if figures.is_empty() {
        let problem = "no rows to draw; run the experiment first".into();
        let path = "rows of theorem1_map".into();
        return Err(Error::Content { path, problem });
    }
    Ok(figures)
}

/// A map of the probability that the first update, and that L updates, are exact, for each N.
fn slack_map(settings: &Theorem1Map, cells: &[&[Row]]) -> Result<Figure> {
    let sizes = settings.tokens.iter();
    let of_size = |n: &usize| -> Vec<&[Row]> {
        let is = |c: &&[Row]| c[0].parameter(TOKENS.name).is_ok_and(|t| t == *n as f64);
        cells.iter().copied().filter(is).collect()
    };
    let by_size: Vec<(usize, Vec<&[Row]>)> = sizes.map(|n| (*n, of_size(n))).collect();
    let by_size: Vec<_> = by_size.into_iter().filter(|(_, c)| !c.is_empty()).collect();
    let mut panels = vec![];
    for updates in [1, settings.layers] {
        for (n, cells) in &by_size {
            panels.push(probability(settings, *n, updates, cells)?);
        }
    }
    let (k, draws) = (settings.clusters, cells[0].len());
    Ok(Figure {
        name: "theorem1_map".into(),
        title: "Where Theorem 1 holds, and where it is stated".into(),
        caption: format!(
            "Probability that the pattern (30), and with it the linear rate (8), is exact for one update \
             (above) and for {} updates (below), over *p* and *δ*; *K* = {k}, *η* = {}, *τ* = {}, {draws} \
             draws per cell, every column of every head measured. Solid: where half of the draws hold, \
             between the cells' estimates. Dashed: the same by the horizon law, without a draw. \
             Vermillion: below and to the right lie the hypotheses of Theorem 1 on *δ* (11), *p* (Lemma 3) \
             and *τ* (29), which promise (8) for every depth; the hypothesis on *N* in (11) asks for \
             *N* ≥ {} besides. Hatched: cells whose 95 % Clopper-Pearson interval reaches both sides of 1/2.",
            settings.layers,
            settings.eta,
            settings.tau,
            min_tokens(k)?,
        ),
        width: Width::Page,
        columns: by_size.len().max(1),
        panels,
    })
}

fn probability(settings: &Theorem1Map, n: usize, updates: u32, cells: &[&[Row]]) -> Result<Panel> {
    let plane = Plane::arrange(cells, DIM.name, DELTA.name)?;
    // Update l works at θ_l = (1+ητ)^l: l updates are exact iff θ_{l-1} lies below the break.
    let theta = (1.0 + settings.eta * settings.tau).powi(updates as i32 - 1);
    let held = |rows: &[Row]| -> Result<Cell> {
        let mut count = 0;
        for row in rows {
            count += u64::from(row.number("theta")? > theta);
        }
        let e = binomial(count, rows.len() as u64, LEVEL)?;
        Ok(Cell { value: e.value, interval: Some((e.low, e.high)), hatched: e.covers(0.5) })
    };
    let mut heat = plane.heat(Axis::linear("probability").from_to(0.0, 1.0), held)?;
    heat.interval = INTERVAL.into();
    heat.hatching = "95 % interval reaches both sides of 1/2".into();
    let title = match updates {
        1 => format!("*N* = {n}, one update"),
        l => format!("*N* = {n}, {l} updates"),
    };
    Ok(Panel {
        title,
        x: Axis::log("dimension *p*"),
        y: Axis::log("noise *δ*"),
        series: vec![stated(settings, n, &plane), predicted(settings, n, theta, &plane)],
        contours: vec![heat.contour("half of the draws, measured", &[0.5])],
        heat: Some(heat),
        ..Panel::default()
    })
}

/// The curve on which half of the draws hold, by the law; below it more do.
fn predicted(settings: &Theorem1Map, n: usize, theta: f64, plane: &Plane) -> Series {
    let most = 1.3 * plane.x[plane.x.len() - 1];
    let mut curve = half_curve((n, settings.clusters), settings.tau, theta, most);
    // Down from the least p at which signal columns hold.
    if let Some(first) = curve.first().copied() {
        curve.insert(0, (first.0, plane.y[0] / 10.0));
    }
    let points = curve.into_iter().map(|(p, delta)| Point::at(p, delta)).collect();
    Series::predicted("half of the draws, by the horizon law", LAW, points)
}

/// The border of the hypotheses of Theorem 1 on δ, p and τ within the map.
fn stated(settings: &Theorem1Map, n: usize, plane: &Plane) -> Series {
    let ln_odds = (settings.tau / (1.0 - settings.tau)).ln();
    // (29): τ ≤ 1/(1 + N exp(-9p/32)) iff 9p/32 ≥ log N + log(τ/(1-τ)).
    let least = lemma3_dim(n).max(32.0 / 9.0 * ((n as f64).ln() + ln_odds));
    let (low, high) = (plane.y[0] / 10.0, 10.0 * plane.x[plane.x.len() - 1]);
    let bound = |p: f64| delta_limit(n as f64, p);
    let corner = Point::at(least, bound(least));
    let points = match settings.tau > 0.5 && least < high {
        true => vec![Point::at(least, low), corner, Point::at(high, bound(high))],
        false => vec![],
    };
    Series {
        stroke: Stroke::Solid,
        ..Series::predicted("border of the theorem's hypotheses (those on *N* aside)", STATED, points)
    }
}

/// The results at one reach b = θδ√(p / log N).
struct Rate {
    reach: f64,
    tokens: Vec<f64>,
    lambda: Vec<Estimate>,
    law: Vec<f64>,
    /// Bound on the breaks that neither the estimator nor Λ counts.
    rest: f64,
}

impl Rate {
    fn from_cells(cells: &[&[Row]]) -> Result<Rate> {
        let mut rate =
            Rate { reach: cells[0][0].parameter(REACH.name)?, tokens: vec![], lambda: vec![], law: vec![], rest: 0.0 };
        for rows in cells {
            let row = &rows[0];
            let values: Result<Vec<f64>> = rows.iter().map(|r| r.number("lambda")).collect();
            let whole = |name| row.parameter(name).map(|x| x as usize);
            let (n, k, p) = (whole(TOKENS.name)?, whole(CLUSTERS.name)?, whole(DIM.name)?);
            let law = Horizon::new(n, k, p, row.parameter(DELTA.name)?, row.parameter(TAU.name)?)?;
            let theta = row.parameter(THETA.name)?;
            rate.tokens.push(n as f64);
            rate.lambda.push(mean(&values?, LEVEL)?);
            rate.law.push(law.lambda(theta));
            rate.rest = rate.rest.max(law.other_breaks(theta).total());
        }
        Ok(rate)
    }

    fn fit(&self) -> Result<PowerLaw> {
        let means: Vec<f64> = self.lambda.iter().map(|e| e.value).collect();
        PowerLaw::fit(&self.tokens, &means, LEVEL)
    }
}

/// 3/2 - 1/(2b²) - b²/8: the exponent of Λ in N at fixed b for large N (see `theory::horizon`).
fn limit_exponent(b: f64) -> f64 {
    1.5 - 0.5 / (b * b) - b * b / 8.0
}

fn rates(settings: &Theorem1Map, cells: &[&[Row]]) -> Result<Figure> {
    let same = |a: &&[Row], b: &&[Row]| a[0].parameter(REACH.name).ok() == b[0].parameter(REACH.name).ok();
    let rates: Vec<Rate> = cells.chunk_by(same).map(Rate::from_cells).collect::<Result<_>>()?;
    let mut decay = Panel {
        title: "expected number of broken columns".into(),
        x: Axis::log("tokens *N*"),
        y: Axis::log("*Λ*, bounds the failure probability"),
        rules: vec![Rule::horizontal("", 1.0)],
        ..Panel::default()
    };
    let mut slopes = vec![];
    // Space for the tags at the right of the last points.
    let sizes = || rates.iter().flat_map(|rate| &rate.tokens).copied();
    let (low, high) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    decay.x.range = Some((low / 1.4, 4.5 * high));
    for rate in &rates {
        let e = rate.fit()?.slope;
        let half = 0.5 * (e.high - e.low);
        let label = format!("*b* = {}, slope {:.3} ± {half:.3}", rate.reach, e.value);
        let label = label.replace('-', "−");
        let points = rate.tokens.iter().zip(&rate.lambda);
        let points = points.map(|(n, e)| Point::between(*n, e.value, e.low, e.high)).collect();
        let law = rate.tokens.iter().zip(&rate.law).map(|(n, l)| Point::at(*n, *l)).collect();
        decay.series.push(Series::predicted("horizon law", LINES, law));
        let measured = Series::bars(label, MEASURED, points).with_interval("95 % interval (Student)").unlisted();
        let tag = format!("*b* = {}", rate.reach);
        decay.series.push(measured.tagged(tag));
        slopes.push(Point::between(rate.reach, e.value, e.low, e.high));
    }
    let rest = rates.iter().map(|r| r.rest).fold(0.0, f64::max);
    let draws = cells[0].len() as u64 * settings.rate_draws;
    let span = |values: &[usize]| {
        let (low, high) = (values.iter().min(), values.iter().max());
        format!("{} to {}", low.unwrap_or(&0), high.unwrap_or(&0))
    };
    Ok(Figure {
        name: "theorem1_map_rate".into(),
        title: "Where the failure probability is N^{−Ω(1)}".into(),
        caption: format!(
            "(a) Expected number *Λ* of columns that break the pattern (30) when the signal has grown to \
             *θ* = *b* √(log *N* / *p*) / *δ*, at the edge of the hypotheses (*p* = 64 (√log *N* + 1)², \
             *δ* = √(log *N* / *p*) / 8), *K* = {}, *τ* = {}: {draws} values of the unbiased rare-event \
             estimator per point, 95 % Student intervals; dashed: the horizon law. What the estimator does not count is at most {} anywhere \
             (closed-form bound). (b) The slopes of least squares on log-log axes over *N* = {} with 95 % intervals, which include the \
             bend of the curves; dashed: the same by the law; solid: the exponent for \
             *N* → ∞, 3/2 − 1/(2*b*²) − *b*²/8. The claimed *N*^{{−Ω(1)}} is a negative exponent: it holds \
             below *b* = 2 − √2 only, that is for layers with (1 + *ητ*)^{{*l*}} *δ* √*p* < 0.586 √log *N*.",
            settings.clusters,
            settings.tau,
            attnlab_core::format::number(rest),
            span(&settings.rate_tokens),
        ),
        width: Width::Page,
        columns: 2,
        panels: vec![decay, exponents(&rates, slopes)?],
    })
}

fn exponents(rates: &[Rate], slopes: Vec<Point>) -> Result<Panel> {
    let reach: Vec<f64> = rates.iter().map(|r| r.reach).collect();
    let by_law = |r: &Rate| -> Result<Point> {
        let fit = PowerLaw::fit(&r.tokens, &r.law, LEVEL)?;
        Ok(Point::at(r.reach, fit.slope.value))
    };
    let by_law: Vec<Point> = rates.iter().map(by_law).collect::<Result<_>>()?;
    let limit = finer(&reach, Scale::Linear, 60);
    let limit = limit.iter().map(|b| Point::at(*b, limit_exponent(*b))).collect();
    let measured = Series::bars("measured", MEASURED, slopes);
    Ok(Panel {
        title: "exponent of *N*".into(),
        x: Axis::linear("reach *b* = *θ δ* √(*p* / log *N*)"),
        y: Axis::linear("*d* log *Λ* / *d* log *N*"),
        series: vec![
            Series::fitted("exponent for *N* → ∞", STATED, limit),
            Series::predicted("horizon law", LINES, by_law),
            measured.with_interval("95 % interval (Student)"),
        ],
        rules: vec![Rule::horizontal("", 0.0), Rule::vertical("end of *N*^{−Ω(1)}: *b* = 2 − √2", LARGE_N_CONSTANT)],
        ..Panel::default()
    })
}
