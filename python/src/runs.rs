//! Sweeps and experiments with rows in folders, their tables and figures.

use crate::checks::{on_threads_of, run};
use crate::convert::{Raised, map_of, number, optional, refused, serialised, whole};
use crate::registry::{catalogue, toys};
use attnlab_aot::evaluate::Task;
use attnlab_aot::experiments::evaluate::{Choices, Evaluate};
use attnlab_core::error::{Error, Result};
use attnlab_core::input::Inputs;
use attnlab_lab::experiment::{self, Entry, Experiment, RunOptions};
use attnlab_lab::figure::{self, Figure};
use attnlab_lab::folder::{self, RunFolder};
use attnlab_lab::run::Progress;
use attnlab_lab::run::export::{Values, columns};
use attnlab_lab::run::grid::GridOptions;
use attnlab_lab::run::store::{Manifest, Shard, Store};
use attnlab_lab::sweep::{self, MergeOptions, Plan, Sweep, summarise};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Counts of a run: trials that were there, trials computed now, messages for the user.
type Counts = (u64, u64, Vec<String>);

fn shard_of(text: &str) -> PyResult<Shard> {
    let read: std::result::Result<Shard, String> = text.parse();
    read.map_err(|allowed| Error::invalid("shard", text, allowed)).raised()
}

/// Runs a sweep: `of` is the path of a sweep file or a dict with its keys.
#[pyfunction]
#[pyo3(signature = (of, out, shard, force, mix_builds, threads, command, report, toy=false))]
#[allow(clippy::too_many_arguments)]
pub fn run_sweep(
    py: Python<'_>,
    of: &Bound<'_, PyAny>,
    out: PathBuf,
    shard: &str,
    force: bool,
    mix_builds: bool,
    threads: Option<usize>,
    command: String,
    report: Option<&Bound<'_, PyAny>>,
    toy: bool,
) -> PyResult<Counts> {
    // The sweep file is an input of the run.
    let inputs = Inputs::default();
    let sweep = inputs.within(|| sweep_of(of))?;
    let catalogue = if toy { toys() } else { catalogue() };
    let shard = shard_of(shard)?;
    run(py, report, move |meter| {
        let plan = Plan::new(&sweep, &catalogue)?;
        let options = GridOptions { shard, force, mix_builds, command: Some(&command) };
        let claim = plan.claim().map(|(claim, _)| claim);
        let work = || {
            let finished = sweep::run_plan(&plan, &out, options, meter)?;
            if shard.is_whole() {
                sweep::write_results(&plan, &finished.stored, &out)?;
            }
            Ok(finished)
        };
        let finished = on_threads_of(claim, threads, || inputs.within(work))?;
        Ok((finished.resumed, finished.computed, finished.dropped))
    })
}

/// Returns the number of trials of a sweep, at most, and the id of its claim; None for an experiment.
#[pyfunction]
pub fn size_of_sweep(py: Python<'_>, of: &Bound<'_, PyAny>) -> PyResult<(u64, Option<String>)> {
    let (sweep, catalogue) = (sweep_of(of)?, catalogue());
    // Without the interpreter: the cells are made on many threads, which call a claim written in Python.
    run(py, None, move |_| {
        let plan = Plan::new(&sweep, &catalogue)?;
        let claim = plan.claim().map(|(claim, _)| claim.sheet().id.clone());
        Ok((plan.cells.keys().iter().map(|cell| cell.trials).sum(), claim))
    })
}

fn sweep_of(of: &Bound<'_, PyAny>) -> PyResult<Sweep> {
    match of.cast::<PyDict>() {
        Ok(dict) => Ok(Sweep { origin: "sweep".into(), ..Sweep::of_json(map_of(dict)?).raised()? }),
        Err(_) => Sweep::read(&of.extract::<PathBuf>()?).raised(),
    }
}

/// Merges the folders of the shards of one run into one folder.
#[pyfunction]
pub fn merge(py: Python<'_>, folders: Vec<PathBuf>, out: PathBuf, force: bool, mix_builds: bool) -> PyResult<Counts> {
    let catalogue = catalogue();
    run(py, None, move |_| {
        let (plan, finished) = sweep::merge_rows(&folders, &catalogue, &out, MergeOptions { force, mix_builds })?;
        sweep::write_results(&plan, &finished.stored, &out)?;
        Ok((finished.resumed, finished.computed, finished.dropped))
    })
}

