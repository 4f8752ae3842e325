//! The figure of `joma_association`, from its rows.

use super::JomaAssociation;
use crate::quantities::{ASSOCIATION, LABEL_OF};
use crate::theory::tree::cooccurrence;
use attnlab_lab::experiment::draw::*;
use attnlab_lab::figure::{Axis, GREY, INK, Panel, Point, Rule, Series};
use attnlab_lab::prelude::*;

/// The figure of these settings, from their rows.
pub fn figures(settings: &JomaAssociation, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(JomaAssociation::NAME, rows)?;
    let mut panels = vec![];
    for Chosen { target, cell, .. } in chosen(settings, &cells, &[PLAIN]) {
        panels.push(by_height(settings, &settings.targets[target], cell)?);
    }
    panels.push(orders(settings, &cells)?);
    panels.push(controls(settings, &cells)?);
    panels.push(present(settings, &cells)?);
    panels.push(predicted(settings, &cells)?);
    let figure = Figure::page(JomaAssociation::NAME, "Which tokens attention finds first", 2, panels);
    Ok(vec![figure.captioned(caption(settings))])
}

/// The layer itself, among the controls.
const PLAIN: &str = "none";

/// A cell, with its entry in the legend and its colour, both of its target.
struct Chosen<'a> {
    /// Place of its target in the settings.
    target: usize,
    /// Place of its control in the list that chose it.
    control: usize,
    cell: &'a [Row],
    label: String,
    colour: usize,
}

/// The cells of these controls, by target.
fn chosen<'a>(settings: &JomaAssociation, cells: &[&'a [Row]], controls: &[&str]) -> Vec<Chosen<'a>> {
    let mut chosen = vec![];
    for (target, name) in settings.targets.iter().enumerate() {
        for (control, word) in controls.iter().enumerate() {
            for cell in with_word(&with_word(cells, LABEL_OF, name), ASSOCIATION, word) {
                let (label, colour) = (format!("label: {name}"), 4 + 3 * target);
                chosen.push(Chosen { target, control, cell, label, colour });
            }
        }
    }
    chosen
}

/// Mean logits of the tokens, by the height of their common ancestor with the query.
fn by_height(settings: &JomaAssociation, target: &str, cell: &[Row]) -> Result<Panel> {
    let label = if target == "parent" { "parent latent" } else { "class" };
    let y = Axis::linear("logit *z*, mean of the tokens");
    Panel::new(format!("label: {label}"), Axis::linear("steps"), y).curves(1..settings.depth, |colour, height| {
        Ok(curve(format!("*H* = {height}"), colour, band(cell, &format!("logit_{height}"), &settings.records())?))
    })
}

/// Rank correlation of logits with nearness along training.
fn orders(settings: &JomaAssociation, cells: &[&[Row]]) -> Result<Panel> {
    let y = Axis::linear("rank correlation").from_to(-1.05, 1.05);
    Panel::new("logits against nearness", Axis::linear("steps"), y).ruled(Rule::horizontal("", 0.0)).curves(
        chosen(settings, cells, &[PLAIN]),
        |_, Chosen { cell, label, colour, .. }| {
            // The record at step 0 shows no way yet.
            Ok(curve(label, colour, band(cell, "order", &settings.records())?.split_off(1)))
        },
    )
}

/// The same early in training, beside its controls.
fn controls(settings: &JomaAssociation, cells: &[&[Row]]) -> Result<Panel> {
    let words: Vec<&str> = settings.controls.iter().map(String::as_str).collect();
    let short = |word: &&str| if *word == "independent" { "*ρ* = 0" } else { *word }.to_string();
    let y = Axis::linear("rank correlation").from_to(-1.05, 1.05);
    Panel::new("with controls", named("", words.iter().map(short)), y).ruled(Rule::horizontal("", 0.0)).curves(
        chosen(settings, cells, &words),
        |_, Chosen { target, control, cell, label, colour }| {
            let x = control as f64 + 1.0 + 0.2 * (target as f64 - 0.5);
            Ok(bars_over_seeds(label, colour, vec![mean_at(x, &early(settings, cell, "order")?)?]))
        },
    )
}

