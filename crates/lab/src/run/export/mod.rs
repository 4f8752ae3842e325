//! Rows as a table for other programs: flat columns, in CSV or (feature `parquet`) Parquet.
//!
//! Columns are named by their path in a row: `cell`, `trial`, `parameters.tokens`,
//! `data.witness.layer`. A column has one type; where a row has no such value it is empty.

mod csv;
#[cfg(feature = "parquet")]
mod parquet;

pub use csv::{to_csv, write_csv};
#[cfg(feature = "parquet")]
pub use parquet::{to_parquet, write_parquet};

use super::Row;
use super::store::{Stored, as_number, as_series};
use attnlab_core::error::{Error, Result};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Path in a row, with dots.
    pub name: String,
    /// One value per row.
    pub values: Values,
}

/// The values of a column, all of one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers ≥ 0.
    Whole(Vec<Option<u64>>),
    /// Numbers, with the words of [`store::number`](super::store::number) for infinities and NaN.
    Number(Vec<Option<f64>>),
    /// Flags: true or false.
    Flag(Vec<Option<bool>>),
    /// Lists of numbers: series.
    Series(Vec<Option<Vec<f64>>>),
    /// Texts, or JSON if the values of the rows differ in type.
    Text(Vec<Option<String>>),
}

/// Converts rows to columns, in the order in which they first occur.
///
/// # Errors
/// When a row has no JSON form.
///
/// ```
/// use attnlab_lab::run::Row;
/// use attnlab_lab::run::export::{Values, columns};
/// use attnlab_lab::run::store::Manifest;
/// use serde_json::{Map, json};
/// let manifest = Manifest::new("demo", 5, Map::new());
/// let data = json!({"snr": [1.5, "inf"], "seen": {"layer": 3}}).as_object().unwrap().clone();
/// let rows = [Row::new(&manifest, 7, 0, Map::new(), data)];
/// let columns = columns(&rows)?;
/// let find = |name: &str| &columns.iter().find(|c| c.name == name).unwrap().values;
/// assert_eq!(*find("data.seen.layer"), Values::Whole(vec![Some(3)]));
/// assert_eq!(*find("data.snr"), Values::Series(vec![Some(vec![1.5, f64::INFINITY])]));
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn columns(rows: &[Row]) -> Result<Vec<Column>> {
    let mut layout = Layout::default();
    rows.iter().try_for_each(|row| layout.add(row))?;
    layout.columns(rows)
}

/// Number of rows that are converted at a time.
const BLOCK: usize = 1 << 14;

/// Names and types of the columns of many rows, found in a first pass over them.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    names: Vec<String>,
    fits: Vec<Fits>,
    place: HashMap<String, usize>,
}

/// Types that fit every value of a column so far. Every value fits a text.
#[derive(Clone, Copy, Debug)]
struct Fits {
    whole: bool,
    number: bool,
    flag: bool,
    series: bool,
}

