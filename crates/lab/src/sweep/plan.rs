//! Plans: the cells of a sweep or an experiment, and the work of a trial of each.

use super::axes::Product;
use super::outcome::{data_of, held};
use super::{Axis, Beyond, Of, Sweep};
use crate::catalogue::Catalogue;
use crate::claim::{Claim, Promise};
use crate::experiment::{self, Entry, Experiment};
use crate::run::files::content;
use crate::run::grid::{Cell, Cells, Grid, Stopping};
use crate::run::store::{CellKey, Manifest, Stored};
use crate::run::{Row, check, time};
use attnlab_core::error::{Error, Result, require};
use attnlab_core::format::pairs;
use attnlab_core::params::{Fallback, Params, Schema};
use rayon::prelude::*;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Cells of a sweep, or of a single experiment, and the work of their trials.
pub struct Plan {
    /// Identity of the run: id, seed, settings.
    pub manifest: Manifest,
    /// The cells, in the canonical order of their rows.
    pub cells: Cells,
    work: Work,
}

enum Work {
    Claim(Arc<ClaimCells>),
    Experiments(Vec<Piece>),
}

/// An experiment with the settings of one cell of a sweep.
struct Piece {
    experiment: Box<dyn Experiment>,
    label: String,
    cells: Range<usize>,
}

/// The rows of one experiment among those of a sweep over its settings.
pub struct Part<'a> {
    /// The experiment, with its settings.
    pub experiment: &'a dyn Experiment,
    /// Values of the axes, such as `clusters=2, dim=16`; empty for a run that is not a sweep.
    pub label: &'a str,
    /// Its rows.
    pub rows: Vec<Row>,
}

impl Plan {
    /// Plans a sweep: resolves and validates every cell.
    ///
    /// # Errors
    /// An unknown claim, experiment, parameter or setting; a cell that cannot be run. The message
    /// names the file and the cell.
    pub fn new(sweep: &Sweep, catalogue: &Catalogue) -> Result<Plan> {
        let plan = match &sweep.of {
            Of::Claim(id) => catalogue.claim(id).and_then(|claim| of_claim(sweep, claim)),
            Of::Experiment(id) => catalogue.experiment(id).and_then(|entry| of_experiment(sweep, entry)),
        };
        plan.map_err(|e| match e {
            // Lack of memory is not an error of the file.
            Error::Memory { .. } => e,
            e => content(&sweep.origin, e),
        })
    }

    /// Plans the run of a manifest: a sweep, or a single experiment.
    ///
    /// # Errors
    /// When the catalogue does not know the run, or the settings are of another version.
    pub fn of_manifest(manifest: &Manifest, catalogue: &Catalogue) -> Result<Plan> {
        if let Some(sweep) = Sweep::of_manifest(manifest)? {
            if manifest.code().is_some() && catalogue.claim(&manifest.id).is_err() {
                let problem = format!(
                    "it is a run of {}, a claim written in Python that is not declared here. Name its file: attnlab \
                     --catalogue FILE.py .. (the command of the Python package), or run the file in Python",
                    manifest.id
                );
                return Err(content(Manifest::FILE, problem));
            }
            let mut plan = Self::new(&sweep, catalogue)?;
            if let Some(other) = manifest.difference(&plan.manifest) {
                let problem = format!("it describes {other}: it was changed by hand or written by another version");
                return Err(content(Manifest::FILE, problem));
            }
            // The builds are those of its rows.
            plan.manifest = manifest.clone();
            return Ok(plan);
        }
        let experiment = catalogue.experiment(&manifest.id)?.with_settings(&manifest.settings)?;
        let cells = Cells::listed(experiment::cells(&*experiment)?)?;
        let piece = Piece { experiment, label: String::new(), cells: 0..cells.len() };
        Ok(Plan { manifest: manifest.clone(), cells, work: Work::Experiments(vec![piece]) })
    }

    /// Plans the run in `folder`.
    ///
    /// # Errors
    /// When the folder holds no run; then as [`Plan::of_manifest`].
    pub fn of_folder(folder: &Path, catalogue: &Catalogue) -> Result<Plan> {
        Self::of_manifest(&Manifest::of_folder(folder)?, catalogue)
    }

