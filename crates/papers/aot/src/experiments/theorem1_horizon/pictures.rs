//! The figure of `theorem1_horizon`, from its rows.

use super::Theorem1Horizon;
use crate::experiments::law::law_of;
use crate::quantities::*;
use crate::theory::horizon::LARGE_N_CONSTANT;
use attnlab_lab::experiment::draw::{self, BAND, groups, numbers, over, tenths};
use attnlab_lab::figure::{Axis, GREY, INK, Panel, Point, Rule, Series};
use attnlab_lab::prelude::*;

const NOISE_AXIS: &str = "noise, *δ* / √(log *N* / *p*)";
const PREDICTED: &str = "predicted median (horizon law)";

/// The cells of one N, and the median of θ_crit by the law over the noise.
struct Size<'a> {
    tokens: f64,
    cells: Vec<&'a [Row]>,
    law: Vec<Point>,
}

pub fn figures(settings: &Theorem1Horizon, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = draw::cells("theorem1_horizon", rows)?;
    let size = |(tokens, cells): (f64, Vec<_>)| {
        let law = over(&cells, NOISE, |cell| law_of(&cell[0], settings.tau)?.theta(0.5))?;
        Ok(Size { tokens, cells, law })
    };
    let sizes: Vec<Size> = groups(&cells, TOKENS)?.into_iter().map(size).collect::<Result<_>>()?;
    let x = || Axis::log(NOISE_AXIS);
    let mut theta = Panel::new("where the pattern (30) first breaks", x(), Axis::log("*θ*_{crit}"));
    let mut depth = Panel::new("depth", x(), Axis::whole("exact updates"));
    let mut ratio = Panel::new("measured against predicted", x(), Axis::linear("*θ*_{crit} / predicted median"))
        .ruled(Rule::horizontal("", 1.0));
    for (colour, Size { tokens, cells, law }) in sizes.iter().enumerate() {
        // Side by side where they would hide each other: a few hundredths of a decade apart.
        let aside = 1.035_f64.powf(colour as f64 - (sizes.len() - 1) as f64 / 2.0);
        let measured = |name, factor: &dyn Fn(&Point) -> f64| -> Result<Series> {
            let spreads = over(cells, NOISE, |cell| Ok(tenths(&numbers(cell, name)?)))?;
            let scaled = spreads.iter().zip(law).map(|(p, law)| {
                let factor = factor(law);
                Point::between(p.x * aside, factor * p.y, factor * p.low(), factor * p.high())
            });
            Ok(Series::bars(format!("measured, *N* = {tokens}"), colour, scaled.collect()).with_interval(BAND))
        };
        let updates =
            over(cells, NOISE, |cell| Ok(law_of(&cell[0], settings.tau)?.exact_updates(settings.eta, 0.5)? as f64))?;
        let predicted = |points| Series::predicted(PREDICTED, GREY, points);
        theta = theta.with(predicted(law.clone())).with(measured("theta", &|_| 1.0)?);
        depth = depth.with(predicted(updates)).with(measured("updates", &|_| 1.0)?);
        ratio = ratio.with(measured("theta", &|law| 1.0 / law.y)?);
    }
    let Theorem1Horizon { clusters, dim, eta, tau, .. } = settings;
    let (title, panels) = ("To which depth Theorem 1 holds", vec![theta, depth, ratio, by_size(&sizes)?]);
    Ok(vec![Figure::page("theorem1_horizon", title, 2, panels).captioned(format!(
        "Largest signal gain *θ* = (1 + *ητ*)^{{*l*}} up to which the pattern (30), and with it the linear rate (8), \
         is exact in a draw, and the number of exact updates, for *K* = {clusters}, *p* = {dim}, *η* = {eta}, *τ* = \
         {tau}: median and 10-90 % over {} draws, every column of every head measured. Dashed: median by the horizon \
         law. (d): all noise levels together in units of the large-*N* limit; dotted: 2 − √2. (11) allows noise up to \
         0.125 in these units. Points of several *N* are set side by side.",
        cells[0].len(),
    ))])
}

/// θ_crit δ √(p / log N) over N, which tends to 2 - √2.
fn by_size(sizes: &[Size]) -> Result<Panel> {
    let pooled = |size: &Size| {
        let mut scaled = vec![];
        for cell in &size.cells {
            let noise = cell[0].parameter(NOISE.name)?;
            scaled.extend(numbers(cell, "theta")?.iter().map(|theta| theta * noise));
        }
        Ok(Point::at(size.tokens, tenths(&scaled)))
    };
    let mean = |law: &[Point]| law.iter().map(|p| p.y * p.x).sum::<f64>() / law.len() as f64;
    let law = sizes.iter().map(|size| Point::at(size.tokens, mean(&size.law))).collect();
    let pooled = Series::bars("measured, all noise levels", INK, sizes.iter().map(pooled).collect::<Result<_>>()?);
    let y = Axis::linear("*θ*_{crit} *δ* √(*p* / log *N*)");
    Ok(Panel::new("towards the large-*N* limit", Axis::log("tokens *N*"), y)
        .with(Series::predicted(PREDICTED, GREY, law))
        .with(pooled.with_interval(BAND))
        .ruled(Rule::horizontal("limit for large *N*, 2 − √2", LARGE_N_CONSTANT)))
}