impl Layout {
    /// Finds the columns of stored rows.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub fn scan(stored: &Stored) -> Result<Layout> {
        let mut layout = Layout::default();
        stored.for_each(|row| layout.add(row))?;
        Ok(layout)
    }

    /// Adds the columns of a row.
    ///
    /// # Errors
    /// When the row has no JSON form.
    pub fn add(&mut self, row: &Row) -> Result<()> {
        for (name, value) in flat(row)? {
            let place = *self.place.entry(name).or_insert_with_key(|name| {
                self.names.push(name.clone());
                self.fits.push(Fits { whole: true, number: true, flag: true, series: true });
                self.names.len() - 1
            });
            let fits = &mut self.fits[place];
            fits.whole &= value.is_u64();
            fits.number &= as_number(&value).is_some();
            fits.flag &= value.is_boolean();
            fits.series &= as_series(&value).is_some();
        }
        Ok(())
    }

    /// Converts rows to these columns; a value that another type would need is left out.
    ///
    /// # Errors
    /// When a row has no JSON form.
    pub fn columns(&self, rows: &[Row]) -> Result<Vec<Column>> {
        let empty = |fits: &Fits| match fits {
            Fits { whole: true, .. } => Values::Whole(vec![None; rows.len()]),
            Fits { number: true, .. } => Values::Number(vec![None; rows.len()]),
            Fits { flag: true, .. } => Values::Flag(vec![None; rows.len()]),
            Fits { series: true, .. } => Values::Series(vec![None; rows.len()]),
            _ => Values::Text(vec![None; rows.len()]),
        };
        let mut values: Vec<Values> = self.fits.iter().map(empty).collect();
        for (i, row) in rows.iter().enumerate() {
            for (name, value) in flat(row)? {
                let Some(place) = self.place.get(&name) else { continue };
                match &mut values[*place] {
                    Values::Whole(v) => v[i] = value.as_u64(),
                    Values::Number(v) => v[i] = as_number(&value),
                    Values::Flag(v) => v[i] = value.as_bool(),
                    Values::Series(v) => v[i] = as_series(&value),
                    Values::Text(v) => {
                        v[i] = Some(match value {
                            Value::String(text) => text,
                            other => other.to_string(),
                        });
                    }
                }
            }
        }
        Ok(self.names.iter().cloned().zip(values).map(|(name, values)| Column { name, values }).collect())
    }

    /// Converts stored rows, some thousands at a time, and calls `then` with the columns and their length.
    ///
    /// # Errors
    /// When the rows cannot be read; those of `then`.
    pub fn for_each_block(&self, stored: &Stored, mut then: impl FnMut(&[Column], usize) -> Result<()>) -> Result<()> {
        let mut block: Vec<Row> = vec![];
        let mut left = stored.len();
        stored.for_each(|row| {
            block.push(row.clone());
            left -= 1;
            if block.len() == BLOCK || left == 0 {
                then(&self.columns(&block)?, block.len())?;
                block.clear();
            }
            Ok(())
        })
    }
}

/// Lists the values of a row by their paths.
fn flat(row: &Row) -> Result<Vec<(String, Value)>> {
    let json = serde_json::to_value(row).map_err(|e| Error::unwritable("a row (JSON)", e))?;
    let mut flat = vec![];
    if let Value::Object(map) = json {
        flatten(String::new(), map, &mut flat);
    }
    Ok(flat)
}

fn flatten(path: String, map: Map<String, Value>, flat: &mut Vec<(String, Value)>) {
    for (name, value) in map {
        let path = match path.as_str() {
            "" => name,
            path => format!("{path}.{name}"),
        };
        match value {
            Value::Object(inner) => flatten(path, inner, flat),
            Value::Null => {}
            value => flat.push((path, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::store::Manifest;
    use serde_json::json;

    #[test]
    fn every_column_has_one_type() {
        let manifest = Manifest::new("demo", u64::MAX, Map::new());
        let row = |trial, data: Value| Row::new(&manifest, 7, trial, Map::new(), data.as_object().cloned().unwrap());
        let rows = [
            row(0, json!({"a": 1, "b": true, "c": [1, 2.5], "d": "x", "e": 1, "n": null})),
            row(1, json!({"a": -0.5, "c": ["nan"], "d": "y", "e": "one", "f": {"g": {"h": 2}}})),
        ];
        let columns = columns(&rows).unwrap();
        let find = |name: &str| columns.iter().find(|c| c.name == name).map(|c| &c.values);
        assert_eq!(find("seed"), Some(&Values::Whole(vec![Some(u64::MAX); 2])));
        assert_eq!(find("cell"), Some(&Values::Text(vec![Some("0000000000000007".into()); 2])));
        assert_eq!(find("data.a"), Some(&Values::Number(vec![Some(1.0), Some(-0.5)])));
        assert_eq!(find("data.b"), Some(&Values::Flag(vec![Some(true), None])));
        assert_eq!(find("data.f.g.h"), Some(&Values::Whole(vec![None, Some(2)])));
        let mixed = vec![Some("1".into()), Some("one".into())];
        assert_eq!(find("data.e"), Some(&Values::Text(mixed)));
        assert_eq!(find("data.n"), None);
        let Some(Values::Series(series)) = find("data.c") else { panic!() };
        assert_eq!(series[0], Some(vec![1.0, 2.5]));
        assert!(series[1].as_ref().unwrap()[0].is_nan());
    }
}
