//! CSV with numbers in full precision and series as JSON lists.

use super::{Column, Values};
use std::io::{self, Write};

/// Writes columns as CSV with a header. Infinities and NaN are `inf`, `-inf`, `NaN`, which pandas and
/// polars read; a series is a list such as `[1.5,2]`, with `Infinity`, `-Infinity` and `NaN` as
/// Python's `json` reads them.
///
/// # Errors
/// The error of the system.
pub fn to_csv(columns: &[Column], rows: usize, to: &mut dyn Write) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(to);
    table.write_record(columns.iter().map(|c| &c.name))?;
    for row in 0..rows {
        table.write_record(columns.iter().map(|c| field(&c.values, row)))?;
    }
    table.flush()
}

fn field(values: &Values, row: usize) -> String {
    match values {
        Values::Whole(v) => v[row].map(|x| x.to_string()),
        Values::Number(v) => v[row].map(|x| x.to_string()),
        Values::Flag(v) => v[row].map(|x| x.to_string()),
        Values::Text(v) => v[row].clone(),
        Values::Series(v) => v[row].as_ref().map(|xs| {
            let items: Vec<String> = xs.iter().map(|x| json_number(*x)).collect();
            format!("[{}]", items.join(","))
        }),
    }
    .unwrap_or_default()
}

fn json_number(x: f64) -> String {
    match x {
        x if x.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        x => x.to_string(),
    }
}
