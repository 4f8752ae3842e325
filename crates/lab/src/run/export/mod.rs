//! Rows as a table for other programs: flat columns, in CSV or (feature `parquet`) Parquet.
//!
//! Columns are named by their path in a row: `cell`, `trial`, `parameters.tokens`,
//! `data.witness.layer`. A column has one type; where a row has no such value it is empty.

mod csv;
#[cfg(feature = "parquet")]
mod parquet;

pub use csv::to_csv;
#[cfg(feature = "parquet")]
pub use parquet::to_parquet;

use super::Row;
use super::store::as_number;
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
    let (mut names, mut place): (Vec<String>, HashMap<String, usize>) = Default::default();
    let mut cells: Vec<Vec<(usize, Value)>> = vec![];
    for (i, row) in rows.iter().enumerate() {
        let json = serde_json::to_value(row).map_err(|e| Error::unwritable("a row (JSON)", e))?;
        let mut flat = vec![];
        if let Value::Object(map) = json {
            flatten(String::new(), map, &mut flat);
        }
        for (name, value) in flat {
            let c = *place.entry(name).or_insert_with_key(|name| {
                names.push(name.clone());
                cells.push(vec![]);
                names.len() - 1
            });
            cells[c].push((i, value));
        }
    }
    let column = |(name, cells)| Column { name, values: typed(cells, rows.len()) };
    Ok(names.into_iter().zip(cells).map(column).collect())
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

/// Converts cells to the narrowest type that fits every value.
fn typed(cells: Vec<(usize, Value)>, rows: usize) -> Values {
    fn spread<T: Clone>(
        cells: &[(usize, Value)],
        rows: usize,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Option<Vec<Option<T>>> {
        let mut values = vec![None; rows];
        for (i, value) in cells {
            values[*i] = Some(read(value)?);
        }
        Some(values)
    }
    let series = |v: &Value| v.as_array()?.iter().map(as_number).collect::<Option<Vec<f64>>>();
    let text = |v: &Value| match v {
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let none = || Values::Text(vec![None; rows]);
    spread(&cells, rows, Value::as_u64)
        .map(Values::Whole)
        .or_else(|| spread(&cells, rows, as_number).map(Values::Number))
        .or_else(|| spread(&cells, rows, Value::as_bool).map(Values::Flag))
        .or_else(|| spread(&cells, rows, series).map(Values::Series))
        .or_else(|| spread(&cells, rows, text).map(Values::Text))
        .unwrap_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::store::Manifest;
    use serde_json::json;

    #[test]
    fn every_column_has_one_type() {
        let manifest = Manifest::new("demo", u64::MAX, Map::new());
        let row = |trial, data: Value| {
            let data = data.as_object().cloned().unwrap();
            Row::new(&manifest, 7, trial, Map::new(), data)
        };
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
