//! The figures of `denoise_training`, from its rows.

use super::DenoiseTraining;
use crate::quantities::cell::{EPOCHS, TASK, VARIANT};
use attnlab_core::error::{Error, Result};
use attnlab_core::stats::quantile;
use attnlab_lab::figure::{Axis, Cell, Figure, GREY, Heat, INK, Marker, Palette, Panel, Point, Series, Stroke, Width};
use attnlab_lab::run::Row;
use attnlab_lab::run::store::by_cell;
use attnlab_theory::dynamics::Attention;

pub fn figures(settings: &DenoiseTraining, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = by_cell(rows);
    let mut figures = vec![];
    for variant in &settings.variants {
        let of_variant = |cell: &&&[Row]| cell[0].word(VARIANT.name).is_ok_and(|v| v == variant);
        let own: Vec<&[Row]> = cells.iter().filter(of_variant).copied().collect();
        if own.is_empty() {
            continue;
        }
        figures.push(losses(settings, variant, &own)?);
        for attention in Attention::ALL {
            figures.push(matrices(variant, attention, &own)?);
        }
    }
    if figures.is_empty() {
        let problem = "no rows to draw; run the experiment first".into();
        return Err(Error::Content { path: "rows of denoise_training".into(), problem });
    }
    Ok(figures)
}

fn whose(variant: &str) -> &'static str {
    match variant {
        "code" => "the authors' code",
        _ => "the paper's text",
    }
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
    let mut panels = vec![];
    let mut stuck = vec![];
    for cell in cells {
        let task = cell[0].word(TASK.name)?;
        let mut panel = Panel {
            title: title(task).into(),
            x: Axis::linear("epoch"),
            y: Axis::linear("loss per component"),
            ..Panel::default()
        };
        let epochs = cell[0].parameter(EPOCHS.name)?;
        panel.series.extend(baselines(cell, epochs)?);
        for (colour, attention) in Attention::ALL.into_iter().enumerate() {
            for (set, stroke) in [("train", Stroke::Solid), ("test", Stroke::Dotted)] {
                let curves = series(cell, attention, set)?;
                let label = format!("{} attention, {set}", attention.name());
                panel.series.push(Series {
                    stroke,
                    unlisted: set == "test",
                    marker: Marker::None,
                    ..Series::measured(label, colour, mean_and_range(&curves))
                        .with_interval("least to largest of the seeds")
                });
            }
            let ends = ends(&series(cell, attention, "train")?);
            let worse = ends.iter().filter(|l| **l > STUCK * quantile(&ends, 0.5)).count();
            if worse > 0 {
                let name = attention.name();
                stuck.push(format!("{worse} with {name} attention on {}", title(task)));
            }
        }
        panel.series.push(Series::key("test prompts", GREY, Stroke::Dotted));
        // The first epochs of some seeds rise far above the loss of predicting zero.
        let zero = baseline(cell, "zero")?;
        let low = panel.series.iter().flat_map(|s| &s.points).map(|p| p.y);
        let low = low.fold(f64::INFINITY, f64::min);
        panel.y.range = Some((low - 0.08 * (zero - low), zero + 0.25 * (zero - low)));
        panels.push(panel);
    }
    let what = whose(variant);
    let setting = settings.variant(variant)?;
    let data = match setting.shared_data {
        true => "all seeds train on one data set",
        false => "every seed has its own data",
    };
    let stuck = match stuck.as_slice() {
        [] => format!("No run ends more than {:.0} % above", (STUCK - 1.0) * 100.0),
        runs => format!("More than {:.0} % above ended: {}; that is,", (STUCK - 1.0) * 100.0, runs.join(", ")),
    };
    Ok(Figure {
        name: format!("denoise_training_{variant}"),
        title: format!("Training one attention layer to denoise, settings of {what}"),
        caption: format!(
            "Loss per component after each epoch, mean and full range over {} seeds, at the settings of \
             {what}: *n* = {}, *L* = {} clean tokens, {} training and {} test prompts, Adam at {} in \
             batches of {}; {data}. Lines across: what predictors that know the task lose on the training \
             prompts, and attention with the weights that Theorems 3.1 and 3.2 name. Dotted: the loss on test \
             prompts. {stuck} the median \
             training loss of its case.",
            cells[0].len(),
            settings.ambient,
            setting.context,
            settings.training.train,
            settings.training.test,
            settings.training.rate,
            settings.training.batch,
        ),
        width: Width::Page,
        columns: 3,
        panels,
    })
}

