//! The figures of `vision`, from its rows.

use super::{MapSettings, Vision, is_baseline};
use crate::experiments::networks::{label, look, over_seeds};
use crate::quantities::*;
use attnlab_core::error::Result;
use attnlab_core::stats::mean;
use attnlab_lab::experiment::draw::{LEVEL, OVER_SEEDS, cells, mean_at, numbers};
use attnlab_lab::figure::{Axis, Cell, Figure, GREY, Heat, Panel, Point, Rule, Series, Stroke, Width};
use attnlab_lab::run::Row;

/// The figures of these settings, from their rows.
///
/// # Errors
/// When rows are missing or are not of this experiment.
pub fn figures(settings: &Vision, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells("vision", rows)?;
    let mut named: Vec<(String, &[Row])> = vec![];
    for cell in cells {
        named.push((cell[0].word(NETWORK.name)?.to_string(), cell));
    }
    let cells = named;
    let mut figures = vec![accuracy(settings, &cells)?];
    figures.extend(resolution(settings, &cells)?);
    for (name, cell) in &cells {
        if !is_baseline(name) && settings.maps.images > 0 {
            figures.push(maps(&settings.maps, name, &cell[0])?);
        }
    }
    Ok(figures)
}

fn words(name: &str) -> &str {
    match name {
        "aot-v" => "AoT-V",
        "aot-v-mhsa" => "AoT-V, MHSA",
        "vit" => "ViT",
        "crate" => "CRATE",
        "linear" => "linear",
        "neighbours" => "k-NN",
        other => label(other),
    }
}

fn colour(name: &str) -> (usize, Stroke) {
    match name {
        "aot-v" => (0, Stroke::Solid),
        "aot-v-mhsa" => (1, Stroke::Solid),
        "vit" => (3, Stroke::Solid),
        "crate" => (2, Stroke::Solid),
        other if is_baseline(other) => (GREY, Stroke::Dashed),
        other => look(other),
    }
}

