//! The figures of `inspect_networks`, from its rows: one that compares, and those of every network.

use super::{InspectNetworks, NAME};
use crate::experiments::inspect_network::{PLACE, VARIANT, VARIANTS};
use crate::experiments::parts::{number, within};
use attnlab_lab::figure::{Axis, Panel, Point, Rule, Series};
use attnlab_lab::prelude::*;

pub fn figures(settings: &InspectNetworks, rows: &[Row]) -> Result<Vec<Figure>> {
    let mut figures = vec![compared(settings, rows)];
    for (i, (name, network)) in settings.names.iter().zip(&settings.networks).enumerate() {
        let of_network = |row: &&Row| row.word(NAME).is_ok_and(|n| n == name);
        let network_rows: Vec<Row> = rows.iter().filter(of_network).cloned().collect();
        for figure in network.figures(&network_rows)? {
            figures.push(Figure {
                name: format!("{}_{}", figure.name, i + 1),
                title: format!("{}: {}", shown(name), figure.title),
                ..figure
            });
        }
    }
    Ok(figures)
}

/// A name without the marks of the caption's language.
fn shown(name: &str) -> String {
    name.replace(['*', '_'], " ")
}

fn compared(settings: &InspectNetworks, rows: &[Row]) -> Figure {
    // A curve of every network over the share of its depth.
    let panel = |title, y, value: &dyn Fn(&Row) -> Option<f64>| {
        let curves = settings.names.iter().zip(&settings.networks).enumerate().map(|(i, (name, network))| {
            let last = network.places.saturating_sub(1).max(1) as f64;
            let point = |row: &Row| Some(Point::at(row.parameter(PLACE).ok()? / last, value(row)?));
            let mut points: Vec<Point> = rows.iter().filter(|row| is_trained(row, name)).filter_map(point).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            Series::measured(shown(name), i, points)
        });
        curves.fold(Panel::new(title, Axis::linear("depth *l*/*L*").from_to(0.0, 1.0), y), Panel::with_any)
    };
    let ratio = |row: &Row, part: &str, a: &str, b: &str| {
        let part = within(row, part)?;
        Some(number(part, a)? / number(part, b)?)
    };
    let heads = |row: &Row, a: &str, b: &str| ratio(row, "heads", a, b).filter(|x| x.is_finite() && *x > 0.0);
    let share = |label| Axis::linear(label).from_to(0.0, 1.05);
    let mut factor = panel("what a block does to the SNR", Axis::linear("factor of the SNR"), &|row| {
        heads(row, "all_after", "all_before")
    });
    let mut level = panel("SNR against chance", Axis::linear("SNR over random subspaces"), &|row| {
        heads(row, "all_before", "chance_before")
    });
    let entropy = panel("attention entropy", share("entropy over the largest"), &|row| {
        ratio(row, "attention", "entropy", "ceiling")
    });
    let sink = panel("share of the first token", share("weight on the first token"), &|row| {
        number(within(row, "attention")?, "sink")
    });
    let without = panel("entropy without the first token", share("entropy over the largest"), &|row| {
        ratio(row, "attention", "entropy_without_sink", "ceiling")
    });
    let holding = panel("hypotheses of Theorem 1", share("share that holds"), &share_of_hypotheses);
    if let Some(first) = settings.networks.first() {
        // Theorem 1 has the factor 1 + ητ, with τ > 1/2.
        factor = factor.ruled(Rule::horizontal("Theorem 1: at least", 1.0 + first.fitting.eta * 0.5));
        level = level.ruled(Rule::horizontal("", 1.0));
    }
    let panels = vec![factor, level, holding, entropy, without, sink];
    Figure::page(InspectNetworks::NAME, "Real networks against Theorem 1", 3, panels).captioned(
        "Block *l* of *L*: SNR (6) of the residual stream in the subspaces that the block's heads read, after it over \
         before it; before it over that in random subspaces of the same sizes; entropy of attention over the largest \
         possible; the same of the weights on all tokens but the first of the window, scaled to sum 1; share of the \
         weight of the other queries on that token. Theorem 1 has a factor of 1 + *ητ* with *τ* > 1/2. And the share \
         of the hypotheses of Theorem 1 that the fitted mixture fulfils (depth 0: embedding).",
    )
}

/// Share of the hypotheses that hold at the fitted values.
fn share_of_hypotheses(row: &Row) -> Option<f64> {
    let hypotheses = within(row, "hypotheses")?;
    let holds = |h: &&Value| h.get("holds").and_then(Value::as_bool) == Some(true);
    let holding = hypotheses.values().filter(holds).count();
    (!hypotheses.is_empty()).then(|| holding as f64 / hypotheses.len() as f64)
}

fn is_trained(row: &Row, name: &str) -> bool {
    row.word(VARIANT).is_ok_and(|v| v == VARIANTS[0].0) && row.word(NAME).is_ok_and(|n| n == name)
}