/// A run that ends this many times above the median of its case has found another minimum: the
/// spread of those that have not is some per cent.
const STUCK: f64 = 1.1;

fn series(cell: &[Row], attention: Attention, set: &str) -> Result<Vec<Vec<f64>>> {
    let name = format!("{}.{set}", attention.name());
    cell.iter().map(|row| row.series(&name)).collect()
}

fn ends(curves: &[Vec<f64>]) -> Vec<f64> {
    curves.iter().filter_map(|c| c.last().copied()).collect()
}

fn mean_and_range(curves: &[Vec<f64>]) -> Vec<Point> {
    let epochs = curves.iter().map(Vec::len).min().unwrap_or(0);
    let at = |e: usize| {
        let values = || curves.iter().map(|c| c[e]);
        let mean = values().sum::<f64>() / curves.len() as f64;
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        Point::between(e as f64, mean, low, high)
    };
    (0..epochs).map(at).collect()
}

/// Mean over the seeds of a baseline's loss on the training prompts.
fn baseline(cell: &[Row], name: &str) -> Result<f64> {
    let key = format!("baseline.{name}");
    let mut sum = 0.0;
    for row in cell {
        sum += row.series(&key)?.first().copied().unwrap_or(f64::NAN);
    }
    Ok(sum / cell.len() as f64)
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
    let mut all = vec![];
    for (name, label, colour, stroke) in SHOWN {
        if !cell[0].data.contains_key(&format!("baseline.{name}")) {
            continue;
        }
        let at = baseline(cell, name)?;
        let points = vec![Point::at(0.0, at), Point::at(epochs, at)];
        let line = Series::predicted(label, colour, points).drawn(stroke);
        all.push(match name {
            "zero" => line.unlisted().tagged("predicting 0"),
            _ => line,
        });
    }
    Ok(all)
}

/// The trained matrices of the first seed: W_KQ above W_PV, a column per task.
fn matrices(variant: &str, attention: Attention, cells: &[&[Row]]) -> Result<Figure> {
    let mut panels = vec![];
    for (key, symbol) in [("kq", "KQ"), ("pv", "PV")] {
        for cell in cells {
            let entries = cell[0].series(&format!("{}.{key}", attention.name()))?;
            let name = title(cell[0].word(TASK.name)?);
            panels.push(matrix(&entries, format!("*W*_{{{symbol}}}, {name}")));
        }
    }
    let name = attention.name();
    Ok(Figure {
        name: format!("denoise_training_{variant}_weights_{name}"),
        title: format!("The trained weights of {name} attention"),
        caption: format!(
            "Entries of the trained matrices of the first seed, {name} attention, settings of \
             {}. Near multiples of the identity. Colours run from minus to plus \
             the largest entry.",
            whose(variant)
        ),
        width: Width::Page,
        columns: cells.len(),
        panels,
    })
}

/// A square matrix given row by row.
fn matrix(entries: &[f64], title: String) -> Panel {
    let n = (entries.len() as f64).sqrt().round() as usize;
    let indices: Vec<f64> = (1..=n).map(|i| i as f64).collect();
    let largest = entries.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let bar = Axis::linear("").from_to(-largest, largest);
    let ticks = [1.0, n as f64];
    Panel {
        title,
        square: true,
        x: Axis::linear("column").ticks_at(&ticks),
        y: Axis::linear("row").ticks_at(&ticks).downwards(),
        heat: Some(Heat {
            palette: Palette::Diverging(0.0),
            ..Heat::over(&indices, &indices, bar, |column, row| Cell::of(entries[row * n + column]))
        }),
        ..Panel::default()
    }
}
