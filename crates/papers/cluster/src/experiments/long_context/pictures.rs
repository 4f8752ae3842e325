//! The figure of `cluster_long_context`, from its rows and the closed form.

use super::{LongContexts, transition};
use crate::experiments::log_times;
use crate::quantities::{GAMMA, TOKENS};
use crate::theory::long_context::LongContext;
use attnlab_core::error::Result;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{BAND, cells, panel, spread};
use attnlab_lab::figure::{Axis, Figure, GREY, INK, Marker, Panel, Point, Rule, Series, Stroke, Width};
use attnlab_lab::run::Row;

pub fn figures(settings: &LongContexts, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(LongContexts::NAME, rows)?;
    let panels = vec![
        equiangular(settings),
        rates(settings),
        uniform(settings, &cells, "own", "uniform tokens: own weight", "weight of a token for itself")?,
        uniform(settings, &cells, "cosine", "uniform tokens: outputs", "cosine of two outputs")?,
    ];
    Ok(vec![Figure {
        name: LongContexts::NAME.into(),
        title: LongContexts::TITLE.into(),
        caption: format!(
            "One softmax attention layer at *β* = *γ* log *n*. (a), (b): equiangular tokens, inner product *ρ* = {}, exact; \
             dotted: the limits, dashed: the laws of the distance from them. (c), (d): *N* uniform tokens in *d* = {} log *N* \
             dimensions through the streaming layer, median and 10-90 % over {} draws of means over {} tokens or pairs; \
             vertical line: *γ* at which the weight goes over to the token itself as *N* → ∞, {:.3}.",
            settings.rho,
            settings.delta,
            settings.trials,
            settings.pairs,
            transition(settings.delta),
        ),
        width: Width::Page,
        columns: 2,
        panels,
    }])
}

fn smooth(label: String, colour: usize, points: Vec<Point>) -> Series {
    Series { marker: Marker::None, ..Series::measured(label, colour, points) }
}

/// "10^{6}" for a power of ten.
fn power(n: f64) -> String {
    let exponent = n.log10();
    match (exponent - exponent.round()).abs() < 1e-9 {
        true => format!("10^{{{}}}", exponent.round()),
        false => n.to_string(),
    }
}

fn equiangular(settings: &LongContexts) -> Panel {
    let mut panel = panel("equiangular tokens", Axis::linear("*γ*(1 − *ρ*)"), Axis::linear("cosine of two outputs"));
    panel.x.range = Some((0.0, 2.0));
    panel.y.range = Some((settings.rho - 0.03, 1.03));
    for (colour, n) in settings.equiangular.iter().enumerate() {
        let at = |kappa: f64| LongContext { n: *n, rho: settings.rho, gamma: kappa / (1.0 - settings.rho) };
        let points = (1..=200).map(|i| 0.01 * f64::from(i)).map(|k| Point::at(k, at(k).cosine())).collect();
        panel.series.push(smooth(format!("*n* = {}", power(*n)), colour, points));
    }
    let critical = LongContext { n: 10.0, rho: settings.rho, gamma: 1.0 / (1.0 - settings.rho) };
    let limit = |from: f64, to: f64, y: f64| {
        let points = vec![Point::at(from, y), Point::at(to, y)];
        Series::predicted("limit", INK, points).drawn(Stroke::Dotted)
    };
    panel.series.push(limit(0.0, 1.0, 1.0));
    panel.series.push(limit(1.0, 2.0, settings.rho));
    panel.series.push(Series {
        stroke: Stroke::None,
        marker: Marker::Open,
        ..Series::measured("limit at 1", INK, vec![Point::at(1.0, critical.limit())])
    });
    panel
}

fn rates(settings: &LongContexts) -> Panel {
    let mut panel = panel("distance from the limit", Axis::log("*n*"), Axis::log("|cos − limit|"));
    panel.y.range = Some((1e-9, 1.0));
    for (colour, kappa) in settings.kappas.iter().enumerate() {
        let at = |n: f64| LongContext { n, rho: settings.rho, gamma: kappa / (1.0 - settings.rho) };
        let ns = log_times(10.0, 1e9, 81);
        let points = |value: &dyn Fn(LongContext) -> f64| -> Vec<Point> {
            ns.iter().map(|n| Point::at(*n, value(at(*n)))).collect()
        };
        let label = format!("*γ*(1 − *ρ*) = {kappa}");
        panel.series.push(smooth(label.clone(), colour, points(&|at| at.distance())));
        let law = points(&|at| at.law());
        panel.series.push(Series::predicted(format!("{label}, law"), colour, law).unlisted());
    }
    panel.series.push(Series::key("law", GREY, Stroke::Dashed));
    panel
}

fn uniform(settings: &LongContexts, cells: &[&[Row]], name: &str, title: &str, label: &str) -> Result<Panel> {
    let mut panel = panel(title, Axis::linear("*γ*"), Axis::linear(label));
    panel.y.range = Some((-0.03, 1.03));
    for (colour, n) in settings.contexts.iter().enumerate() {
        let mut points = vec![];
        for cell in cells {
            if cell[0].parameter(TOKENS.name)? == *n as f64 {
                points.push(spread(cell, name, cell[0].parameter(GAMMA.name)?)?);
            }
        }
        let label = format!("*N* = {n}");
        panel.series.push(Series::measured(label, colour, points).with_interval(BAND));
    }
    panel.rules.push(Rule::vertical("", transition(settings.delta)));
    Ok(panel)
}
