//! The figure of `joma_association`, from its rows.

use super::JomaAssociation;
use crate::quantities::{ASSOCIATION, LABEL_OF};
use crate::theory::tree::cooccurrence;
use attnlab_core::error::Result;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{
    BAND, LEVEL, OVER_SEEDS, band, cells, curve, mean_at, panel, with_word,
};
use attnlab_lab::figure::{Axis, Figure, Rule, Series, Width};
use attnlab_lab::run::Row;

/// The figure of these settings, from their rows.
///
/// # Errors
/// When rows are missing or are not of this experiment.
pub fn figures(settings: &JomaAssociation, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(JomaAssociation::NAME, rows)?;
    let records = settings.records();
    let mut panels = vec![];
    let mut orders = panel(
        "logits against nearness",
        Axis::linear("steps"),
        Axis::linear("rank correlation").from_to(-1.05, 1.05),
    );
    let mut controls = panel(
        "with controls",
        Axis::linear("").from_to(0.4, settings.controls.len() as f64 + 0.6),
        Axis::linear("rank correlation").from_to(-1.05, 1.05),
    );
    // What is found first. The record at step 0 shows no way yet.
    let early = ((settings.early * (records.len() - 1) as f64) as usize).max(1);
    for (t, target) in settings.targets.iter().enumerate() {
        let of_target = with_word(&cells, LABEL_OF.name, target);
        for cell in with_word(&of_target, ASSOCIATION.name, "none") {
            let mut found = panel(
                format!(
                    "label: {}",
                    if target == "parent" {
                        "parent latent"
                    } else {
                        "class"
                    }
                ),
                Axis::linear("steps"),
                Axis::linear("logit *z*, mean of the tokens"),
            );
            for height in 1..settings.depth {
                let points = band(cell, &format!("logit_{height}"), &records)?;
                found.series.push(curve(
                    format!("*H* = {height}"),
                    height as usize - 1,
                    points,
                ));
            }
            panels.push(found);
        }
        for (i, control) in settings.controls.iter().enumerate() {
            for cell in with_word(&of_target, ASSOCIATION.name, control) {
                let label = format!("label: {target}");
                if control == "none" {
                    let points = band(cell, "order", &records)?.split_off(1);
                    orders.series.push(curve(&label, 4 + 3 * t, points));
                }
                let mut values = vec![];
                for row in cell {
                    values.extend(row.series("order")?.get(early).copied());
                }
                let point = mean_at(i as f64 + 1.0 + 0.2 * (t as f64 - 0.5), &values)?;
                let series = Series::bars(label, 4 + 3 * t, vec![point]);
                controls.series.push(series.with_interval(OVER_SEEDS));
            }
        }
    }
    let short = |control: &str| match control {
        "independent" => "*ρ* = 0".to_string(),
        other => other.to_string(),
    };
    let ticks = settings.controls.iter().enumerate();
    controls.x.ticks = ticks.map(|(i, c)| (i as f64 + 1.0, short(c))).collect();
    for panel in [&mut orders, &mut controls] {
        panel.rules.push(Rule::horizontal("", 0.0));
    }
    panels.extend([orders, controls]);
    let mut predicted = vec![];
    for height in 1..settings.depth {
        let p = cooccurrence(
            settings.rho,
            settings.depth,
            height,
            &settings.classes,
            &settings.zero,
        )?;
        predicted.push(format!(
            "{} at *H* = {height}",
            attnlab_core::format::significant(p, 2)
        ));
    }
    Ok(vec![Figure {
        name: JomaAssociation::NAME.into(),
        title: "Which tokens attention finds first".into(),
        caption: format!(
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
            predicted.join(", "),
        ),
        width: Width::Page,
        columns: 2,
        panels,
    }])
}