fn accuracy(settings: &Vision, cells: &[(String, &[Row])]) -> Result<Figure> {
    let mut loss = Panel {
        title: "validation loss".into(),
        x: Axis::linear("steps"),
        y: Axis::linear("cross-entropy (nats)"),
        ..Panel::default()
    };
    let mut top1 = Panel {
        title: "top-1 accuracy on the test part".into(),
        x: Axis {
            ticks: cells.iter().enumerate().map(|(i, (name, _))| (i as f64, words(name).to_string())).collect(),
            ..Axis::linear("").from_to(-0.6, cells.len() as f64 - 0.4)
        },
        y: Axis::linear("top-1 accuracy"),
        ..Panel::default()
    };
    let mut quality = Panel {
        title: "heads find the shape".into(),
        x: Axis::whole("block"),
        y: Axis::linear("quality of a head"),
        rules: vec![Rule::horizontal("chance", 0.5)],
        ..Panel::default()
    };
    let mut sizes = vec![];
    for (i, (name, cell)) in cells.iter().enumerate() {
        let (colour, stroke) = colour(name);
        let accuracies = numbers(cell, "test")?;
        // A baseline has no seed: its interval is over images.
        let point = match is_baseline(name) {
            true => {
                let [value, low, high] = ["test", "test.low", "test.high"].map(|n| cell[0].number(n));
                Point::between(i as f64, value?, low?, high?)
            }
            false => mean_at(i as f64, &accuracies)?,
        };
        let shown = Series::measured(words(name), colour, vec![point]);
        top1.series.push(Series { stroke, band: false, ..shown.with_interval(OVER_SEEDS).unlisted() });
        if is_baseline(name) {
            continue;
        }
        let layers = cell[0].number("layers")?;
        sizes.push(format!(
            "{}: {} parameters in {layers} {}",
            words(name),
            cell[0].number("parameters")?,
            if layers == 1.0 { "block" } else { "blocks" },
        ));
        let steps = cell[0].series("held_out_steps")?;
        let points = over_seeds(cell, 0.0, &|row| row.series("held_out"))?;
        let points = points.into_iter().zip(steps);
        let points = points.map(|(p, step)| Point { x: step, ..p }).collect();
        let line = Series::fitted(words(name), colour, points).with_interval("range over seeds");
        loss.series.push(Series { stroke, ..line });
        for (when, stroke) in [("trained", stroke), ("untrained", Stroke::Dotted)] {
            let key = format!("{when}.best");
            if !cell[0].data.contains_key(&key) {
                continue;
            }
            let points = over_seeds(cell, 1.0, &|row| row.series(&key))?;
            let named = match when {
                "trained" => words(name).to_string(),
                _ => format!("{}, untrained", words(name)),
            };
            // The first block of a network of one has no line.
            let line = Series::measured(named, colour, points).with_interval("range over seeds");
            quality.series.push(Series { stroke, ..line });
        }
    }
    let ends = top1.series.iter().flat_map(|s| &s.points);
    let ends = ends.map(|p| p.interval.map_or(p.y, |(low, _)| low));
    let lowest = ends.fold(1.0, f64::min);
    // Down to a multiple of a tenth, with room for a marker; intervals of few seeds may reach below 0.
    let low = ((10.0 * lowest - 0.5).floor() / 10.0).max(0.0);
    top1.y.range = Some((low, 1.0 + 0.02 * (1.0 - low)));
    let mut panels = vec![loss, top1];
    panels.retain(|p| !p.series.is_empty());
    let masked = !quality.series.is_empty();
    if masked {
        panels.push(quality);
    }
    let images = match settings.images.as_str() {
        "" => format!("{} drawn images of {} shapes on noise", settings.shapes.count, settings.shapes.classes),
        path => format!("Images of {}", path.replace('*', "i").replace('_', " ")),
    };
    let heads = match masked {
        true => {
            " Quality of a head: probability that it gives a patch of the shape more weight from the class token than one \
             outside; of each block the head that is best on the validation part, judged on the test part, mean and range \
             over seeds; dotted: before training."
        }
        false => "",
    };
    let differences = differences(cells)?;
    Ok(Figure {
        name: "vision".into(),
        title: "Networks of images".into(),
        caption: format!(
            "{images}, {}² pixels in patches of {}²; {} % of each class for validation, {} % for the test. Lines and bands: \
             mean and range over {} training seeds; accuracy: 95 % intervals over seeds, of baselines over images. {}. {differences}{heads}",
            settings.side,
            settings.patch,
            100.0 * settings.validation,
            100.0 * settings.test,
            settings.seeds,
            sizes.join("; "),
        ),
        width: Width::Page,
        columns: panels.len(),
        panels,
    })
}

/// Accuracy at other sides than that of the training; None where no other was judged.
fn resolution(settings: &Vision, cells: &[(String, &[Row])]) -> Result<Option<Figure>> {
    let mut sides = settings.other_sides.clone();
    if sides.is_empty() || settings.networks.iter().all(|n| is_baseline(n)) {
        return Ok(None);
    }
    sides.push(settings.side);
    sides.sort_unstable();
    sides.dedup();
    let mut panel = Panel {
        x: Axis::linear("side of an image (pixels)").ticks_at(&sides.iter().map(|s| *s as f64).collect::<Vec<_>>()),
        y: Axis::linear("top-1 accuracy").from_to(0.0, 1.0),
        ..Panel::default()
    };
    for (name, cell) in cells.iter().filter(|(name, _)| !is_baseline(name)) {
        let (colour, stroke) = colour(name);
        let points = sides.iter().map(|side| {
            let at = format!("test.{side}");
            let own = if *side == settings.side { "test" } else { &at };
            mean_at(*side as f64, &numbers(cell, own)?)
        });
        let line = Series::measured(words(name), colour, points.collect::<Result<_>>()?);
        let line = line.with_interval(OVER_SEEDS);
        panel.series.push(Series { stroke, ..line });
        if panel.rules.is_empty() {
            let chance = cell[0].number("commonest")?;
            panel.rules =
                vec![Rule::horizontal("commonest class", chance), Rule::vertical("in training", settings.side as f64)];
        }
    }
    Ok(Some(Figure {
        name: "vision_resolution".into(),
        title: "Other resolutions than that of the training".into(),
        caption: format!(
            "Accuracy on the test part at sides of {} pixels in patches of {}², after training at {}; the grid of positions is \
             interpolated. Mean and 95 % interval over {} training seeds.",
            sides.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            settings.patch,
            settings.side,
            settings.seeds,
        ),
        width: Width::Column,
        columns: 1,
        panels: vec![panel],
    }))
}