/// Runs an experiment, with its pictures beside the rows.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn run_experiment(
    py: Python<'_>,
    name: &str,
    quick: bool,
    set: &Bound<'_, PyDict>,
    seed: &Bound<'_, PyAny>,
    out: Option<PathBuf>,
    shard: &str,
    force: bool,
    report: Option<&Bound<'_, PyAny>>,
) -> PyResult<(PathBuf, Counts)> {
    let entry = *catalogue().experiment(name).raised()?;
    let set = map_of(set)?;
    let (seed, shard) = (whole("seed", seed, 0)?, shard_of(shard)?);
    let out = out.unwrap_or_else(|| Path::new("runs").join(entry.name));
    let place = out.clone();
    let counts = run(py, report, move |meter| {
        let set = toml::Table::try_from(&set).map_err(|e| Error::unwritable("a setting (TOML)", e))?;
        let experiment = entry.configure(quick, None, &set)?;
        let how = RunOptions { seed, force, mix_builds: false, shard, command: None };
        let sized = |figures| folder::with_size(figures, &entry, &*experiment);
        computed((&entry, &*experiment), &out, how, meter, sized)
    })?;
    Ok((place, counts))
}

/// Computes the rows of an experiment, and writes its pictures, `sized`, beside them.
fn computed(
    (entry, experiment): (&Entry, &dyn Experiment),
    out: &Path,
    how: RunOptions,
    meter: &dyn Progress,
    sized: impl FnOnce(Vec<Figure>) -> Result<Vec<Figure>>,
) -> Result<Counts> {
    let command = folder::command(entry, experiment, how.seed)?;
    let how = RunOptions { command: Some(&command), ..how };
    let finished = experiment::run(experiment, out, &how, meter)?;
    if how.shard.is_whole() {
        let _owner = Store::share(out, &experiment::manifest(experiment, how.seed))?;
        figure::write_all(&sized(experiment.figures(&finished.rows)?)?, out)?;
    }
    Ok((finished.resumed, finished.computed, finished.dropped))
}

/// Evaluates a trained network, with the pictures beside the rows.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn evaluate_network(
    py: Python<'_>,
    network: PathBuf,
    task: &str,
    data: Vec<PathBuf>,
    choices: &Bound<'_, PyDict>,
    level: &Bound<'_, PyAny>,
    seed: &Bound<'_, PyAny>,
    out: PathBuf,
    shard: &str,
    force: bool,
    report: Option<&Bound<'_, PyAny>>,
) -> PyResult<Counts> {
    let entry = *catalogue().experiment("evaluate").raised()?;
    let task: Task = word("task", &PyString::new(py, task))?;
    let given = |name: &str| Ok::<_, PyErr>(choices.get_item(name)?.filter(|v| !v.is_none()));
    let size = |name: &str| optional(given(name)?.as_ref(), |v| Ok(whole(name, v, 1)? as usize));
    let sizes = |name: &str| each(given(name)?, |v| Ok(whole(name, v, 1)? as usize));
    let choices = Choices {
        detokenise: each(given("detokenise")?, |v| word("detokenise", v))?,
        window: sizes("window")?,
        stride: sizes("stride")?,
        limit: size("limit")?,
        sample: optional(given("sample")?.as_ref(), |v| word("sample", v))?.unwrap_or_default(),
        no_controls: optional(given("controls")?.as_ref(), |v| v.extract())? == Some(false),
        context: size("context")?,
        batch: size("batch")?,
        runs: size("runs")?,
    };
    let (seed, level, shard) = (whole("seed", seed, 0)?, number("level", level)?, shard_of(shard)?);
    run(py, report, move |meter| {
        let settings = Evaluate::chosen(&network, task, &data, &choices, (seed, level))?;
        let how = RunOptions { seed, force, mix_builds: false, shard, command: None };
        let sized = |figures: Vec<Figure>| Ok(figures.into_iter().map(|f| f.noted(&settings.size())).collect());
        computed((&entry, &settings), &out, how, meter, sized)
    })
}

/// Reads a word of a list that the command line has.
fn word<T: DeserializeOwned>(name: &str, given: &Bound<'_, PyAny>) -> PyResult<T> {
    let text = given.to_string();
    serde_json::from_value(Value::from(text)).map_err(|e| refused(name, given, &format!("must be a known word; {e}")))
}

