//! CSV with numbers in full precision and series as JSON lists.

use super::{Column, Layout, Values};
use crate::run::store::Stored;
use attnlab_core::error::{Error, Result};
use attnlab_core::format::csv_cell;
use std::io::{self, Write};

/// Writes columns as CSV with a header. Infinities and NaN are `inf`, `-inf`, `NaN`, which pandas and
/// polars read; a series is a list such as `[1.5,2]`, with `Infinity`, `-Infinity` and `NaN` as
/// Python's `json` reads them; a text is as [`csv_cell`] writes it.
///
/// # Errors
/// The error of the system.
pub fn to_csv(columns: &[Column], rows: usize, to: &mut dyn Write) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(to);
    table.write_record(columns.iter().map(|c| csv_cell(&c.name)))?;
    lines(&mut table, columns, rows)?;
    table.flush()
}

/// Writes stored rows as CSV, as [`to_csv`] does, some thousands of them in memory at a time.
///
/// # Errors
/// When the rows cannot be read, or the file not written; the latter names no path.
pub fn write_csv(stored: &Stored, to: &mut dyn Write) -> Result<()> {
    let failed = |e| Error::unwritable("the table (CSV)", e);
    let layout = Layout::scan(stored)?;
    let mut table = csv::Writer::from_writer(to);
    // Without rows there are no names, and no header.
    if !layout.names.is_empty() {
        table.write_record(layout.names.iter().map(|name| csv_cell(name))).map_err(|e| failed(e.into()))?;
    }
    layout.for_each_block(stored, |columns, rows| lines(&mut table, columns, rows).map_err(failed))?;
    table.flush().map_err(failed)
}

fn lines<W: Write>(table: &mut csv::Writer<W>, columns: &[Column], rows: usize) -> io::Result<()> {
    for row in 0..rows {
        table.write_record(columns.iter().map(|c| field(&c.values, row)))?;
    }
    Ok(())
}

fn field(values: &Values, row: usize) -> String {
    match values {
        Values::Whole(v) => v[row].map(|x| x.to_string()),
        Values::Number(v) => v[row].map(|x| x.to_string()),
        Values::Flag(v) => v[row].map(|x| x.to_string()),
        Values::Text(v) => v[row].as_deref().map(csv_cell),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_no_formulas_and_numbers_stay_numbers() {
        let words =
            ["=HYPERLINK(\"x\")", "-", "@a", "\tb", "-0.5", "+1", "word"].map(|word| Some(word.into())).to_vec();
        let numbers = [-0.5, f64::NEG_INFINITY, -1e-300, 0.0, 1.0, 2.0].into_iter().map(Some).chain([None]).collect();
        let column = |name: &str, values| Column { name: name.into(), values };
        let columns = [column("data.word", Values::Text(words)), column("data.x", Values::Number(numbers))];
        let mut bytes = vec![];
        to_csv(&columns, 7, &mut bytes).unwrap();
        let small = format!("{}", -1e-300);
        let lines = [
            "data.word,data.x",
            "\"'=HYPERLINK(\"\"x\"\")\",-0.5",
            "'-,-inf",
            &format!("'@a,{small}"),
            "'\tb,0",
            "-0.5,1",
            "+1,2",
            "word,",
        ];
        assert_eq!(String::from_utf8(bytes).unwrap(), lines.join("\n") + "\n");
    }
}
