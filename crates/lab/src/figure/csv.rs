//! The numbers of a figure as one table, a line per point.

use super::model::{Figure, Panel};
use super::text::plain;
use attnlab_core::error::{Error, Result};
use csv::Writer;

/// Columns of the table.
const HEADER: [&str; 10] = [
    "panel", "title", "series", "x_name", "x", "y_name", "y", "low", "high", "interval",
];

/// Writes the table as CSV text. `low` and `high` are the ends of the interval and `interval` is its kind;
/// they are empty where a point has none. Cells of a heat map are points at the cells' middles. Contours
/// and arrows, which are computed from the other numbers, are left out.
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

fn records(index: usize, panel: &Panel) -> Vec<[String; 10]> {
    let letter = char::from(b'a' + (index % 26) as u8).to_string();
    let (title, x_name) = (plain(&panel.title), plain(&panel.x.label));
    let record = |series: &str, x: f64, y_name: &str, y: f64, ends: [String; 3]| {
        let [low, high, interval] = ends;
        [
            letter.clone(),
            title.clone(),
            plain(series),
            x_name.clone(),
            x.to_string(),
            y_name.to_string(),
            y.to_string(),
            low,
            high,
            interval,
        ]
    };
    let mut all = vec![];
    for series in &panel.series {
        for p in &series.points {
            let ends = p.interval.map_or_else(Default::default, |(low, high)| {
                [low.to_string(), high.to_string(), series.interval.clone()]
            });
            all.push(record(
                &series.label,
                p.x,
                &plain(&panel.y.label),
                p.y,
                ends,
            ));
        }
    }
    for rule in &panel.rules {
        let (x, y) = if rule.vertical {
            (rule.at, f64::NAN)
        } else {
            (f64::NAN, rule.at)
        };
        all.push(record(
            &rule.label,
            x,
            &plain(&panel.y.label),
            y,
            Default::default(),
        ));
    }
    if let Some(heat) = &panel.heat {
        for (row, y) in heat.cells.iter().zip(&heat.y) {
            for (cell, x) in row.iter().zip(&heat.x) {
                let place = format!("{} = {y}", plain(&panel.y.label));
                let ends = cell.interval.map_or_else(Default::default, |(low, high)| {
                    [low.to_string(), high.to_string(), heat.interval.clone()]
                });
                all.push(record(
                    &place,
                    *x,
                    &plain(&heat.bar.label),
                    cell.value,
                    ends,
                ));
            }
        }
    }
    all
}