/// Reads one value or a list of them; None is an empty list.
fn each<T>(given: Option<Bound<'_, PyAny>>, read: impl Fn(&Bound<'_, PyAny>) -> PyResult<T>) -> PyResult<Vec<T>> {
    match given {
        None => Ok(vec![]),
        Some(value) if value.is_instance_of::<PyString>() || value.try_iter().is_err() => Ok(vec![read(&value)?]),
        Some(list) => list.try_iter()?.map(|v| read(&v?)).collect(),
    }
}

/// Reads the rows of a folder as columns: a dict from names to (kind, values, flags of the values that are missing).
#[pyfunction]
pub fn read_rows<'py>(py: Python<'py>, folder: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let catalogue = catalogue();
    let (named, dropped) = run(py, None, move |_| {
        let stored = folder::rows(&folder, &catalogue)?;
        Ok((columns(&stored.rows()?)?, stored.dropped()))
    })?;
    let table = PyDict::new(py);
    for column in named {
        table.set_item(&column.name, column_of(py, column.values)?)?;
    }
    let result = PyDict::new(py);
    result.set_item("columns", table)?;
    result.set_item("dropped", dropped)?;
    Ok(result)
}

fn column_of<'py>(py: Python<'py>, values: Values) -> PyResult<(&'static str, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    fn split<T: Clone>(values: Vec<Option<T>>, none: T) -> (Vec<T>, Vec<bool>) {
        let missing = values.iter().map(Option::is_none).collect();
        (values.into_iter().map(|v| v.unwrap_or_else(|| none.clone())).collect(), missing)
    }
    let (kind, column, missing) = match values {
        Values::Whole(values) => {
            let (numbers, missing) = split(values, 0);
            let signed: Option<Vec<i64>> = numbers.iter().map(|n| i64::try_from(*n).ok()).collect();
            let numbers = match signed {
                Some(signed) => signed.into_pyarray(py).into_any(),
                None => numbers.into_pyarray(py).into_any(),
            };
            ("whole", numbers, missing)
        }
        Values::Number(values) => {
            let (numbers, missing) = split(values, f64::NAN);
            ("number", numbers.into_pyarray(py).into_any(), missing)
        }
        Values::Flag(values) => {
            let (flags, missing) = split(values, false);
            ("flag", flags.into_pyarray(py).into_any(), missing)
        }
        Values::Series(values) => {
            let missing = values.iter().map(Option::is_none).collect();
            let arrays = values.into_iter().map(|v| v.map(|v| v.into_pyarray(py)));
            ("series", PyList::new(py, arrays.collect::<Vec<_>>())?.into_any(), missing)
        }
        Values::Text(values) => {
            let missing = values.iter().map(Option::is_none).collect();
            ("text", PyList::new(py, values)?.into_any(), missing)
        }
    };
    Ok((kind, column, missing.into_pyarray(py).into_any()))
}

/// Judges the cells of a sweep over a claim from its rows: what cells.jsonl holds.
#[pyfunction]
pub fn read_cells(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<Py<PyAny>>> {
    let catalogue = catalogue();
    let cells = run(py, None, move |_| {
        let run_folder = RunFolder::open(&folder, &catalogue)?;
        summarise(&run_folder.plan, &run_folder.stored)
    })?;
    cells.iter().map(|cell| serialised(py, cell)).collect()
}

/// Returns identity and origins of the run in a folder.
#[pyfunction]
pub fn read_run(py: Python<'_>, folder: PathBuf) -> PyResult<Py<PyAny>> {
    serialised(py, &Manifest::of_folder(&folder).raised()?)
}

/// Draws the figures of a folder: (name, title, caption, SVG, CSV) of each.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn figures_of(
    py: Python<'_>,
    folder: PathBuf,
    partial: bool,
) -> PyResult<Vec<(String, String, String, String, String)>> {
    let catalogue = catalogue();
    run(py, None, move |_| {
        let run_folder = RunFolder::open(&folder, &catalogue)?;
        let figures = if partial { run_folder.partial_figures()? } else { run_folder.figures()? };
        figures.iter().map(drawn).collect()
    })
}

fn drawn(figure: &Figure) -> Result<(String, String, String, String, String)> {
    let (name, title, caption) = (figure.name.clone(), figure.title.clone(), figure.caption.clone());
    Ok((name, title, caption, figure::svg(figure)?, figure::to_csv(figure)?))
}

/// Prints every key of a sweep file with its meaning.
#[pyfunction]
pub fn sweep_schema() -> String {
    sweep::schema()
}
