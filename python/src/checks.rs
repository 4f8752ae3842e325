//! Checks of claims, and reports of them.

use crate::arrays::matrix;
use crate::background;
use crate::claims::reraised;
use crate::convert::{Raised, map_of, number, optional, serialised, whole};
use crate::registry::{catalogue, toys};
use attnlab_core::error::{Error, Result};
use attnlab_core::format::quoted;
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::claim::{Arrays, Claim, OnArrays, Outcome, Relation};
use attnlab_lab::folder::Contents;
use attnlab_lab::report::{self, Found, MutantResult, Report};
use attnlab_lab::run::store::Manifest;
use attnlab_lab::run::{CheckOptions, Progress, Row, check, mutant, store};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;

/// A verdict with its claim and origin, from which cards and reports are made.
#[pyclass(frozen, module = "attnlab._attnlab")]
pub struct Checked {
    verdict: report::Checked,
    mutants: Vec<MutantResult>,
}

#[pymethods]
impl Checked {
    /// The report as a dict: what `attnlab check --json` prints.
    fn report(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        serialised(py, &self.verdict.report)
    }

    /// The title of the claim.
    fn title(&self) -> String {
        self.verdict.claim.sheet().title.clone()
    }

    /// The mutants as dicts: what `attnlab check --mutants --json` prints.
    fn mutants(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        let as_dict = |m: &MutantResult| -> PyResult<Py<PyAny>> {
            let dict = serialised(py, &m.first.report)?;
            let bound = dict.bind(py);
            bound.set_item("mutant", &m.name)?;
            bound.set_item("seeds", m.seeds)?;
            bound.set_item("refuted", m.refuted)?;
            bound.set_item("says", &m.says)?;
            Ok(dict)
        };
        self.mutants.iter().map(as_dict).collect()
    }

    /// The verdicts as rows, of which [`verdict_of_rows`] makes them again.
    fn rows(&self) -> PyResult<String> {
        let row = |verdict: Found| {
            let (parameters, data) = report::keep(&verdict);
            let check = verdict.report();
            Row::new(&Manifest::new(report::VERDICTS, check.seed, Map::new()), 0, check.trials, parameters, data)
        };
        let mut rows = vec![row(Found::Claim(self.verdict.clone()))];
        rows.extend(self.mutants.iter().cloned().map(Found::Mutant).map(row));
        serde_json::to_string(&rows).map_err(|e| Error::unwritable("a verdict (JSON)", e)).raised()
    }

    /// The card as HTML.
    fn card(&self) -> String {
        report::card(&self.verdict, &self.mutants)
    }
}

/// Makes a verdict of its rows; its claim must be declared in this process.
#[pyfunction]
pub fn verdict_of_rows(rows: &str) -> PyResult<Checked> {
    let rows: Vec<Row> = serde_json::from_str(rows).map_err(|e| Error::undefined(e.to_string())).raised()?;
    let catalogue = catalogue();
    let (mut verdict, mut mutants) = (None, vec![]);
    for row in &rows {
        match report::restore(row, &catalogue).raised()? {
            Found::Claim(checked) => verdict = Some(checked),
            Found::Mutant(mutant) => mutants.push(mutant),
        }
    }
    let verdict = verdict.ok_or_else(|| Error::undefined("rows without a verdict")).raised()?;
    Ok(Checked { verdict, mutants })
}

/// Runs `work` where the trials of a claim run: on so many threads or, None, on all; one after the other for a claim
/// written in Python, whose functions hold the interpreter.
pub fn on_threads_of<T: Send>(
    claim: Option<&dyn Claim>,
    threads: Option<usize>,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let written = claim.is_some_and(|claim| claim.code().is_some());
    match if written { Some(1) } else { threads } {
        Some(threads) => background::on_threads(threads, work),
        None => work(),
    }
}

/// Runs `work` as [`background::run`] does; an exception of a function of Python is raised as it is.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    report: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&background::Meter) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    reraised(background::run(py, report, work))
}

/// Checks a claim.
#[pyfunction]
#[pyo3(signature = (name, set, seed, trials, until_decided, level, beyond_hypotheses, mutants, mutant_seeds, report, toy=false))]
#[allow(clippy::too_many_arguments)]
pub fn check_claim(
    py: Python<'_>,
    name: &str,
    set: &Bound<'_, PyDict>,
    seed: &Bound<'_, PyAny>,
    trials: Option<&Bound<'_, PyAny>>,
    until_decided: bool,
    level: &Bound<'_, PyAny>,
    beyond_hypotheses: bool,
    mutants: bool,
    mutant_seeds: &Bound<'_, PyAny>,
    report: Option<&Bound<'_, PyAny>>,
    toy: bool,
) -> PyResult<Checked> {
    let catalogue: Catalogue = if toy { toys() } else { catalogue() };
    let claim = catalogue.claim(name).raised()?.clone();
    let set = map_of(set)?;
    let options = CheckOptions {
        seed: whole("seed", seed, 0)?,
        trials: optional(trials, |n| whole("trials", n, 1))?,
        level: number("level", level)?,
        beyond_hypotheses,
        until_decided,
        ..CheckOptions::default()
    };
    let seeds = if mutants { Some(whole("mutant_seeds", mutant_seeds, 1)?) } else { None };
    run(py, report, move |meter| checked(&claim, &set, &options, seeds, meter))
}

