//! The numbers of a figure as one table, a line per point.

use super::model::{Axis, Figure, Panel};
use super::text::plain;
use attnlab_core::error::{Error, Result};
use attnlab_core::format::csv_cell;
use csv::Writer;

/// Columns of the table.
const HEADER: [&str; 12] =
    ["panel", "title", "series", "x_name", "x", "y_name", "y", "value_name", "value", "low", "high", "interval"];

/// Writes the table as CSV text, with one column per axis. A cell of a heat map is a line with the middle of
/// the cell in `x` and `y` and its number in `value`, which is empty for curves. `low` and `high` are the ends
/// of the interval of `value`, or of `y` for a curve, and `interval` is its kind; they are empty where there is
/// none. Contours and arrows, which are computed from the other numbers, are left out.
///
/// # Errors
/// When the table cannot be written.
pub fn to_csv(figure: &Figure) -> Result<String> {
    let failed = |e: &dyn std::fmt::Display| Error::unwritable("the table (CSV)", e);
    let mut table = Writer::from_writer(vec![]);
    table.write_record(HEADER).map_err(|e| failed(&e))?;
    for (i, panel) in figure.panels.iter().enumerate() {
        for record in records(i, panel) {
            table.write_record(&record).map_err(|e| failed(&e))?;
        }
    }
    let bytes = table.into_inner().map_err(|e| failed(&e))?;
    String::from_utf8(bytes).map_err(|e| failed(&e))
}

type Record = [String; 12];

/// Writes a coordinate: the number at its tick, where the axis has its own numbers, such as τ on an axis that is
/// drawn by the odds τ/(1 − τ); otherwise the coordinate itself.
fn coordinate(axis: &Axis, value: f64) -> String {
    let tick = axis.ticks.iter().find(|(place, _)| *place == value);
    let number = tick.map(|(_, label)| label).filter(|label| label.parse::<f64>().is_ok());
    number.cloned().unwrap_or_else(|| value.to_string())
}

/// Writes a label without its markup.
fn text(label: &str) -> String {
    csv_cell(&plain(label))
}

/// The three columns of an interval.
fn ends(interval: Option<(f64, f64)>, kind: &str) -> [String; 3] {
    interval.map_or_else(Default::default, |(low, high)| [low.to_string(), high.to_string(), kind.to_string()])
}

fn records(index: usize, panel: &Panel) -> Vec<Record> {
    let letter = char::from(b'a' + (index % 26) as u8).to_string();
    let [title, x_name, y_name] = [&panel.title, &panel.x.label, &panel.y.label].map(|label| text(label));
    let record = |series: &str, place: [String; 2], value: [String; 2], ends: [String; 3]| {
        let ([x, y], [value_name, value], [low, high, interval]) = (place, value, ends);
        let [letter, title, series, x_name, y_name] =
            [&letter, &title, &text(series), &x_name, &y_name].map(String::clone);
        [letter, title, series, x_name, x, y_name, y, value_name, value, low, high, interval]
    };
    let place = |x: f64, y: f64| [coordinate(&panel.x, x), coordinate(&panel.y, y)];
    let mut records = vec![];
    for series in &panel.series {
        for p in &series.points {
            let ends = ends(p.interval, &series.interval);
            records.push(record(&series.label, place(p.x, p.y), Default::default(), ends));
        }
    }
    for rule in &panel.rules {
        let place = match rule.vertical {
            true => [rule.at.to_string(), String::new()],
            false => [String::new(), rule.at.to_string()],
        };
        records.push(record(&rule.label, place, Default::default(), Default::default()));
    }
    if let Some(heat) = &panel.heat {
        let bar = text(&heat.bar.label);
        for (row, y) in heat.cells.iter().zip(&heat.y) {
            for (cell, x) in row.iter().zip(&heat.x) {
                let value = [bar.clone(), cell.value.to_string()];
                records.push(record("", place(*x, *y), value, ends(cell.interval, &heat.interval)));
            }
        }
    }
    records
}
