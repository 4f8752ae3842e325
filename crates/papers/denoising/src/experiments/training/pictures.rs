//! The figures of `denoise_training`, from its rows.

use super::DenoiseTraining;
use crate::quantities::cell::{EPOCHS, TASK, VARIANT};
use attnlab_core::stats::quantile;
use attnlab_lab::experiment::draw::{along, by_word, cells, ends, extremes, firsts, lasts, lists, with_word};
use attnlab_lab::figure::{Axis, GREY, INK, Palette, Panel, Series, Stroke};
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::Attention;

pub fn figures(settings: &DenoiseTraining, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells("denoise_training", rows)?;
    let mut figures = vec![];
    for variant in &settings.variants {
        let cells = with_word(&cells, VARIANT, variant);
        if !cells.is_empty() {
            figures.push(losses(settings, variant, &cells)?);
            for attention in Attention::ALL {
                figures.push(matrices(variant, attention, &cells)?);
            }
        }
    }
    Ok(figures)
}

fn whose(variant: &str) -> &'static str {
    if variant == "code" { "the authors' code" } else { "the paper's text" }
}

/// Title of the panel of a task.
fn title(task: &str) -> &'static str {
    match task {
        "subspace" => "linear subspaces",
        "sphere" => "spheres",
        _ => "Gaussian clusters",
    }
}

fn losses(settings: &DenoiseTraining, variant: &str, cells: &[&[Row]]) -> Result<Figure> {
    let (mut panels, mut stuck) = (vec![], vec![]);
    for (task, cell) in by_word(cells, TASK)? {
        let mut panel = Panel::new(title(task), Axis::linear("epoch"), Axis::linear("loss per component"))
            .with_each(baselines(cell, cell[0].parameter(EPOCHS.name)?)?);
        for (colour, attention) in Attention::ALL.into_iter().enumerate() {
            let name = attention.name();
            for (set, stroke) in [("train", Stroke::Solid), ("test", Stroke::Dotted)] {
                let points = along((0..).map(f64::from), &lists(cell, &format!("{name}.{set}"))?, extremes);
                let curve = Series::fitted(format!("{name} attention, {set}"), colour, points).drawn(stroke);
                let curve = curve.with_interval("least to largest of the seeds");
                panel = panel.with(if set == "test" { curve.unlisted() } else { curve });
            }
            let ends = lasts(cell, &format!("{name}.train"))?;
            let worse = ends.iter().filter(|l| **l > STUCK * quantile(&ends, 0.5)).count();
            if worse > 0 {
                stuck.push(format!("{worse} with {name} attention on {}", title(task)));
            }
        }
        panel = panel.with(Series::key("test prompts", GREY, Stroke::Dotted));
        // The first epochs of some seeds rise far above the loss of predicting zero.
        let (zero, low) = (baseline(cell, "zero")?, ends(panel.points().map(|p| p.y)).0);
        panel.y.range = Some((low - 0.08 * (zero - low), zero + 0.25 * (zero - low)));
        panels.push(panel);
    }
    let what = whose(variant);
    let setting = settings.variant(variant);
    let data = if setting.shared_data { "all seeds train on one data set" } else { "every seed has its own data" };
    let stuck = match stuck.as_slice() {
        [] => format!("No run ends more than {:.0} % above", (STUCK - 1.0) * 100.0),
        runs => format!("More than {:.0} % above ended: {}; that is,", (STUCK - 1.0) * 100.0, runs.join(", ")),
    };
    let training = &settings.training;
    let title = format!("Training one attention layer to denoise, settings of {what}");
    Ok(Figure::page(format!("denoise_training_{variant}"), title, 3, panels).captioned(format!(
        "Loss per component after each epoch, mean and full range over {} seeds, at the settings of {what}: *n* = {}, \
         *L* = {} clean tokens, {} training and {} test prompts, Adam at {} in batches of {}; {data}. Lines across: \
         what predictors that know the task lose on the training prompts, and attention with the weights that \
         Theorems 3.1 and 3.2 name. Dotted: the loss on test prompts. {stuck} the median training loss of its case.",
        cells[0].len(),
        settings.ambient,
        setting.context,
        training.train,
        training.test,
        training.rate,
        training.batch,
    )))
}

/// A run that ends this many times above the median of its case has found another minimum: the
/// spread of those that have not is some per cent.
const STUCK: f64 = 1.1;

/// Mean over the seeds of a baseline's loss on the training prompts.
fn baseline(cell: &[Row], name: &str) -> Result<f64> {
    Ok(firsts(cell, &format!("baseline.{name}"))?.iter().sum::<f64>() / cell.len() as f64)
}

fn baselines(cell: &[Row], epochs: f64) -> Result<Vec<Series>> {
    // Zero is far above the others: its line is named where it is.
    const SHOWN: [(&str, &str, usize, Stroke); 7] = [
        ("zero", "zero", GREY, Stroke::Dashed),
        ("projection", "projection *Px̃*", 3, Stroke::DashDotted),
        ("shrunk-projection", "best multiple of *Px̃*", 5, Stroke::DashDotted),
        ("code", "“Bayes” of the authors' code", INK, Stroke::Dotted),
        ("limit", "(A.6), clusters as points", 4, Stroke::DashDotted),
        ("theorem", "attention, the theorems' weights", 2, Stroke::Dashed),
        ("bayes", "Bayes", INK, Stroke::Dashed),
    ];
    let known = SHOWN.into_iter().filter(|(name, ..)| cell[0].data.contains_key(&format!("baseline.{name}")));
    let line = |(name, label, colour, stroke)| {
        let line = Series::across(label, colour, [0.0, epochs], baseline(cell, name)?).drawn(stroke);
        Ok(if name == "zero" { line.unlisted().tagged("predicting 0") } else { line })
    };
    known.map(line).collect()
}

/// The trained matrices of the first seed: W_KQ above W_PV, a column per task.
fn matrices(variant: &str, attention: Attention, cells: &[&[Row]]) -> Result<Figure> {
    let name = attention.name();
    let mut panels = vec![];
    for (key, symbol) in [("kq", "KQ"), ("pv", "PV")] {
        for (task, cell) in by_word(cells, TASK)? {
            let entries = cell[0].series(&format!("{name}.{key}"))?;
            let largest = entries.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            let title = format!("*W*_{{{symbol}}}, {}", title(task));
            let bar = Axis::linear("").from_to(-largest, largest);
            panels.push(Panel::matrix(title, ["column", "row"], &entries, bar, Palette::Diverging(0.0)));
        }
    }
    let file = format!("denoise_training_{variant}_weights_{name}");
    let title = format!("The trained weights of {name} attention");
    Ok(Figure::page(file, title, cells.len(), panels).captioned(format!(
        "Entries of the trained matrices of the first seed, {name} attention, settings of {}. Near multiples of the \
         identity. Colours run from minus to plus the largest entry.",
        whose(variant)
    )))
}
