//! Row: the stored result of one trial.

use super::{Manifest, SCHEMA};
use crate::run::files::content;
use attnlab_core::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One finished trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// Id of the experiment or claim.
    pub id: String,
    /// Seed of every stream.
    pub seed: u64,
    /// Hash of the parameters ([`attnlab_core::params::Params::cell`]) as 16 hexadecimal digits, because JSON
    /// readers that know only doubles would round a 64-bit number.
    pub cell: String,
    /// Number of the trial in its cell.
    pub trial: u64,
    /// The parameters of the cell.
    pub parameters: Map<String, Value>,
    /// Named numbers and series; see [`number`] for those that are not finite.
    pub data: Map<String, Value>,
    /// Version of attnlab that wrote the row.
    pub build: String,
}

impl Row {
    /// Creates the row of one trial of the run that `manifest` describes.
    pub fn new(
        manifest: &Manifest,
        cell: u64,
        trial: u64,
        parameters: Map<String, Value>,
        data: Map<String, Value>,
    ) -> Self {
        let (id, seed, build) = (manifest.id.clone(), manifest.seed, manifest.build.clone());
        Row { schema: SCHEMA, id, seed, cell: cell_name(cell), trial, parameters, data, build }
    }

    /// Returns a number of `data`.
    ///
    /// # Errors
    /// When there is no such number.
    pub fn number(&self, name: &str) -> Result<f64> {
        self.data.get(name).and_then(as_number).ok_or_else(|| self.missing(name, "a number"))
    }

    /// Returns a series of numbers of `data`.
    ///
    /// # Errors
    /// When there is no such series.
    pub fn series(&self, name: &str) -> Result<Vec<f64>> {
        self.data.get(name).and_then(as_series).ok_or_else(|| self.missing(name, "a series of numbers"))
    }

    /// Returns a number of the cell's parameters.
    ///
    /// # Errors
    /// When there is no such number.
    pub fn parameter(&self, name: &str) -> Result<f64> {
        self.parameters.get(name).and_then(as_number).ok_or_else(|| self.missing(name, "a number among the parameters"))
    }

    /// Returns a word of the cell's parameters.
    ///
    /// # Errors
    /// When there is no such word.
    pub fn word(&self, name: &str) -> Result<&str> {
        let word = self.parameters.get(name).and_then(Value::as_str);
        word.ok_or_else(|| self.missing(name, "a word among the parameters"))
    }

    fn missing(&self, name: &str, what: &str) -> Error {
        self.wrong(format!("it must have {what} named '{name}'; was it written by this version?"))
    }

    /// Returns an error about the content of the row.
    pub(crate) fn wrong(&self, problem: impl std::fmt::Display) -> Error {
        content(format!("row of {} (cell {}, trial {})", self.id, self.cell, self.trial), problem)
    }
}

/// Converts a number to JSON. Infinities and NaN, which JSON lacks, become words that [`as_number`] reads back.
pub fn number(x: f64) -> Value {
    match x {
        f64::INFINITY => "inf".into(),
        f64::NEG_INFINITY => "-inf".into(),
        x if x.is_nan() => "nan".into(),
        x => x.into(),
    }
}

/// Converts a series to JSON, by [`number`].
pub fn series(xs: &[f64]) -> Value {
    Value::Array(xs.iter().map(|x| number(*x)).collect())
}

/// Reads a number that [`number`] wrote.
pub fn as_number(value: &Value) -> Option<f64> {
    match value.as_str() {
        None => value.as_f64(),
        Some("nan") => Some(f64::NAN),
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        Some(_) => None,
    }
}

/// Reads a series that [`series`] wrote.
pub fn as_series(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(as_number).collect()
}

/// Returns the name of a cell in rows.
pub fn cell_name(cell: u64) -> String {
    format!("{cell:016x}")
}