/// Accuracy of the first network minus that of each other one, seed by seed, with its interval.
fn differences(cells: &[(String, &[Row])]) -> Result<String> {
    let mut networks = cells.iter().filter(|(name, _)| !is_baseline(name));
    let Some((first, own)) = networks.next() else {
        return Ok(String::new());
    };
    let own = numbers(own, "test")?;
    let mut words_of = vec![];
    for (other, cell) in networks {
        let theirs = numbers(cell, "test")?;
        let pairs: Vec<f64> = own.iter().zip(&theirs).map(|(a, b)| a - b).collect();
        if pairs.len() > 1 {
            let found = mean(&pairs, LEVEL)?;
            words_of.push(format!(
                "{} minus {}: {:.3} [{:.3}, {:.3}]",
                words(first),
                words(other),
                found.value,
                found.low,
                found.high
            ));
        }
    }
    Ok(match words_of.is_empty() {
        true => String::new(),
        false => format!("Accuracy, paired by seed, 95 % intervals: {}.", words_of.join("; ")),
    })
}

/// An image and maps of it, one row of panels per image.
fn maps(settings: &MapSettings, name: &str, row: &Row) -> Result<Figure> {
    let head = row.number("head")? as usize;
    let heads = row.number("heads")? as usize;
    let mut panels = vec![];
    for i in 0..settings.images {
        let Ok(shown) = row.series(&format!("shown.{i}")) else {
            break;
        };
        panels.push(square(&shown, "image", "intensity"));
        for (when, title) in [("trained", "chosen head"), ("untrained", "before training")] {
            let all = row.series(&format!("{when}.maps.{i}"))?;
            let patches = all.len() / heads;
            let own = &all[head * patches..(head + 1) * patches];
            panels.push(square(own, title, "weight"));
        }
        let all = row.series(&format!("trained.maps.{i}"))?;
        let patches = all.len() / heads;
        let mean = |p: usize| (0..heads).map(|h| all[h * patches + p]).sum::<f64>() / heads as f64;
        let mean: Vec<f64> = (0..patches).map(mean).collect();
        panels.push(square(&mean, "mean of all heads", "weight"));
    }
    let criterion = match row.data.contains_key("mask.0") {
        true => "the largest quality on the validation part",
        false => "the least entropy on the validation part",
    };
    Ok(Figure {
        name: format!("vision_maps_{}", name.replace('-', "_")),
        title: format!("What the class token of {} attends to", words(name)),
        caption: format!(
            "Weights of the class token on the patches of test images, block {} of {}, first seed. Chosen: head {} of {heads}, \
             by {criterion}; the same head before training; and the mean of all heads.",
            row.number("block")?,
            row.number("layers")?,
            head + 1,
        ),
        width: Width::Page,
        columns: 4,
        panels,
    })
}

/// Numbers of a square image, row by row from the top.
fn square(values: &[f64], title: &str, unit: &str) -> Panel {
    let n = (values.len() as f64).sqrt().round() as usize;
    let indices: Vec<f64> = (1..=n).map(|i| i as f64).collect();
    let largest = values.iter().copied().fold(0.0, f64::max);
    let bar = Axis::linear(unit).from_to(0.0, if largest > 0.0 { largest } else { 1.0 });
    let ticks = [1.0, n as f64];
    Panel {
        title: title.into(),
        square: true,
        x: Axis::linear("").ticks_at(&ticks),
        y: Axis::linear("").ticks_at(&ticks).downwards(),
        heat: Some(Heat::over(&indices, &indices, bar, |column, row| Cell::of(values[row * n + column]))),
        ..Panel::default()
    }
}
