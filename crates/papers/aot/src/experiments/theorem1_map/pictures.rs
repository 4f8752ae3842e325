//! The figures of `theorem1_map`, from its rows.

use super::{Theorem1Map, lemma3_dim};
use crate::experiments::law::{LAW, half_line, law_of};
use crate::quantities::*;
use crate::theory::Horizon;
use crate::theory::horizon::LARGE_N_CONSTANT;
use crate::theory::printed::{delta_limit, min_tokens};
use attnlab_core::stats::{Estimate, PowerLaw, binomial, mean};
use attnlab_lab::experiment::draw::{self, LEVEL, ends, groups, numbers, over, span, with_number, with_word};
use attnlab_lab::experiment::plane::{Plane, finer};
use attnlab_lab::figure::{Axis, Cell, INK, Panel, Point, Rule, Scale, Series, Stroke};
use attnlab_lab::prelude::*;

/// Palette colour of the theorem's statement: vermillion.
const STATED: usize = 1;
/// Palette colour of measured points beside curves: blue.
const MEASURED: usize = 0;
/// Palette colour of the horizon law beside measured points.
const LINES: usize = INK;
/// Kind of the intervals of Λ and of its exponent.
const STUDENT: &str = "95 % interval (Student)";

pub fn figures(settings: &Theorem1Map, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = draw::cells("theorem1_map", rows)?;
    let (map, rate) = (with_word(&cells, GROUP, "map"), with_word(&cells, GROUP, "rate"));
    let map = (!map.is_empty()).then(|| slack_map(settings, &map));
    let rate = (!rate.is_empty()).then(|| rates(settings, &rate));
    map.into_iter().chain(rate).collect()
}

/// A map of the probability that the first update, and that L updates, are exact, for each N.
fn slack_map(settings: &Theorem1Map, cells: &[&[Row]]) -> Result<Figure> {
    let by_size = settings.tokens.iter().map(|n| (*n, with_number(cells, TOKENS, *n as f64)));
    let by_size: Vec<_> = by_size.filter(|(_, cells)| !cells.is_empty()).collect();
    let panels = iproduct!([1, settings.layers], &by_size);
    let panels =
        panels.map(|(updates, (n, cells))| probability(settings, *n, updates, cells)).collect::<Result<_>>()?;
    let Theorem1Map { clusters, layers, eta, tau, .. } = settings;
    let title = "Where Theorem 1 holds, and where it is stated";
    Ok(Figure::page("theorem1_map", title, by_size.len().max(1), panels).captioned(format!(
        "Probability that the pattern (30), and with it the linear rate (8), is exact for one update (above) and for \
         {layers} updates (below), over *p* and *δ*; *K* = {clusters}, *η* = {eta}, *τ* = {tau}, {} draws per cell, \
         every column of every head measured. Solid: where half of the draws hold, between the cells' estimates. \
         Dashed: the same by the horizon law, without a draw. Vermillion: below and to the right lie the hypotheses \
         of Theorem 1 on *δ* (11), *p* (Lemma 3) and *τ* (29), which promise (8) for every depth; the hypothesis on \
         *N* in (11) asks for *N* ≥ {} besides. Hatched: cells whose 95 % Clopper-Pearson interval reaches both sides \
         of 1/2.",
        cells[0].len(),
        min_tokens(*clusters)?,
    )))
}

fn probability(settings: &Theorem1Map, n: usize, updates: u32, cells: &[&[Row]]) -> Result<Panel> {
    let plane = Plane::arrange(cells, DIM, DELTA)?;
    // Update l works at θ_l = (1+ητ)^l: l updates are exact iff θ_{l-1} lies below the break.
    let theta = (1.0 + settings.eta * settings.tau).powi(updates as i32 - 1);
    let heat = plane.heat(Axis::linear("probability").from_to(0.0, 1.0), |rows| {
        let held = numbers(rows, "theta")?.iter().filter(|break_at| **break_at > theta).count();
        let e = binomial(held as u64, rows.len() as u64, LEVEL)?;
        Ok(Cell::of(e).hatched_if(e.covers(0.5)))
    })?;
    let heat = heat.explained("95 % interval (Clopper-Pearson)", "95 % interval reaches both sides of 1/2");
    let updates = if updates == 1 { "one update".into() } else { format!("{updates} updates") };
    Ok(Panel::new(format!("*N* = {n}, {updates}"), Axis::log("dimension *p*"), Axis::log("noise *δ*"))
        .with(stated(settings, n, &plane))
        .with(predicted(settings, n, theta, &plane))
        .contoured(heat.contour("half of the draws, measured", &[0.5]))
        .coloured(heat))
}

/// The curve on which half of the draws hold, by the law; below it more do.
fn predicted(settings: &Theorem1Map, n: usize, theta: f64, plane: &Plane) -> Series {
    let mut points = half_line((n, settings.clusters), settings.tau, theta, plane);
    // Down from the least p at which signal columns hold.
    if let Some(first) = points.first().copied() {
        points.insert(0, Point::at(first.x, plane.y[0] / 10.0));
    }
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
    let stated = settings.tau > 0.5 && least < high;
    let points = if stated { vec![Point::at(least, low), corner, Point::at(high, bound(high))] } else { vec![] };
    Series::predicted("border of the theorem's hypotheses (those on *N* aside)", STATED, points).drawn(Stroke::Solid)
}

