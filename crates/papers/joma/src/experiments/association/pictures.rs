//! The figure of `joma_association`, from its rows.

use super::JomaAssociation;
use crate::quantities::{ASSOCIATION, LABEL_OF};
use crate::theory::tree::cooccurrence;
use attnlab_core::error::Result;
use attnlab_core::format::significant;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{
    BAND, LEVEL, OVER_SEEDS, band, cells, curve, mean_at, panel, with_word,
};
use attnlab_lab::figure::{Axis, Figure, Panel, Rule, Series, Width};
use attnlab_lab::run::Row;

/// The figure of these settings, from their rows.
///
/// # Errors
/// When rows are missing or are not of this experiment.
pub fn figures(settings: &JomaAssociation, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(JomaAssociation::NAME, rows)?;
    let mut panels = vec![];
    for target in &settings.targets {
        let of_target = with_word(&cells, LABEL_OF.name, target);
        for cell in with_word(&of_target, ASSOCIATION.name, PLAIN) {
            panels.push(by_height(settings, target, cell)?);
        }
    }
    panels.push(orders(settings, &cells)?);
    panels.push(controls(settings, &cells)?);
    Ok(vec![Figure {
        name: JomaAssociation::NAME.into(),
        title: "Which tokens attention finds first".into(),
        caption: caption(settings)?,
        width: Width::Page,
        columns: 2,
        panels,
    }])
}

/// The layer itself, among the controls.
const PLAIN: &str = "none";

/// Colour of a target, by its place in the settings.
fn colour(place: usize) -> usize {
    4 + 3 * place
}

/// Mean logits of the tokens, by the height of their common ancestor with the query.
fn by_height(settings: &JomaAssociation, target: &str, cell: &[Row]) -> Result<Panel> {
    let label = match target {
        "parent" => "parent latent",
        _ => "class",
    };
    let mut found = panel(
        format!("label: {label}"),
        Axis::linear("steps"),
        Axis::linear("logit *z*, mean of the tokens"),
    );
    for height in 1..settings.depth {
        let points = band(cell, &format!("logit_{height}"), &settings.records())?;
        let name = format!("*H* = {height}");
        found.series.push(curve(name, height as usize - 1, points));
    }
    Ok(found)
}

/// Rank correlation of logits with nearness along training.
fn orders(settings: &JomaAssociation, cells: &[&[Row]]) -> Result<Panel> {
    let mut found = panel(
        "logits against nearness",
        Axis::linear("steps"),
        Axis::linear("rank correlation").from_to(-1.05, 1.05),
    );
    for (place, target) in settings.targets.iter().enumerate() {
        let of_target = with_word(cells, LABEL_OF.name, target);
        for cell in with_word(&of_target, ASSOCIATION.name, PLAIN) {
            // The record at step 0 shows no way yet.
            let points = band(cell, "order", &settings.records())?.split_off(1);
            let name = format!("label: {target}");
            found.series.push(curve(name, colour(place), points));
        }
    }
    found.rules.push(Rule::horizontal("", 0.0));
    Ok(found)
}

/// The same early in training, beside its controls.
fn controls(settings: &JomaAssociation, cells: &[&[Row]]) -> Result<Panel> {
    let mut found = panel(
        "with controls",
        Axis::linear("").from_to(0.4, settings.controls.len() as f64 + 0.6),
        Axis::linear("rank correlation").from_to(-1.05, 1.05),
    );
    let last = settings.records().len() - 1;
    let early = ((settings.early * last as f64) as usize).max(1);
    for (place, target) in settings.targets.iter().enumerate() {
        let of_target = with_word(cells, LABEL_OF.name, target);
        for (i, control) in settings.controls.iter().enumerate() {
            for cell in with_word(&of_target, ASSOCIATION.name, control) {
                let mut values = vec![];
                for row in cell {
                    values.extend(row.series("order")?.get(early).copied());
                }
                let x = i as f64 + 1.0 + 0.2 * (place as f64 - 0.5);
                let points = vec![mean_at(x, &values)?];
                let series = Series::bars(format!("label: {target}"), colour(place), points);
                found.series.push(series.with_interval(OVER_SEEDS));
            }
        }
    }
    let short = |control: &str| match control {
        "independent" => "*ρ* = 0".to_string(),
        other => other.to_string(),
    };
    let ticks = settings.controls.iter().enumerate();
    found.x.ticks = ticks.map(|(i, c)| (i as f64 + 1.0, short(c))).collect();
    found.rules.push(Rule::horizontal("", 0.0));
    Ok(found)
}

/// Theorem 5's co-occurrences by height, in words.
fn predicted(settings: &JomaAssociation) -> Result<String> {
    let one = |height: u32| {
        let (rho, depth) = (settings.rho, settings.depth);
        let p = cooccurrence(rho, depth, height, &settings.classes, &settings.zero)?;
        Ok(format!("{} at *H* = {height}", significant(p, 2)))
    };
    let all: Result<Vec<String>> = (1..settings.depth).map(one).collect();
    Ok(all?.join(", "))
}

fn caption(settings: &JomaAssociation) -> Result<String> {
    Ok(format!(
        "One layer of Eq. (1), {} attention with free logits, ReLU nodes, gradient descent on the cross-entropy over {} \
         sequences that hold the query, a leaf of a binary tree with *L* = {} and *ρ* = {}. Above: mean logit of the tokens whose \
         common ancestor with the query has height *H*; median and {}. Below: Spearman correlation, over the tokens, of \
         the way of a logit since the start with −*H*; the paper expects a positive one early. (c): along training; (d): \
         after {} of it, {} % intervals over {} seeds, for the layer itself, with heights permuted over the tokens, \
         in a tree with *ρ* = 0, and with linear nodes. Theorem 5 predicts the co-occurrences {}.",
        settings.attention,
        settings.samples,
        settings.depth,
        settings.rho,
        BAND,
        settings.early,
        100.0 * LEVEL,
        settings.seeds,
        predicted(settings)?,
    ))
}
