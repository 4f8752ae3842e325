//! The figures of `language`, from its rows.

use super::Language;
use crate::experiments::networks::{depth_caption, depth_panels, label, look, over_seeds};
use crate::quantities::*;
use attnlab_core::error::Result;
use attnlab_lab::experiment::draw::cells;
use attnlab_lab::figure::{Axis, Figure, GREY, INK, Panel, Point, Series, Stroke, Width};
use attnlab_lab::run::Row;

pub fn figures(settings: &Language, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells("language", rows)?;
    let mut figures = vec![losses(settings, &cells)?];
    figures.extend(depth(settings, &cells)?);
    Ok(figures)
}

const BAND: &str = "range over seeds";

/// Name and rows of each network.
fn shown<'a>(cells: &[&'a [Row]]) -> Result<Vec<(&'a str, &'a [Row])>> {
    let one = |cell: &&'a [Row]| Ok((cell[0].word(NETWORK.name)?, *cell));
    cells.iter().map(one).collect()
}

/// `what` of a cell over the steps: mean and range over seeds.
fn over_steps(cell: &[Row], what: &dyn Fn(&Row) -> Result<Vec<f64>>) -> Result<Vec<Point>> {
    let steps = cell[0].series("held_out_steps")?;
    let points = over_seeds(cell, 0.0, what)?;
    let placed = points.into_iter().zip(steps);
    Ok(placed.map(|(p, step)| Point { x: step, ..p }).collect())
}

/// A horizontal line over all steps.
fn line(settings: &Language, name: &str, at: f64, (colour, stroke): (usize, Stroke)) -> Series {
    let ends = [0.0, settings.plan.steps as f64].map(|step| Point::at(step, at));
    Series { stroke, ..Series::predicted(name, colour, ends.to_vec()) }
}

/// Known values of the text: entropies of a chain, or the loss of bare frequencies.
fn known(settings: &Language, row: &Row) -> Result<Vec<Series>> {
    if !settings.text.is_empty() {
        let at = row.number("unigram")?;
        return Ok(vec![line(settings, "frequencies", at, (GREY, Stroke::Dotted))]);
    }
    let entropies = row.series("entropies")?;
    let last = entropies.len().saturating_sub(1);
    let named = |(seen, at): (usize, &f64)| {
        let (name, how) = match seen {
            _ if seen == last => ("entropy rate".into(), (INK, Stroke::Dashed)),
            0 => ("entropy of a token".into(), (GREY, Stroke::Dotted)),
            1 => ("entropy given the one before".into(), (INK, Stroke::Dotted)),
            _ => (format!("entropy given {seen} before"), (GREY, Stroke::Dashed)),
        };
        line(settings, &name, *at, how)
    };
    Ok(entropies.iter().enumerate().map(named).collect())
}

fn losses(settings: &Language, cells: &[&[Row]]) -> Result<Figure> {
    let steps = || Axis::linear("steps");
    let mut panels = vec![Panel {
        title: "held-out loss".into(),
        x: steps(),
        y: Axis::linear("loss (nats per token)"),
        series: known(settings, &cells[0][0])?,
        ..Panel::default()
    }];
    let mut above = Panel {
        title: "above the chain's own law".into(),
        x: steps(),
        y: Axis::log("excess loss (nats per token)"),
        ..Panel::default()
    };
    for (name, cell) in shown(cells)? {
        let (colour, stroke) = look(name);
        let curve = |what: &dyn Fn(&Row) -> Result<Vec<f64>>| {
            let points = over_steps(cell, what)?;
            let line = Series::fitted(label(name), colour, points).with_interval(BAND);
            Ok(Series { stroke, ..line })
        };
        panels[0].series.push(curve(&|row| row.series("held_out"))?);
        if settings.text.is_empty() {
            let excess = |row: &Row| {
                let own = row.number("source")?;
                let losses = row.series("held_out")?;
                Ok(losses.iter().map(|l| l - own).collect())
            };
            above.series.push(curve(&excess)?);
        }
    }
    if settings.text.is_empty() {
        panels.push(above);
    }
    Ok(Figure {
        name: "language".into(),
        title: "Training on language: held-out loss".into(),
        caption: format!(
            "Mean over {} sequences of {} tokens that are not trained on; lines and bands: mean and range \
             over {} training seeds. {} {}.",
            settings.evaluation.sequences,
            settings.context,
            settings.seeds,
            text(settings, &cells[0][0])?,
            training(settings, cells)?,
        ),
        width: if panels.len() > 1 { Width::Page } else { Width::Column },
        columns: panels.len(),
        panels,
    })
}

/// The text that is learnt, in words.
fn text(settings: &Language, row: &Row) -> Result<String> {
    if !settings.text.is_empty() {
        let name = settings.text.replace('*', "");
        return Ok(format!(
            "Text: {name}, {} tokens of vocabulary; dotted: the loss of the training part's frequencies of \
             tokens.",
            settings.vocabulary
        ));
    }
    Ok(format!(
        "Text: {} tokens from a Markov chain of order {} over {} symbols, transitions Dirichlet({}). \
         Horizontal lines: exact entropies of a token given those before it. Sequences begin without a \
         past, so the least expected loss is {:.4}, not the entropy rate. Right: what the loss is above \
         that of the chain's own law on the same sequences, at least 0 in expectation.",
        settings.tokens,
        settings.order,
        settings.vocabulary,
        settings.concentration,
        row.number("least")?,
    ))
}

fn training(settings: &Language, cells: &[&[Row]]) -> Result<String> {
    let plan = &settings.plan;
    let sizes = cells.iter().map(|cell| {
        let row = &cell[0];
        let size = |name: &str| row.parameter(name);
        Ok(format!(
            "{} {} layers, width {}, {} heads, {} parameters",
            label(row.word(NETWORK.name)?),
            size(LAYERS.name)?,
            size(WIDTH.name)?,
            size(HEADS.name)?,
            row.number("parameters")?,
        ))
    });
    Ok(format!(
        "{:?} for {} steps of {} sequences (rate {} after {} steps of warm-up, cosine to {}, clip {}). {}",
        plan.optimiser.kind,
        plan.steps,
        plan.batch,
        plan.rate.peak,
        plan.rate.warmup,
        plan.rate.last,
        plan.clip,
        sizes.collect::<Result<Vec<_>>>()?.join("; "),
    ))
}

fn depth(settings: &Language, cells: &[&[Row]]) -> Result<Option<Figure>> {
    let panels = depth_panels(&shown(cells)?)?;
    if panels.is_empty() {
        return Ok(None);
    }
    Ok(Some(Figure {
        name: "language_depth".into(),
        title: "Training on language: what the layers do to the tokens".into(),
        caption: format!(
            "Activations of {} held-out sequences by depth: mean and range over {} seeds. {} {}.",
            settings.evaluation.activations,
            settings.seeds,
            depth_caption(settings.evaluation.precision),
            training(settings, cells)?,
        ),
        width: Width::Page,
        columns: 2,
        panels,
    }))
}