    /// Returns the claim and the sweep over it; None if this is not a sweep over a claim.
    pub fn claim(&self) -> Option<(&dyn Claim, &Sweep)> {
        match &self.work {
            Work::Claim(made) => Some((&*made.claim, &made.sweep)),
            Work::Experiments(_) => None,
        }
    }

    /// Returns the combinations of the axes of a sweep over a claim.
    pub fn product(&self) -> Option<&Product> {
        match &self.work {
            Work::Claim(made) => Some(&made.combinations.product),
            Work::Experiments(_) => None,
        }
    }

    /// Returns the experiment; None if this is a sweep.
    pub fn experiment(&self) -> Option<&dyn Experiment> {
        let Work::Experiments(pieces) = &self.work else { return None };
        match &pieces[..] {
            [piece] if piece.label.is_empty() => Some(&*piece.experiment),
            _ => None,
        }
    }

    /// Reads the rows of each experiment, one after the other; none for a sweep over a claim.
    pub fn parts<'a>(&'a self, stored: &'a Stored) -> impl Iterator<Item = Result<Part<'a>>> + 'a {
        let pieces = match &self.work {
            Work::Experiments(pieces) => pieces.as_slice(),
            Work::Claim(_) => &[],
        };
        pieces.iter().map(|piece| {
            let rows = stored.rows_between(piece.cells.clone())?;
            Ok(Part { experiment: &*piece.experiment, label: &piece.label, rows })
        })
    }

    /// Refuses a sweep over an experiment whose [inputs outside the settings](Experiment::ready) are missing or do not
    /// fit.
    ///
    /// # Errors
    /// Those of the experiment, with the values of the axes.
    pub fn ready(&self) -> Result<()> {
        let Work::Experiments(pieces) = &self.work else { return Ok(()) };
        pieces.iter().try_for_each(|piece| piece.experiment.ready().map_err(|e| e.during(&piece.label)))
    }

    /// Calls `then` with the grid of this plan.
    ///
    /// # Errors
    /// Those of `then`.
    pub fn with_grid<T>(&self, then: impl FnOnce(&Grid) -> Result<T>) -> Result<T> {
        let (manifest, cells) = (self.manifest.clone(), self.cells.clone());
        match &self.work {
            Work::Experiments(pieces) => {
                let owner: Vec<usize> =
                    pieces.iter().enumerate().flat_map(|(i, piece)| piece.cells.clone().map(move |_| i)).collect();
                then(&Grid {
                    manifest,
                    cells,
                    trial: &|place, cell, streams, context| {
                        pieces[owner[place]].experiment.trial_at(&cell.params, streams, context)
                    },
                    stopping: None,
                })
            }
            Work::Claim(made) => {
                let ClaimCells { claim, sweep, .. } = &**made;
                let budget = sweep.budget();
                let enough = |place, held, trials| match sweep.stop {
                    Some(stop) => stop.enough(&**claim, &self.cells.get(place)?.params, (held, trials), sweep.level),
                    None => Ok(false),
                };
                let stopping = sweep.stop.map(|stop| Stopping { every: stop.every, holds: &held, enough: &enough });
                then(&Grid {
                    manifest,
                    cells,
                    trial: &|_, cell, streams, _| {
                        let mut data = data_of(&check::trial(&**claim, &cell.params, streams)?);
                        data.insert("budget".into(), budget.clone().into());
                        Ok(data)
                    },
                    stopping,
                })
            }
        }
    }
}

/// The cells of a sweep over a claim.
struct ClaimCells {
    claim: Arc<dyn Claim>,
    sweep: Sweep,
    schema: Schema,
    combinations: Combinations,
}

fn of_claim(sweep: &Sweep, claim: &Arc<dyn Claim>) -> Result<Plan> {
    let schema = claim.schema();
    let names: Vec<&str> = schema.iter().map(|s| s.name).collect();
    let defaults = schema.iter().filter_map(|spec| match &spec.default {
        Fallback::Fixed(value) => Some((spec.name.to_string(), value.clone())),
        _ => None,
    });
    let made = Arc::new(ClaimCells {
        combinations: sweep.combinations("parameter", &names, defaults.collect())?,
        claim: claim.clone(),
        sweep: sweep.clone(),
        schema,
    });
    let make = made.clone();
    Ok(Plan {
        manifest: Manifest::new(&claim.sheet().id, sweep.seed, sweep.settings()).with_code(claim.code()),
        cells: Cells::made(made.keys()?, Arc::new(move |place| make.cell(place)))?,
        work: Work::Claim(made),
    })
}

