//! Catalogue of this process: the rooms of the library, and the claims that were written in Python.

use crate::claims;
use crate::convert::{Raised, from_python, map_of, optional, to_python};
use attnlab::cli;
use attnlab_core::error::Error;
use attnlab_core::params::Params;
use attnlab_lab::catalogue::{Catalogue, Room};
use attnlab_lab::claim::{Claim, Paper};
use attnlab_lab::toy;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

static WRITTEN: RwLock<Vec<Arc<dyn Claim>>> = RwLock::new(vec![]);

/// Returns the rooms of the library alone.
fn compiled() -> &'static Catalogue {
    static COMPILED: OnceLock<Catalogue> = OnceLock::new();
    COMPILED.get_or_init(attnlab::catalogue)
}

/// Returns the catalogue of every compiled claim and of those written in Python so far.
pub fn catalogue() -> Catalogue {
    let written = WRITTEN.read().unwrap_or_else(PoisonError::into_inner);
    if written.is_empty() { compiled().clone() } else { compiled().clone().with(room(written.clone())) }
}

/// Returns a catalogue with the library's toy claim, for tests.
pub fn toys() -> Catalogue {
    Catalogue::new().with(Room::new("toy", toy::PAPERS).claims(vec![toy::fair_coin()]))
}

fn room(claims: Vec<Arc<dyn Claim>>) -> Room {
    // Only `attnlab list papers` reads the papers of a room; those of the sheets are kept by the sheets.
    const NONE: &[Paper] = &[];
    Room::new("python", NONE).claims(claims)
}

/// Adds a claim that is written in Python, or replaces one of the same id.
#[pyfunction]
pub fn register(spec: &Bound<'_, PyDict>) -> PyResult<()> {
    let claim = claims::of_spec(spec)?;
    let id = &claim.sheet().id;
    if compiled().claim(id).is_ok() {
        return Err(Error::invalid("id", id, "must be another id; the library has a claim of this one")).raised();
    }
    claims::reraised(room(vec![claim.clone()]).validate().raised())?;
    // Defaults out of range; a parameter without a default is none.
    match Params::resolve(&claim.schema(), &Map::new()) {
        Ok(_) | Err(Error::Missing { .. }) => {}
        Err(error) => return Err(error).raised(),
    }
    let mut written = WRITTEN.write().unwrap_or_else(PoisonError::into_inner);
    written.retain(|other| other.sheet().id != *id);
    written.push(claim.clone());
    Ok(())
}

/// Removes a claim that was written in Python.
#[pyfunction]
pub fn forget(id: &str) {
    let mut written = WRITTEN.write().unwrap_or_else(PoisonError::into_inner);
    written.retain(|claim| claim.sheet().id != id);
}

/// Lists what the catalogue has: claims, formulas, experiments, papers, or claims by `prefix*`.
#[pyfunction]
#[pyo3(name = "entries")]
pub fn list(py: Python<'_>, what: &str) -> PyResult<Vec<Py<PyAny>>> {
    cli::listed(&catalogue(), what).raised()?.iter().map(|entry| to_python(py, entry, false)).collect()
}

/// Shows the card of a claim, formula or experiment.
#[pyfunction]
pub fn show(py: Python<'_>, id: &str) -> PyResult<Py<PyAny>> {
    to_python(py, &cli::shown(&catalogue(), id).raised()?, false)
}

/// Returns the glossary, or its entries of one word.
#[pyfunction]
#[pyo3(signature = (word=None))]
pub fn glossary(py: Python<'_>, word: Option<&str>) -> PyResult<Py<PyAny>> {
    to_python(py, &cli::defined(&catalogue(), word).raised()?, false)
}

/// Evaluates a closed form: a number, or an array.
#[pyfunction]
pub fn evaluate(py: Python<'_>, name: &str, set: &Bound<'_, PyDict>) -> PyResult<Py<PyAny>> {
    let set = map_of(set)?;
    let evaluated = catalogue().formula(name).raised()?.evaluate(&set).raised()?;
    let vector = |items: &Vec<Value>| items.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>();
    match &evaluated.value {
        Value::Array(items) => match vector(items) {
            Some(numbers) => Ok(numbers.into_pyarray(py).into_any().unbind()),
            // A matrix, by its rows.
            None => Ok(py.import("numpy")?.call_method1("array", (to_python(py, &evaluated.value, false)?,))?.unbind()),
        },
        value => to_python(py, value, false),
    }
}

/// Returns the cell of a set of parameters of a claim, which is part of the key of its streams.
#[pyfunction]
pub fn cell(id: &str, set: &Bound<'_, PyDict>) -> PyResult<u64> {
    let claim = catalogue().claim(id).raised()?.clone();
    Ok(Params::resolve(&claim.schema(), &map_of(set)?).raised()?.cell())
}

/// Runs the command line of attnlab with these arguments and returns its exit status.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<String>) -> u8 {
    let catalogue = catalogue();
    let words = std::iter::once("attnlab".to_string()).chain(arguments);
    let status = py.detach(|| cli::run(&catalogue, words.map(Into::into)));
    if let Some(raised) = claims::take_raised() {
        raised.print(py);
    }
    status
}

/// Reads a JSON value, for tests of the conversion.
#[pyfunction]
pub fn echo(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    to_python(py, &optional(Some(value), |v| from_python("value", v))?.unwrap_or(Value::Null), false)
}
