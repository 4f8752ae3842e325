//! The figures of `inspect_networks`, from its rows: one that compares, and those of every network.

use super::{InspectNetworks, NAME};
use crate::experiments::inspect_network::{PLACE, VARIANT, VARIANTS, number, within};
use attnlab_core::error::Result;
use attnlab_lab::experiment::draw::panel;
use attnlab_lab::experiment::{Described, Experiment};
use attnlab_lab::figure::{Axis, Figure, Point, Rule, Series, Width};
use attnlab_lab::run::Row;
use serde_json::Value;

/// The figures of these settings, from their rows.
///
/// # Errors
/// When rows are missing or are not of this experiment.
pub fn figures(settings: &InspectNetworks, rows: &[Row]) -> Result<Vec<Figure>> {
    let mut figures = vec![compared(settings, rows)];
    for (i, (name, network)) in settings.names.iter().zip(&settings.networks).enumerate() {
        let of_network = |row: &&Row| row.word(NAME).is_ok_and(|n| n == name);
        let own: Vec<Row> = rows.iter().filter(of_network).cloned().collect();
        for figure in network.figures(&own)? {
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
    let depth = || Axis::linear("depth *l*/*L*").from_to(0.0, 1.0);
    let mut factor = panel("what a block does to the SNR", depth(), Axis::linear("factor of the SNR"));
    let mut level = panel("SNR against chance", depth(), Axis::linear("SNR over random subspaces"));
    let mut entropy = panel("attention entropy", depth(), Axis::linear("entropy over the largest").from_to(0.0, 1.05));
    let mut holding = panel("hypotheses of Theorem 1", depth(), Axis::linear("share that holds").from_to(0.0, 1.05));
    for (i, (name, network)) in settings.names.iter().zip(&settings.networks).enumerate() {
        let along = Along {
            rows: rows.iter().filter(|row| is_trained(row, name)).collect(),
            last: network.places.saturating_sub(1).max(1) as f64,
        };
        let label = shown(name);
        let heads = |row: &Row, a: &str, b: &str| {
            let heads = within(row, "heads")?;
            Some(number(heads, a)? / number(heads, b)?).filter(|x| x.is_finite() && *x > 0.0)
        };
        let series = |points| Series::measured(label.clone(), i, points);
        factor.series.push(series(along.points(|row| heads(row, "all_after", "all_before"))));
        level.series.push(series(along.points(|row| heads(row, "all_before", "chance_before"))));
        entropy.series.push(series(along.points(|row| {
            let attention = within(row, "attention")?;
            Some(number(attention, "entropy")? / number(attention, "ceiling")?)
        })));
        holding.series.push(series(along.points(share_of_hypotheses)));
        if i == 0 {
            // Theorem 1 has the factor 1 + ητ, with τ > 1/2.
            let smallest = 1.0 + network.fitting.eta * 0.5;
            factor.rules.push(Rule::horizontal("Theorem 1: at least", smallest));
            factor.rules.push(Rule::horizontal("", 1.0));
            level.rules.push(Rule::horizontal("", 1.0));
        }
    }
    let mut panels = vec![factor, level, entropy, holding];
    for panel in &mut panels {
        panel.series.retain(|s| !s.points.is_empty());
    }
    Figure {
        name: InspectNetworks::NAME.into(),
        title: "Real networks against Theorem 1".into(),
        caption: "Block *l* of *L*: SNR (6) of the residual stream in the subspaces that the block's heads read, after it \
                  over before it; before it over that in random subspaces of the same sizes; entropy of attention over the largest \
                  possible. Theorem 1 has a factor of 1 + *ητ* with *τ* > 1/2. And the share of the \
                  hypotheses of Theorem 1 that the fitted mixture fulfils (depth 0: embedding)."
            .into(),
        width: Width::Page,
        columns: 2,
        panels,
    }
}

/// Share of the hypotheses that hold at the fitted values.
fn share_of_hypotheses(row: &Row) -> Option<f64> {
    let all = within(row, "hypotheses")?;
    let holds = |h: &&Value| h.get("holds").and_then(Value::as_bool) == Some(true);
    let holding = all.values().filter(holds).count();
    (!all.is_empty()).then(|| holding as f64 / all.len() as f64)
}

fn is_trained(row: &Row, name: &str) -> bool {
    let variant = row.word(VARIANT).is_ok_and(|v| v == VARIANTS[0].0);
    variant && row.word(NAME).is_ok_and(|n| n == name)
}

/// Rows of a trained network.
struct Along<'a> {
    rows: Vec<&'a Row>,
    last: f64,
}

impl Along<'_> {
    fn points(&self, value: impl Fn(&Row) -> Option<f64>) -> Vec<Point> {
        let point = |row: &&Row| {
            let place = row.parameter(PLACE).ok()?;
            Some(Point::at(place / self.last, value(row)?))
        };
        let mut points: Vec<Point> = self.rows.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points
    }
}