impl ClaimCells {
    /// Makes and validates every cell, on all threads, and returns what is kept of them.
    fn keys(&self) -> Result<Vec<CellKey>> {
        /// Number of cells after which errors are looked at, so that the first one is told.
        const BLOCK: usize = 1 << 14;
        let length = self.combinations.product.len();
        let mut keys = Vec::with_capacity(length);
        for from in (0..length).step_by(BLOCK) {
            let block = (from..length.min(from + BLOCK)).into_par_iter();
            let made: Vec<Result<CellKey>> = block.map(|place| self.key(place)).collect();
            for key in made {
                keys.push(key?);
            }
        }
        Ok(keys)
    }

    fn key(&self, place: usize) -> Result<CellKey> {
        let (shown, set) = self.combinations.get(place)?;
        let valid = || {
            let cell = self.made(shown.clone(), &set)?;
            self.claim.validate(&cell.params)?;
            self.ensure_budget(&cell)?;
            Ok(cell.key())
        };
        valid().map_err(|e| in_cell(&shown, e))
    }

    fn cell(&self, place: usize) -> Result<Cell> {
        let (shown, set) = self.combinations.get(place)?;
        self.made(shown, &set)
    }

    fn made(&self, axes: Map<String, Value>, set: &Map<String, Value>) -> Result<Cell> {
        let (sweep, claim) = (&self.sweep, &*self.claim);
        let params = Params::resolve(&self.schema, set)?;
        let skipped = sweep.beyond == Beyond::Skip && claim.hypotheses(&params).iter().any(|h| !h.holds);
        let trials = if skipped { 0 } else { sweep.trials.unwrap_or_else(|| claim.default_trials(&params)) };
        Ok(Cell { shown: with_axes(params.as_json(), axes), trials, memory: claim.memory(&params), params })
    }

    /// Refuses trials that cannot be judged or that take too long.
    fn ensure_budget(&self, cell: &Cell) -> Result<()> {
        let (sweep, claim, params) = (&self.sweep, &*self.claim, &cell.params);
        if sweep.stop.is_some() && !claim.counts_events(params) {
            let id = &claim.sheet().id;
            let allowed = format!("must be left out; {id} is not judged by the share of trials that hold");
            return Err(Error::invalid("stop", "set", allowed));
        }
        let trials = sweep.trials.unwrap_or_else(|| claim.default_trials(params));
        if trials < 2 && matches!(claim.promise(params), Promise::MeanIn(..)) {
            let allowed = "must be at least 2; the interval is that of a mean";
            return Err(Error::invalid("trials", trials, allowed));
        }
        if let Err(too_long) = time::ensure(cell.trials, claim.seconds(params)) {
            // Lack of memory is the plainer reason.
            cell.ensure_memory()?;
            return Err(too_long);
        }
        Ok(())
    }
}

/// Largest number of cells of a sweep over an experiment: they are held in memory, 2.3 kB each (measured on
/// `snr_per_layer`), so that all of them take less than 1 GB.
const MAX_HELD: usize = 400_000;

/// Refuses more cells of an experiment than fit into memory.
fn ensure_held(cells: usize) -> Result<()> {
    let allowed = format!("must make at most {MAX_HELD} cells of an experiment. Write shorter axes");
    require(cells <= MAX_HELD, "axes", format!("{cells} cells or more"), allowed)
}

fn of_experiment(sweep: &Sweep, entry: &Entry) -> Result<Plan> {
    let defaults = entry.configure(false, None, &toml::Table::new())?.settings();
    let names: Vec<&str> = defaults.keys().map(String::as_str).collect();
    let (mut cells, mut pieces) = (vec![], vec![]);
    let combinations = sweep.combinations("setting", &names, defaults.clone())?;
    ensure_held(combinations.product.len())?;
    for number in 0..combinations.product.len() {
        let (shown, set) = combinations.get(number)?;
        let experiment = configured(sweep, entry, &set, &defaults).map_err(|e| in_cell(&shown, e))?;
        let added = experiment::cells(&*experiment).map_err(|e| in_cell(&shown, e))?;
        let from = cells.len();
        ensure_held(from + added.len())?;
        let scalars: Map<String, Value> = shown.clone().into_iter().filter(|(_, v)| !v.is_array()).collect();
        cells.extend(added.into_iter().map(|cell| Cell { shown: with_axes(&cell.shown, scalars.clone()), ..cell }));
        pieces.push(Piece { experiment, label: pairs(&shown).replace(" = ", "="), cells: from..cells.len() });
    }
    Ok(Plan {
        manifest: Manifest::new(entry.name, sweep.seed, sweep.settings()),
        cells: Cells::listed(cells)?,
        work: Work::Experiments(pieces),
    })
}

