//! The figures of `vision`, from its rows.

use super::{LINEAR, MapSettings, NEIGHBOURS, Vision, is_baseline};
use crate::experiments::networks::{label, look};
use crate::quantities::*;
use attnlab_core::stats::mean;
use attnlab_lab::experiment::draw::{
    LEVEL, OVER_SEEDS, RANGE, along, by_word, cells, extremes, lists, numbers, student,
};
use attnlab_lab::figure::{Axis, GREY, Palette, Panel, Point, Rule, Series, Stroke};
use attnlab_lab::prelude::*;

pub fn figures(settings: &Vision, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells("vision", rows)?;
    let cells = by_word(&cells, NETWORK)?;
    let mut figures = vec![accuracy(settings, &cells)?];
    figures.extend(resolution(settings, &trained(&cells))?);
    if settings.maps.images > 0 {
        for (name, cell) in trained(&cells) {
            figures.push(maps(&settings.maps, name, &cell[0])?);
        }
    }
    Ok(figures)
}

/// Name and rows of a network or baseline.
type Named<'a> = (&'a str, &'a [Row]);

/// The networks without the baselines.
fn trained<'a>(cells: &[Named<'a>]) -> Vec<Named<'a>> {
    cells.iter().filter(|(name, _)| !is_baseline(name)).copied().collect()
}

/// Legend, colour and stroke of what has a name of its own here.
const LOOKS: [(&str, &str, usize, Stroke); 6] = [
    ("aot-v", "AoT-V", 0, Stroke::Solid),
    ("aot-v-mhsa", "AoT-V, MHSA", 1, Stroke::Solid),
    ("vit", "ViT", 3, Stroke::Solid),
    ("crate", "CRATE", 2, Stroke::Solid),
    (LINEAR, "linear", GREY, Stroke::Dashed),
    (NEIGHBOURS, "k-NN", GREY, Stroke::Dashed),
];

fn words(name: &str) -> &str {
    LOOKS.iter().find(|(id, ..)| *id == name).map_or(label(name), |(_, words, ..)| words)
}

fn colour(name: &str) -> (usize, Stroke) {
    LOOKS.iter().find(|(id, ..)| *id == name).map_or(look(name), |(_, _, colour, stroke)| (*colour, *stroke))
}

fn accuracy(settings: &Vision, cells: &[Named]) -> Result<Figure> {
    let networks = trained(cells);
    let loss = Panel::new("validation loss", Axis::linear("steps"), Axis::linear("cross-entropy (nats)")).curves(
        &networks,
        |_, (name, cell)| {
            let (colour, stroke) = colour(name);
            let points = along(cell[0].series("held_out_steps")?, &lists(cell, "held_out")?, extremes);
            Ok(Series::fitted(words(name), colour, points).with_interval(RANGE).drawn(stroke))
        },
    )?;
    let ticks = cells.iter().enumerate().map(|(i, (name, _))| (i as f64, words(name).to_string()));
    let mut top1 = Panel::new(
        "top-1 accuracy on the test part",
        Axis::linear("").from_to(-0.6, cells.len() as f64 - 0.4).ticks_named(ticks),
        Axis::linear("top-1 accuracy"),
    )
    .curves(cells, |i, (name, cell)| {
        let (colour, stroke) = colour(name);
        // A baseline has no seed: its interval is over images.
        let point = match is_baseline(name) {
            true => {
                let [value, low, high] = ["test", "test.low", "test.high"].map(|n| cell[0].number(n));
                Point::between(i as f64, value?, low?, high?)
            }
            false => Point::at(i as f64, student(&numbers(cell, "test")?)?),
        };
        let shown = Series::measured(words(name), colour, vec![point]).with_bars().drawn(stroke);
        Ok(shown.with_interval(OVER_SEEDS).unlisted())
    })?;
    let mut quality = Panel::new("heads find the shape", Axis::whole("block"), Axis::linear("quality of a head"))
        .ruled(Rule::horizontal("chance", 0.5));
    let mut sizes = vec![];
    for (name, cell) in &networks {
        let (colour, stroke) = colour(name);
        let (layers, parameters) = (cell[0].number("layers")?, cell[0].number("parameters")?);
        let blocks = if layers == 1.0 { "block" } else { "blocks" };
        sizes.push(format!("{}: {parameters} parameters in {layers} {blocks}", words(name)));
        for (when, stroke) in [("trained", stroke), ("untrained", Stroke::Dotted)] {
            let key = format!("{when}.best");
            if !cell[0].data.contains_key(&key) {
                continue;
            }
            let points = along((1..).map(f64::from), &lists(cell, &key)?, extremes);
            let untrained = if when == "untrained" { ", untrained" } else { "" };
            let named = format!("{}{untrained}", words(name));
            // The first block of a network of one has no line.
            quality = quality.with(Series::measured(named, colour, points).with_interval(RANGE).drawn(stroke));
        }
    }
    let lowest = top1.points().map(Point::low).fold(1.0, f64::min);
    // Down to a multiple of a tenth, with room for a marker; intervals of few seeds may reach below 0.
    let low = ((10.0 * lowest - 0.5).floor() / 10.0).max(0.0);
    top1.y.range = Some((low, 1.0 + 0.02 * (1.0 - low)));
    let masked = !quality.series.is_empty();
    let mut panels = vec![loss, top1, quality];
    panels.retain(|p| !p.series.is_empty());
    let Vision { side, patch, seeds, .. } = settings;
    let images = match settings.images.as_str() {
        "" => format!("{} drawn images of {} shapes on noise", settings.shapes.count, settings.shapes.classes),
        path => format!("Images of {}", path.replace('*', "i").replace('_', " ")),
    };
    let heads = match masked {
        true => {
            " Quality of a head: probability that it gives a patch of the shape more weight from the class token than \
             one outside; of each block the head that is best on the validation part, judged on the test part, mean \
             and range over seeds; dotted: before training."
        }
        false => "",
    };
    Ok(Figure::page("vision", "Networks of images", panels.len(), panels).captioned(format!(
        "{images}, {side}² pixels in patches of {patch}²; {} % of each class for validation, {} % for the test. Lines \
         and bands: mean and range over {seeds} training seeds; accuracy: 95 % intervals over seeds, of baselines \
         over images. {}. {}{heads}",
        100.0 * settings.validation,
        100.0 * settings.test,
        sizes.join("; "),
        differences(&networks)?,
    )))
}

