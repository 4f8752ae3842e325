//! The figures of `language`, from its rows.

use super::Language;
use crate::experiments::networks::{depth_caption, depth_panels, label, look, schedule};
use crate::quantities::*;
use attnlab_lab::experiment::draw::{RANGE, along, by_word, cells, extremes, lists};
use attnlab_lab::figure::{Axis, GREY, INK, Panel, Series, Stroke};
use attnlab_lab::prelude::*;

pub fn figures(settings: &Language, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells("language", rows)?;
    let mut figures = vec![losses(settings, &cells)?];
    figures.extend(depth(settings, &cells)?);
    Ok(figures)
}

/// Known values of the text: entropies of a chain, or the loss of bare frequencies.
fn known(settings: &Language, row: &Row) -> Result<Vec<Series>> {
    let ends = [0.0, settings.plan.steps as f64];
    if !settings.text.is_empty() {
        return Ok(vec![Series::across("frequencies", GREY, ends, row.number("unigram")?).drawn(Stroke::Dotted)]);
    }
    let entropies = row.series("entropies")?;
    let last = entropies.len().saturating_sub(1);
    let named = |(past, entropy): (usize, &f64)| {
        let (name, colour, stroke) = match past {
            _ if past == last => ("entropy rate".into(), INK, Stroke::Dashed),
            0 => ("entropy of a token".into(), GREY, Stroke::Dotted),
            1 => ("entropy given the one before".into(), INK, Stroke::Dotted),
            _ => (format!("entropy given {past} before"), GREY, Stroke::Dashed),
        };
        Series::across(name, colour, ends, *entropy).drawn(stroke)
    };
    Ok(entropies.iter().enumerate().map(named).collect())
}

fn losses(settings: &Language, cells: &[&[Row]]) -> Result<Figure> {
    let panel = |title, y| Panel::new(title, Axis::linear("steps"), y);
    let networks = by_word(cells, NETWORK)?;
    let curve = |name, cell: &[Row], losses: &[Vec<f64>]| {
        let (colour, stroke) = look(name);
        let points = along(cell[0].series("held_out_steps")?, losses, extremes);
        Ok(Series::fitted(label(name), colour, points).with_interval(RANGE).drawn(stroke))
    };
    let held_out = panel("held-out loss", Axis::linear("loss (nats per token)"))
        .with_each(known(settings, &cells[0][0])?)
        .curves(&networks, |_, (name, cell)| curve(name, cell, &lists(cell, "held_out")?))?;
    let mut panels = vec![held_out];
    if settings.text.is_empty() {
        let excess = |row: &Row| {
            let source = row.number("source")?;
            Ok(row.series("held_out")?.iter().map(|loss| loss - source).collect())
        };
        let above = panel("above the chain's own law", Axis::log("excess loss (nats per token)"))
            .curves(&networks, |_, (name, cell)| {
                curve(name, cell, &cell.iter().map(excess).collect::<Result<Vec<_>>>()?)
            })?;
        panels.push(above);
    }
    Ok(Figure::fitting("language", "Training on language: held-out loss", 2, panels).captioned(format!(
        "Mean over {} sequences of {} tokens that are not trained on; lines and bands: mean and range over {} training \
         seeds. {} {}.",
        settings.evaluation.sequences,
        settings.context,
        settings.seeds,
        text(settings, &cells[0][0])?,
        training(settings, cells)?,
    )))
}

/// The text that is learnt, in words.
fn text(settings: &Language, row: &Row) -> Result<String> {
    let Language { vocabulary, tokens, order, concentration, .. } = settings;
    if !settings.text.is_empty() {
        let name = settings.text.replace('*', "");
        return Ok(format!(
            "Text: {name}, {vocabulary} tokens of vocabulary; dotted: the loss of the training part's frequencies of \
             tokens."
        ));
    }
    Ok(format!(
        "Text: {tokens} tokens from a Markov chain of order {order} over {vocabulary} symbols, transitions \
         Dirichlet({concentration}). Horizontal lines: exact entropies of a token given those before it. Sequences \
         begin without a past, so the least expected loss is {:.4}, not the entropy rate. Right: what the loss is \
         above that of the chain's own law on the same sequences, at least 0 in expectation.",
        row.number("least")?,
    ))
}

fn training(settings: &Language, cells: &[&[Row]]) -> Result<String> {
    let sizes = cells.iter().map(|cell| {
        let row = &cell[0];
        let [layers, width, heads] = [LAYERS, WIDTH, HEADS].map(|size| row.parameter(size.name));
        let (layers, width, heads, parameters) = (layers?, width?, heads?, row.number("parameters")?);
        let name = label(row.word(NETWORK.name)?);
        Ok(format!("{name} {layers} layers, width {width}, {heads} heads, {parameters} parameters"))
    });
    Ok(format!("{}. {}", schedule(&settings.plan, "sequences"), sizes.collect::<Result<Vec<_>>>()?.join("; ")))
}

fn depth(settings: &Language, cells: &[&[Row]]) -> Result<Option<Figure>> {
    let panels = depth_panels(&by_word(cells, NETWORK)?)?;
    if panels.is_empty() {
        return Ok(None);
    }
    let title = "Training on language: what the layers do to the tokens";
    Ok(Some(Figure::page("language_depth", title, 2, panels).captioned(format!(
        "Activations of {} held-out sequences by depth: mean and range over {} seeds. {} {}.",
        settings.evaluation.activations,
        settings.seeds,
        depth_caption(settings.evaluation.precision),
        training(settings, cells)?,
    ))))
}
