//! The figure of `evaluate`, from its rows: readings on the horizontal axis, by their numbers in the table.

use super::{Evaluate, READING, VARIANT, VARIANTS};
use crate::evaluate::Task;
use crate::evaluate::printed::{ZERO_SHOT, comparable};
use attnlab_lab::experiment::draw::{cells, ends};
use attnlab_lab::figure::{Axis, Panel, Point, Rule, Series, Stroke};
use attnlab_lab::prelude::*;
use attnlab_lab::run::store::as_number;

/// Units of readings: name in the rows, title of the panel, label of its axis.
const UNITS: [(&str, &str, &str); 5] = [
    ("accuracy", "accuracy", "accuracy"),
    ("nats per token", "loss per token", "loss (nats per token)"),
    ("nats per word", "loss per word", "loss (nats per word)"),
    ("nats per byte", "loss per byte", "loss (nats per byte)"),
    ("seconds", "time", "seconds per pass"),
];

/// A row's choices in words: detokeniser, and window and stride of a text.
pub(crate) fn choice(row: &Row) -> String {
    let part = |name: &str| match row.parameters.get(name)? {
        Value::String(word) => Some(word.clone()),
        value => Some(format!("{name} {value}")),
    };
    let names = [super::DETOKENISE, super::WINDOW, super::STRIDE, "context", "batch"];
    names.into_iter().filter_map(part).collect::<Vec<_>>().join(", ")
}

/// Numbers readings from 1, in the order of the rows: a row of the control has the number of the network's own.
pub(crate) fn numbered(rows: &[&Row]) -> Result<Vec<(usize, String)>> {
    let mut known: Vec<String> = vec![];
    let number = |row: &&Row| {
        let words = format!("{} ({})", row.word(READING)?, choice(row));
        let place = known.iter().position(|k| *k == words).unwrap_or_else(|| {
            known.push(words.clone());
            known.len() - 1
        });
        Ok((place + 1, words))
    };
    rows.iter().map(number).collect()
}

pub(super) fn figures(settings: &Evaluate, rows: &[Row]) -> Result<Vec<Figure>> {
    let rows: Vec<&Row> = cells(Evaluate::NAME, rows)?.iter().map(|cell| &cell[0]).collect();
    let numbers = numbered(&rows)?;
    let mut panels: Vec<Panel> = vec![];
    for (unit, title, label) in UNITS {
        let of_unit = |row: &Row| row.data.get("unit").and_then(Value::as_str) == Some(unit);
        let readings = rows.iter().zip(&numbers).filter(|(row, _)| of_unit(row));
        let readings: Vec<(&Row, f64)> = readings.map(|(row, (number, _))| (*row, *number as f64)).collect();
        if readings.is_empty() {
            continue;
        }
        let (first, last) = ends(readings.iter().map(|(_, number)| *number));
        let x = Axis::whole("reading").from_to(first - 0.5, last + 0.5);
        let mut panel = Panel::new(title, x, Axis::linear(label));
        for (colour, (variant, words)) in VARIANTS.into_iter().enumerate() {
            let point = |(row, number): &(&Row, f64)| {
                let get = |name: &str| row.data.get(name).and_then(as_number);
                let interval = get("low").zip(get("high")).filter(|(low, _)| low.is_finite());
                Some(Point { x: number + 0.15 * colour as f64, y: get("value")?, interval })
            };
            let of_variant = readings.iter().filter(|(row, _)| row.word(VARIANT).is_ok_and(|v| v == variant));
            let series = Series::measured(words, colour, of_variant.filter_map(point).collect());
            panel = panel.with_any(series.drawn(Stroke::None));
        }
        if settings.task == Task::Lambada && unit == "accuracy" {
            let last = &ZERO_SHOT[ZERO_SHOT.len() - 1];
            for i in comparable(settings.task, "last word") {
                panel = panel.ruled(Rule::horizontal("GPT-2 Base in print", last.values[*i]));
            }
        }
        panels.push(panel);
    }
    let mut words = numbers;
    words.sort();
    words.dedup();
    let words: Vec<String> = words.into_iter().map(|(n, words)| format!("{n}: {words}")).collect();
    let network = attnlab_networks::title(&settings.network);
    let title = format!("{network} on {}, by reading", settings.task.name());
    Ok(vec![Figure::page(Evaluate::NAME, title, panels.len().clamp(1, 2), panels).captioned(format!(
        "Bars: {} % intervals (accuracy: exact, over items; losses: Student, over passages or blocks of one window); \
         of times least and largest. Random weights: the same architecture before training. {}.",
        100.0 * settings.level,
        words.join("; ")
    ))])
}