/// A series of every seed after the share of the steps at which the order is compared with its controls.
fn early(settings: &JomaAssociation, cell: &[Row], name: &str) -> Result<Vec<f64>> {
    let last = settings.records().len() - 1;
    let early = ((settings.early * last as f64) as usize).max(1);
    Ok(lists(cell, name)?.iter().filter_map(|series| series.get(early).copied()).collect())
}

/// Theorem 5's co-occurrence of the query with a token whose common ancestor with it has this height.
fn theorem_5(settings: &JomaAssociation, height: u32) -> Result<f64> {
    let (rho, depth) = (settings.rho, settings.depth);
    cooccurrence(rho, depth, height, &settings.classes, &settings.zero)
}

/// Co-occurrences in the drawn sequences against the height, beside Theorem 5.
fn present(settings: &JomaAssociation, cells: &[&[Row]]) -> Result<Panel> {
    let law = (1..settings.depth).map(|h| Ok(Point::at(f64::from(h), theorem_5(settings, h)?)));
    Panel::new("co-occurrence", Axis::whole("height *H*"), Axis::linear("P[token | query]").from_to(0.0, 1.05))
        .with(Series::predicted("Theorem 5", GREY, law.collect::<Result<_>>()?))
        .curves(
            [(PLAIN, "drawn sequences", INK), ("independent", "drawn, *ρ* = 0", 5)],
            |_, (control, label, colour)| {
                // All targets draw from the same tree.
                let cells = with_word(cells, ASSOCIATION, control);
                let mut points = vec![];
                for height in 1..settings.depth {
                    let name = format!("present_{height}");
                    let values = cells.iter().map(|cell| numbers(cell, &name)).collect::<Result<Vec<_>>>()?.concat();
                    if !values.is_empty() {
                        points.push(mean_at(f64::from(height), &values)?);
                    }
                }
                Ok(bars_over_seeds(label, colour, points))
            },
        )
}

/// Mean logits early in training against Theorem 5's co-occurrences.
fn predicted(settings: &JomaAssociation, cells: &[&[Row]]) -> Result<Panel> {
    let (x, y) = (Axis::linear("co-occurrence by Theorem 5"), Axis::linear("logit *z* early, mean of the tokens"));
    Panel::new("logits against Theorem 5", x, y).ruled(Rule::horizontal("", 0.0)).curves(
        chosen(settings, cells, &[PLAIN]),
        |_, Chosen { cell, label, colour, .. }| {
            let point = |height: u32| {
                mean_at(theorem_5(settings, height)?, &early(settings, cell, &format!("logit_{height}"))?)
            };
            Ok(bars_over_seeds(label, colour, (1..settings.depth).rev().map(point).collect::<Result<_>>()?))
        },
    )
}

fn caption(settings: &JomaAssociation) -> String {
    let JomaAssociation { attention, samples, depth, rho, early, seeds, .. } = settings;
    format!(
        "One layer of Eq. (1), {attention} attention with free logits, ReLU nodes, gradient descent on the \
         cross-entropy over {samples} sequences that hold the query, a leaf of a binary tree with *L* = {depth} and \
         *ρ* = {rho}. (a), (b): mean logit of the tokens whose common ancestor with the query has height *H*; median \
         and {}. (c), (d): Spearman correlation, over the tokens, of the way of a logit since the start with −*H*; \
         the paper expects a positive one early. (c): along training; (d): after {early} of it, {PERCENT} % \
         intervals over {seeds} seeds, for the layer itself, with heights permuted over the tokens, in a tree with \
         *ρ* = 0, and with linear nodes. (e): share of the sequences that hold a token of height *H*, in a tree with \
         *ρ* = {rho} and with *ρ* = 0 (bars as in (d), over seeds and labels), and Theorem 5's co-occurrence. (f): \
         mean logit as in (d) against Theorem 5's co-occurrence: from left to right *H* = {} to 1.",
        BAND,
        settings.depth - 1,
    )
}
