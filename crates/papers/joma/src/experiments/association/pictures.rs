//! The figure of `joma_association`, from its rows.

use super::JomaAssociation;
use crate::quantities::{ASSOCIATION, LABEL_OF};
use crate::theory::tree::cooccurrence;
use attnlab_core::error::Result;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{BAND, LEVEL, OVER_SEEDS, band, cells, curve, mean_at, numbers, panel, with_word};
use attnlab_lab::figure::{Axis, Figure, GREY, INK, Panel, Point, Rule, Series, Width};
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
    panels.push(present(settings, &cells)?);
    panels.push(predicted(settings, &cells)?);
    Ok(vec![Figure {
        name: JomaAssociation::NAME.into(),
        title: "Which tokens attention finds first".into(),
        caption: caption(settings),
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
    let mut found =
        panel(format!("label: {label}"), Axis::linear("steps"), Axis::linear("logit *z*, mean of the tokens"));
    for height in 1..settings.depth {
        let points = band(cell, &format!("logit_{height}"), &settings.records())?;
        let name = format!("*H* = {height}");
        found.series.push(curve(name, height as usize - 1, points));
    }
    Ok(found)
}

/// Rank correlation of logits with nearness along training.
fn orders(settings: &JomaAssociation, cells: &[&[Row]]) -> Result<Panel> {
    let mut found =
        panel("logits against nearness", Axis::linear("steps"), Axis::linear("rank correlation").from_to(-1.05, 1.05));
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
    let early = early(settings);
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

/// The record after which the order is compared with its controls.
fn early(settings: &JomaAssociation) -> usize {
    let last = settings.records().len() - 1;
    ((settings.early * last as f64) as usize).max(1)
}

/// Theorem 5's co-occurrence of the query with a token whose common ancestor with it has this height.
fn theorem_5(settings: &JomaAssociation, height: u32) -> Result<f64> {
    let (rho, depth) = (settings.rho, settings.depth);
    cooccurrence(rho, depth, height, &settings.classes, &settings.zero)
}

/// Co-occurrences in the drawn sequences against the height, beside Theorem 5.
fn present(settings: &JomaAssociation, cells: &[&[Row]]) -> Result<Panel> {
    let mut found =
        panel("co-occurrence", Axis::whole("height *H*"), Axis::linear("P[token | query]").from_to(0.0, 1.05));
    let law = (1..settings.depth).map(|h| Ok(Point::at(f64::from(h), theorem_5(settings, h)?)));
    let law = law.collect::<Result<Vec<_>>>()?;
    found.series.push(Series::predicted("Theorem 5", GREY, law));
    // All targets draw from the same tree.
    let mut drawn: [Vec<Point>; 2] = Default::default();
    for (points, control) in drawn.iter_mut().zip([PLAIN, "independent"]) {
        let of_control = with_word(cells, ASSOCIATION.name, control);
        for height in 1..settings.depth {
            let mut values = vec![];
            for cell in &of_control {
                values.extend(numbers(cell, &format!("present_{height}"))?);
            }
            if !values.is_empty() {
                points.push(mean_at(f64::from(height), &values)?);
            }
        }
    }
    for ((points, label), colour) in drawn.into_iter().zip(["drawn sequences", "drawn, *ρ* = 0"]).zip([INK, 5]) {
        let series = Series::bars(label, colour, points).with_interval(OVER_SEEDS);
        found.series.push(series);
    }
    Ok(found)
}

/// Mean logits early in training against Theorem 5's co-occurrences.
fn predicted(settings: &JomaAssociation, cells: &[&[Row]]) -> Result<Panel> {
    let mut found = panel(
        "logits against Theorem 5",
        Axis::linear("co-occurrence by Theorem 5"),
        Axis::linear("logit *z* early, mean of the tokens"),
    );
    let early = early(settings);
    for (place, target) in settings.targets.iter().enumerate() {
        let of_target = with_word(cells, LABEL_OF.name, target);
        for cell in with_word(&of_target, ASSOCIATION.name, PLAIN) {
            let mut points = vec![];
            for height in (1..settings.depth).rev() {
                let mut values = vec![];
                for row in cell {
                    let course = row.series(&format!("logit_{height}"))?;
                    values.extend(course.get(early).copied());
                }
                points.push(mean_at(theorem_5(settings, height)?, &values)?);
            }
            let series = Series::bars(format!("label: {target}"), colour(place), points);
            found.series.push(series.with_interval(OVER_SEEDS));
        }
    }
    found.rules.push(Rule::horizontal("", 0.0));
    Ok(found)
}

fn caption(settings: &JomaAssociation) -> String {
    format!(
        "One layer of Eq. (1), {} attention with free logits, ReLU nodes, gradient descent on the cross-entropy over {} \
         sequences that hold the query, a leaf of a binary tree with *L* = {} and *ρ* = {}. (a), (b): mean logit of the tokens whose \
         common ancestor with the query has height *H*; median and {}. (c), (d): Spearman correlation, over the tokens, of \
         the way of a logit since the start with −*H*; the paper expects a positive one early. (c): along training; (d): \
         after {} of it, {} % intervals over {} seeds, for the layer itself, with heights permuted over the tokens, \
         in a tree with *ρ* = 0, and with linear nodes. (e): share of the sequences that hold a token of height *H*, in a \
         tree with *ρ* = {} and with *ρ* = 0 (bars as in (d), over seeds and labels), and Theorem 5's co-occurrence. (f): \
         mean logit as in (d) against Theorem 5's co-occurrence: from left to right *H* = {} to 1.",
        settings.attention,
        settings.samples,
        settings.depth,
        settings.rho,
        BAND,
        settings.early,
        100.0 * LEVEL,
        settings.seeds,
        settings.rho,
        settings.depth - 1,
    )
}