/// Λ over N at one reach b = θδ√(p / log N), as measured and by the law.
struct Rate {
    reach: f64,
    measured: Vec<Point>,
    law: Vec<Point>,
}

impl Rate {
    fn from_cells((reach, cells): (f64, Vec<&[Row]>)) -> Result<Rate> {
        let measured = over(&cells, TOKENS, |cell| mean(&numbers(cell, "lambda")?, LEVEL))?;
        let law = over(&cells, TOKENS, |cell| {
            let (law, theta) = law_and_theta(&cell[0])?;
            Ok(law.lambda(theta))
        })?;
        Ok(Rate { reach, measured, law })
    }
}

/// The horizon law of a cell, and the factor of its signal.
fn law_and_theta(row: &Row) -> Result<(Horizon, f64)> {
    Ok((law_of(row, row.parameter(TAU.name)?)?, row.parameter(THETA.name)?))
}

/// The exponent of N by least squares on log-log axes.
fn slope(points: &[Point]) -> Result<Estimate> {
    let (tokens, lambda): (Vec<f64>, Vec<f64>) = points.iter().map(|p| (p.x, p.y)).unzip();
    Ok(PowerLaw::fit(&tokens, &lambda, LEVEL)?.slope)
}

/// 3/2 - 1/(2b²) - b²/8: the exponent of Λ in N at fixed b for large N (see `theory::horizon`).
fn limit_exponent(b: f64) -> f64 {
    1.5 - 0.5 / (b * b) - b * b / 8.0
}

fn rates(settings: &Theorem1Map, cells: &[&[Row]]) -> Result<Figure> {
    let rates: Vec<Rate> = groups(cells, REACH)?.into_iter().map(Rate::from_cells).collect::<Result<_>>()?;
    // Space for the tags at the right of the last points.
    let (low, high) = ends(rates.iter().flat_map(|rate| &rate.law).map(|p| p.x));
    let mut decay = Panel::new(
        "expected number of broken columns",
        Axis::log("tokens *N*").from_to(low / 1.4, 4.5 * high),
        Axis::log("*Λ*, bounds the failure probability"),
    )
    .ruled(Rule::horizontal("", 1.0));
    for Rate { reach, measured, law } in &rates {
        let e = slope(measured)?;
        let label = format!("*b* = {reach}, slope {:.3} ± {:.3}", e.value, 0.5 * (e.high - e.low));
        let measured = Series::bars(label.replace('-', "−"), MEASURED, measured.clone()).with_interval(STUDENT);
        decay = decay
            .with(Series::predicted("horizon law", LINES, law.clone()))
            .with(measured.unlisted().tagged(format!("*b* = {reach}")));
    }
    let mut rest = 0.0_f64;
    for cell in cells {
        let (law, theta) = law_and_theta(&cell[0])?;
        rest = rest.max(law.other_breaks(theta).total());
    }
    let title = "Where the failure probability is N^{−Ω(1)}";
    Ok(Figure::page("theorem1_map_rate", title, 2, vec![decay, exponents(&rates)?]).captioned(format!(
        "(a) Expected number *Λ* of columns that break the pattern (30) when the signal has grown to *θ* = *b* √(log \
         *N* / *p*) / *δ*, at the edge of the hypotheses (*p* = 64 (√log *N* + 1)², *δ* = √(log *N* / *p*) / 8), *K* \
         = {}, *τ* = {}: {} values of the unbiased rare-event estimator per point, 95 % Student intervals; dashed: \
         the horizon law. What the estimator does not count is at most {} anywhere (closed-form bound). (b) The \
         slopes of least squares on log-log axes over *N* = {} with 95 % intervals, which include the bend of the \
         curves; dashed: the same by the law; solid: the exponent for *N* → ∞, 3/2 − 1/(2*b*²) − *b*²/8. The claimed \
         *N*^{{−Ω(1)}} is a negative exponent: it holds below *b* = 2 − √2 only, that is for layers with (1 + \
         *ητ*)^{{*l*}} *δ* √*p* < 0.586 √log *N*.",
        settings.clusters,
        settings.tau,
        cells[0].len() as u64 * settings.rate_draws,
        attnlab_core::format::number(rest),
        span(&settings.rate_tokens),
    )))
}

fn exponents(rates: &[Rate]) -> Result<Panel> {
    let measured = rates.iter().map(|r| Ok(Point::at(r.reach, slope(&r.measured)?)));
    let by_law = rates.iter().map(|r| Ok(Point::at(r.reach, slope(&r.law)?.value)));
    let reach: Vec<f64> = rates.iter().map(|r| r.reach).collect();
    let limit = finer(&reach, Scale::Linear, 60).iter().map(|b| Point::at(*b, limit_exponent(*b))).collect();
    let x = Axis::linear("reach *b* = *θ δ* √(*p* / log *N*)");
    Ok(Panel::new("exponent of *N*", x, Axis::linear("*d* log *Λ* / *d* log *N*"))
        .with(Series::fitted("exponent for *N* → ∞", STATED, limit))
        .with(Series::predicted("horizon law", LINES, by_law.collect::<Result<_>>()?))
        .with(Series::bars("measured", MEASURED, measured.collect::<Result<_>>()?).with_interval(STUDENT))
        .ruled(Rule::horizontal("", 0.0))
        .ruled(Rule::vertical("end of *N*^{−Ω(1)}: *b* = 2 − √2", LARGE_N_CONSTANT)))
}