/// Accuracy at other sides than that of the training; None where no other was judged.
fn resolution(settings: &Vision, networks: &[Named]) -> Result<Option<Figure>> {
    let mut sides = settings.other_sides.clone();
    if sides.is_empty() || settings.networks.iter().all(|n| is_baseline(n)) {
        return Ok(None);
    }
    sides.push(settings.side);
    sides.sort_unstable();
    sides.dedup();
    let mut panel = Panel::new(
        "",
        Axis::linear("side of an image (pixels)").ticks_at(&sides.iter().map(|s| *s as f64).collect::<Vec<_>>()),
        Axis::linear("top-1 accuracy").from_to(0.0, 1.0),
    )
    .curves(networks, |_, (name, cell)| {
        let (colour, stroke) = colour(name);
        let points = sides.iter().map(|side| {
            let other = format!("test.{side}");
            let test = if *side == settings.side { "test" } else { &other };
            Ok(Point::at(*side as f64, student(&numbers(cell, test)?)?))
        });
        let line = Series::measured(words(name), colour, points.collect::<Result<_>>()?);
        Ok(line.with_interval(OVER_SEEDS).drawn(stroke))
    })?;
    if let Some((_, cell)) = networks.first() {
        panel.rules.push(Rule::horizontal("commonest class", cell[0].number("commonest")?));
        panel.rules.push(Rule::vertical("in training", settings.side as f64));
    }
    let title = "Other resolutions than that of the training";
    Ok(Some(Figure::column("vision_resolution", title, vec![panel]).captioned(format!(
        "Accuracy on the test part at sides of {} pixels in patches of {}², after training at {}; the grid of \
         positions is interpolated. Mean and 95 % interval over {} training seeds.",
        sides.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        settings.patch,
        settings.side,
        settings.seeds,
    ))))
}

/// Accuracy of the first network minus that of each other one, seed by seed, with its interval.
fn differences(networks: &[Named]) -> Result<String> {
    let Some(((first, cell), others)) = networks.split_first() else { return Ok(String::new()) };
    let accuracies = numbers(cell, "test")?;
    let mut differences = vec![];
    for (other, cell) in others {
        let pairs: Vec<f64> = accuracies.iter().zip(numbers(cell, "test")?).map(|(a, b)| a - b).collect();
        if pairs.len() > 1 {
            let e = mean(&pairs, LEVEL)?;
            let (first, other) = (words(first), words(other));
            differences.push(format!("{first} minus {other}: {:.3} [{:.3}, {:.3}]", e.value, e.low, e.high));
        }
    }
    let words = format!("Accuracy, paired by seed, 95 % intervals: {}.", differences.join("; "));
    Ok(if differences.is_empty() { String::new() } else { words })
}

/// An image and maps of it, one row of panels per image.
fn maps(settings: &MapSettings, name: &str, row: &Row) -> Result<Figure> {
    let [head, heads] = ["head", "heads"].map(|name| row.number(name));
    let (head, heads) = (head? as usize, heads? as usize);
    let mut panels = vec![];
    for i in 0..settings.images {
        let Ok(shown) = row.series(&format!("shown.{i}")) else { break };
        let [trained, untrained] = ["trained", "untrained"].map(|when| row.series(&format!("{when}.maps.{i}")));
        let (trained, untrained) = (trained?, untrained?);
        let patches = trained.len() / heads;
        let of_head = |maps: &[f64]| maps[head * patches..(head + 1) * patches].to_vec();
        let mean = |p: usize| (0..heads).map(|h| trained[h * patches + p]).sum::<f64>() / heads as f64;
        panels.push(square(&shown, "image", "intensity"));
        panels.push(square(&of_head(&trained), "chosen head", "weight"));
        panels.push(square(&of_head(&untrained), "before training", "weight"));
        panels.push(square(&(0..patches).map(mean).collect::<Vec<_>>(), "mean of all heads", "weight"));
    }
    let criterion = if row.data.contains_key("mask.0") { "the largest quality" } else { "the least entropy" };
    let title = format!("What the class token of {} attends to", words(name));
    Ok(Figure::page(format!("vision_maps_{}", name.replace('-', "_")), title, 4, panels).captioned(format!(
        "Weights of the class token on the patches of test images, block {} of {}, first seed. Chosen: head {} of \
         {heads}, by {criterion} on the validation part; the same head before training; and the mean of all heads.",
        row.number("block")?,
        row.number("layers")?,
        head + 1,
    )))
}

/// Numbers of a square image, row by row from the top.
fn square(values: &[f64], title: &str, unit: &str) -> Panel {
    let largest = values.iter().copied().fold(0.0, f64::max);
    let bar = Axis::linear(unit).from_to(0.0, if largest > 0.0 { largest } else { 1.0 });
    Panel::matrix(title, ["", ""], values, bar, Palette::Sequential)
}