/// Builds an experiment with the settings of one cell.
fn configured(
    sweep: &Sweep,
    entry: &Entry,
    set: &Map<String, Value>,
    defaults: &Map<String, Value>,
) -> Result<Box<dyn Experiment>> {
    let mut settings = toml::Table::new();
    if let Some(trials) = sweep.trials {
        settings.insert("trials".into(), toml::Value::try_from(trials).map_err(no_toml)?);
    }
    for (name, value) in set {
        let value = like(value, defaults.get(name).unwrap_or(&Value::Null));
        settings.insert(name.clone(), toml::Value::try_from(value).map_err(no_toml)?);
    }
    entry.configure(false, None, &settings)
}

/// Converts a value to the type of a setting: to a list of one for a list, 100.0 to 100 for a whole number.
fn like(value: &Value, default: &Value) -> Value {
    let whole = |x: f64| (x.fract() == 0.0 && x.abs() < 2_f64.powi(53)).then_some(x as i64);
    match (default, value) {
        (Value::Array(items), Value::Array(values)) => {
            let first = items.first().unwrap_or(&Value::Null);
            values.iter().map(|v| like(v, first)).collect()
        }
        (Value::Array(items), alone) => vec![like(alone, items.first().unwrap_or(&Value::Null))].into(),
        (Value::Number(is), Value::Number(given)) if is.is_u64() && given.is_f64() => {
            given.as_f64().and_then(whole).map_or_else(|| value.clone(), Value::from)
        }
        _ => value.clone(),
    }
}

fn no_toml(e: toml::ser::Error) -> Error {
    Error::unwritable("a setting (TOML)", e)
}

/// The combinations of a sweep.
struct Combinations {
    product: Product,
    /// Parameters that are the same in every cell.
    set: Map<String, Value>,
    /// Names that can be set; the others serve expressions.
    known: Vec<String>,
}

impl Combinations {
    /// Computes one combination: as rows show it, and the part of it that is set.
    fn get(&self, number: usize) -> Result<(Map<String, Value>, Map<String, Value>)> {
        let axes = self.product.get(number)?;
        let mut set = self.set.clone();
        set.extend(axes.clone());
        set.retain(|name, _| self.known.contains(name));
        Ok((axes, set))
    }
}

impl Sweep {
    /// Combines the axes. A name that is not `known` must be used by an expression.
    fn combinations(&self, what: &'static str, known: &[&str], defaults: Map<String, Value>) -> Result<Combinations> {
        let mut used: BTreeSet<&str> = BTreeSet::new();
        for (_, axis) in &self.axes {
            if let Axis::Computed(expression) = axis {
                used.extend(expression.names());
            }
        }
        let mut names = self.axes.iter().map(|(n, _)| n).chain(self.set.keys());
        let fits = |n: &&String| known.contains(&n.as_str()) || used.contains(n.as_str());
        if let Some(stray) = names.find(|n| !fits(n)) {
            return Err(Error::unknown(what, stray, known.iter().copied()));
        }
        let mut fixed = defaults;
        fixed.retain(|name, _| !self.axes.iter().any(|(axis, _)| axis == name));
        fixed.extend(self.set.clone());
        let known = known.iter().map(|name| (*name).to_string()).collect();
        Ok(Combinations { product: Product::new(&self.axes, &fixed)?, set: self.set.clone(), known })
    }
}

/// Returns the parameters as a row shows them: those of the cell, then axes that only expressions use.
fn with_axes(parameters: &Map<String, Value>, axes: Map<String, Value>) -> Map<String, Value> {
    let mut shown = parameters.clone();
    for (name, value) in axes {
        shown.entry(name).or_insert(value);
    }
    shown
}

fn in_cell(shown: &Map<String, Value>, error: Error) -> Error {
    match error {
        Error::Memory { .. } => error,
        error => content(format!("cell ({})", pairs(shown)), error),
    }
}