/// Judges a claim about a layer on arrays of the caller.
#[pyfunction]
pub fn judge_on_arrays(
    py: Python<'_>,
    name: &str,
    arrays: &Bound<'_, PyDict>,
    set: &Bound<'_, PyDict>,
    mutants: bool,
    cases: bool,
) -> PyResult<Py<PyAny>> {
    let claim = catalogue().claim(name).raised()?.clone();
    let set = map_of(set)?;
    let mut taken = Arrays::default();
    for (name, value) in arrays.iter() {
        let name: String = name.extract()?;
        let matrices = match value.is_instance_of::<PyList>() {
            true => value.try_iter()?.collect::<PyResult<Vec<_>>>()?,
            false => vec![value],
        };
        for value in matrices {
            taken.push(&name, matrix(&name, &value)?.view().to_owned());
        }
    }
    taken.ensure_taken(std::iter::once(&*claim)).raised()?;
    let judged = run(py, None, move |_| OnArrays::judge(&*claim, &set, &taken, mutants))?;
    let dict = serialised(py, &judged)?;
    if cases {
        dict.bind(py).set_item("cases", serialised(py, &judged.each)?)?;
    }
    Ok(dict)
}

/// Kind of an outcome, its parts, its witness.
type OneTrial = (&'static str, Vec<Py<PyAny>>, Py<PyAny>);

/// Runs one trial of a claim in the thread of the caller, so that a debugger sees it.
#[pyfunction]
pub fn run_trial(
    py: Python<'_>,
    name: &str,
    number: &Bound<'_, PyAny>,
    seed: &Bound<'_, PyAny>,
    set: &Bound<'_, PyDict>,
) -> PyResult<OneTrial> {
    let claim = catalogue().claim(name).raised()?.clone();
    let params = Params::resolve(&claim.schema(), &map_of(set)?).raised()?;
    claim.validate(&params).raised()?;
    let streams = Streams::new(whole("seed", seed, 0)?, name, params.cell(), whole("trial", number, 0)?);
    let outcome = reraised(background::deeper(|| py.detach(|| claim.trial(&params, &streams)).raised()))?;
    let witness = serialised(py, outcome.witness())?;
    let float = |x: f64| PyFloat::new(py, x).into_any().unbind();
    let flag = |x: bool| PyBool::new(py, x).to_owned().into_any().unbind();
    let text = |x: &str| PyString::new(py, x).into_any().unbind();
    let (kind, parts) = match &outcome {
        Outcome::Event { holds, .. } => ("event", vec![flag(*holds)]),
        Outcome::Gap { lhs, rhs, tol, relation, .. } => {
            let relation = if *relation == Relation::Equal { "equal" } else { "at-most" };
            ("gap", vec![float(*lhs), float(*rhs), float(*tol), text(relation)])
        }
        Outcome::Value { value, .. } => ("value", vec![float(*value)]),
        Outcome::Uninformative { reason, .. } => ("uninformative", vec![text(reason)]),
    };
    Ok((kind, parts, witness))
}

fn checked(
    claim: &Arc<dyn Claim>,
    set: &Map<String, Value>,
    options: &CheckOptions,
    seeds: Option<u64>,
    progress: &dyn Progress,
) -> Result<Checked> {
    on_threads_of(Some(&**claim), None, || {
        let report = check(&**claim, set, options, progress)?;
        let mut mutants = vec![];
        if let Some(seeds) = seeds {
            // A mutant must be refuted by the default number of trials, not by the user's.
            let options = CheckOptions { trials: None, ..options.clone() };
            for variant in claim.mutants() {
                let result = mutant(&claim.sheet().id, &variant, &options, seeds, progress)?;
                mutants.push(MutantResult::here(&variant, result));
            }
        }
        Ok(Checked { verdict: report::Checked::here(claim, report), mutants })
    })
}

/// Writes a report of verdicts and of folders with rows. Returns messages about what was left out.
#[pyfunction]
pub fn write_report(
    py: Python<'_>,
    verdicts: Vec<PyRef<'_, Checked>>,
    folders: Vec<PathBuf>,
    out: PathBuf,
    partial: bool,
) -> PyResult<Vec<String>> {
    let mut checks: Vec<report::Checked> = verdicts.iter().map(|v| v.verdict.clone()).collect();
    let mut mutants: Vec<MutantResult> = verdicts.iter().flat_map(|v| v.mutants.clone()).collect();
    let catalogue = catalogue();
    run(py, None, move |_| {
        let contents = match folders.is_empty() {
            true => Contents::default(),
            false => Contents::of_folders(&folders, &catalogue, partial)?,
        };
        checks.extend(contents.checks.clone());
        mutants.extend(contents.mutants.clone());
        let named = folders.iter().map(|folder| format!(" {}", quoted(&folder.display().to_string())));
        let html = report::html(&Report {
            command: &format!("attnlab report{}", named.collect::<String>()),
            checks: &checks,
            mutants: &mutants,
            tables: &[],
            pictures: &contents.pictures,
            audit: contents.audit()?.as_ref(),
            catalogue: &catalogue,
        })?;
        let advice = "Choose a file that you may write with out=";
        store::replace(&out, &html).map_err(|e| Error::io(&out, e, advice))?;
        Ok(contents.notes)
    })
}
