//! The figure of `evaluate`, from its rows: readings on the horizontal axis, by their numbers in the table.

use super::{Evaluate, READING, VARIANT, VARIANTS};
use crate::evaluate::Task;
use crate::evaluate::printed::{ZERO_SHOT, comparable};
use attnlab_core::error::Result;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{cells, panel};
use attnlab_lab::figure::{Axis, Figure, Panel, Point, Rule, Series, Width};
use attnlab_lab::run::Row;
use attnlab_lab::run::store::as_number;
use serde_json::Value;

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
    let mut parts = vec![];
    for name in [super::DETOKENISE, super::WINDOW, super::STRIDE, "context", "batch"] {
        match row.parameters.get(name) {
            Some(Value::String(word)) => parts.push(word.clone()),
            Some(value) => parts.push(format!("{name} {value}")),
            None => {}
        }
    }
    parts.join(", ")
}

/// Numbers readings from 1, in the order of the rows: a row of the control has the number of the network's own.
pub(crate) fn numbered(rows: &[&Row]) -> Result<Vec<(usize, String)>> {
    let mut known: Vec<String> = vec![];
    let mut found = vec![];
    for row in rows {
        let words = format!("{} ({})", row.word(READING)?, choice(row));
        let number = match known.iter().position(|k| *k == words) {
            Some(i) => i,
            None => {
                known.push(words.clone());
                known.len() - 1
            }
        };
        found.push((number + 1, words));
    }
    Ok(found)
}

/// The figures of these settings, from their rows.
///
/// # Errors
/// When rows are missing or are not of this experiment.
pub(super) fn figures(settings: &Evaluate, rows: &[Row]) -> Result<Vec<Figure>> {
    let rows: Vec<&Row> = cells(Evaluate::NAME, rows)?.iter().map(|cell| &cell[0]).collect();
    let numbers = numbered(&rows)?;
    let mut panels: Vec<Panel> = vec![];
    for (unit, title, label) in UNITS {
        let own: Vec<(&Row, usize)> = rows
            .iter()
            .zip(&numbers)
            .filter(|(row, _)| row.data.get("unit").and_then(Value::as_str) == Some(unit))
            .map(|(row, (number, _))| (*row, *number))
            .collect();
        let ends = own.iter().fold((usize::MAX, 0), |(l, h), (_, n)| (l.min(*n), h.max(*n)));
        if own.is_empty() {
            continue;
        }
        let x = Axis::whole("reading").from_to(ends.0 as f64 - 0.5, ends.1 as f64 + 0.5);
        let mut found = panel(title, x, Axis::linear(label));
        for (colour, (variant, words)) in VARIANTS.into_iter().enumerate() {
            let points: Vec<Point> = own
                .iter()
                .filter(|(row, _)| row.word(VARIANT).is_ok_and(|v| v == variant))
                .filter_map(|(row, number)| {
                    let get = |name: &str| row.data.get(name).and_then(as_number);
                    let x = *number as f64 + 0.15 * colour as f64;
                    let value = get("value")?;
                    Some(match (get("low"), get("high")) {
                        (Some(low), Some(high)) if low.is_finite() => Point::between(x, value, low, high),
                        _ => Point::at(x, value),
                    })
                })
                .collect();
            if !points.is_empty() {
                let series =
                    Series { stroke: attnlab_lab::figure::Stroke::None, ..Series::measured(words, colour, points) };
                found.series.push(series);
            }
        }
        if settings.task == Task::Lambada && unit == "accuracy" {
            let last = &ZERO_SHOT[ZERO_SHOT.len() - 1];
            for i in comparable(settings.task, "last word") {
                found.rules.push(Rule::horizontal("GPT-2 Base in print", last.values[*i]));
            }
        }
        panels.push(found);
    }
    let mut words: Vec<(usize, String)> = numbers;
    words.sort();
    words.dedup();
    let words: Vec<String> = words.into_iter().map(|(n, words)| format!("{n}: {words}")).collect();
    let network = settings.network.file_stem().unwrap_or_default();
    let network = network.to_string_lossy().replace(['*', '_'], " ");
    Ok(vec![Figure {
        name: Evaluate::NAME.into(),
        title: format!("{network} on {}, by reading", settings.task.name()),
        caption: format!(
            "Bars: {} % intervals (accuracy: exact, over items; losses: Student, over passages or blocks of one window); of \
             times least and largest. Random weights: the same architecture before training. {}.",
            100.0 * settings.level,
            words.join("; ")
        ),
        width: Width::Page,
        columns: panels.len().clamp(1, 2),
        panels,
    }])
}
