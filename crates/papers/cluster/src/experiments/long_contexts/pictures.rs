//! The figure of `cluster_long_contexts`, from its rows and the closed form.

use super::LongContexts;
use crate::quantities::{GAMMA, TOKENS};
use crate::theory::long_context::{LongContext, transition};
use attnlab_lab::experiment::draw::{BAND, cells, groups, log_spaced, numbers, over, tenths};
use attnlab_lab::figure::{Axis, GREY, INK, Marker, Panel, Point, Rule, Series, Stroke};
use attnlab_lab::prelude::*;

/// Range of n in the rates.
const RATES: (f64, f64) = (10.0, 1e9);

pub fn figures(settings: &LongContexts, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(LongContexts::NAME, rows)?;
    let weight = Axis::linear("weight of a token for itself");
    let panels = vec![
        equiangular(settings)?,
        rates(settings)?,
        uniform(settings, &cells, "own", "uniform tokens: own weight", weight)?,
        uniform(settings, &cells, "cosine", "uniform tokens: outputs", Axis::linear(COSINE))?,
    ];
    let LongContexts { rho, delta, trials, pairs, .. } = settings;
    Ok(vec![Figure::page(LongContexts::NAME, LongContexts::TITLE, 2, panels).captioned(format!(
        "One softmax attention layer at *β* = *γ* log *n*. (a), (b): equiangular tokens, inner product *ρ* = {rho}, exact; \
         dotted: the limits, dashed: the laws of the distance from them. (c), (d): *n* uniform tokens in *d* = {delta} \
         log *n* dimensions through the streaming layer, median and 10-90 % over {trials} draws of means over {pairs} \
         tokens or pairs; vertical line: *γ* at which the weight goes over to the token itself as *n* → ∞, {:.3}.",
        transition(*delta),
    ))])
}

const COSINE: &str = "cosine of two outputs";

/// The layer at κ = γ(1 − ρ).
fn layer(settings: &LongContexts, n: f64, kappa: f64) -> LongContext {
    LongContext { n, rho: settings.rho, gamma: kappa / (1.0 - settings.rho) }
}

/// "10^{6}" for a power of ten.
fn power(n: f64) -> String {
    let exponent = n.log10().round() as i32;
    if n == 10_f64.powi(exponent) { format!("10^{{{exponent}}}") } else { n.to_string() }
}

fn equiangular(settings: &LongContexts) -> Result<Panel> {
    let (x, y) = (Axis::linear("*γ*(1 − *ρ*)").from_to(0.0, 2.0), Axis::linear(COSINE));
    let limit = |ends: [f64; 2], kappa: f64| {
        let height = layer(settings, settings.equiangular[0], kappa).limit();
        Series::across("limit", INK, ends, height).drawn(Stroke::Dotted)
    };
    let critical = limit([1.0, 1.0], 1.0).points;
    Ok(Panel::new("equiangular tokens", x, y.from_to(settings.rho - 0.03, 1.03))
        .curves(&settings.equiangular, |colour, n| {
            let kappas = (1..=200).map(|i| 0.01 * f64::from(i));
            let points = kappas.map(|kappa| Point::at(kappa, layer(settings, *n, kappa).cosine())).collect();
            Ok(Series::fitted(format!("*n* = {}", power(*n)), colour, points))
        })?
        .with(limit([0.0, 1.0], 0.5))
        .with(limit([1.0, 2.0], 1.5))
        .with(Series::marks("limit at 1", INK, Marker::Open, critical[..1].to_vec())))
}

fn rates(settings: &LongContexts) -> Result<Panel> {
    let numbers = log_spaced(RATES.0, RATES.1, 81);
    let points = |kappa: f64, value: fn(&LongContext) -> f64| {
        numbers.iter().map(|n| Point::at(*n, value(&layer(settings, *n, kappa)))).collect::<Vec<_>>()
    };
    let label = |kappa: &f64| format!("*γ*(1 − *ρ*) = {kappa}");
    Panel::new("distance from the limit", Axis::log("*n*"), Axis::log("|cos − limit|").from_to(1e-9, 1.0))
        .curves(&settings.kappas, |colour, kappa| {
            Ok(Series::fitted(label(kappa), colour, points(*kappa, LongContext::distance)))
        })?
        .curves(&settings.kappas, |colour, kappa| {
            let law = points(*kappa, LongContext::law);
            Ok(Series::predicted(format!("{}, law", label(kappa)), colour, law).unlisted())
        })
        .map(|panel| panel.with(Series::key("law", GREY, Stroke::Dashed)))
}

fn uniform(settings: &LongContexts, cells: &[&[Row]], name: &str, title: &str, y: Axis) -> Result<Panel> {
    Ok(Panel::new(title, Axis::linear("*γ*"), y.from_to(-0.03, 1.03))
        .curves(groups(cells, TOKENS)?, |colour, (n, cells)| {
            let points = over(&cells, GAMMA, |cell| Ok(tenths(&numbers(cell, name)?)))?;
            Ok(Series::measured(format!("*n* = {n}"), colour, points).with_interval(BAND))
        })?
        .ruled(Rule::vertical("*n* → ∞", transition(settings.delta)).written()))
}
