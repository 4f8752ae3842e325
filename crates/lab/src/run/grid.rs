//! Grids of cells × trials, whose rows go to a folder. Experiments and sweeps are grids.
//!
//! A row is a pure function of (seed, id, cell, trial), and so is the set of rows: which trials a
//! stopping rule asks for follows from the trials of that cell in the order of their numbers. So
//! threads, shards, kills and resumes change nothing in the merged rows.

use super::begun::Begun;
use super::store::{CHECKPOINTS, Manifest, Shard, Store};
use super::watch::Watch;
use super::{Progress, Row, TrialContext, memory, pause, schedule};
use attnlab_core::error::{Error, Result};
use attnlab_core::format::pairs;
use attnlab_core::input::Inputs;
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// One combination of parameters.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Parameters of its trials.
    pub params: Params,
    /// Parameters as its rows show them: `params`, and axes that only expressions use.
    pub shown: Map<String, Value>,
    /// Number of trials; with a stopping rule, the largest number.
    pub trials: u64,
    /// Peak memory of one trial, in bytes.
    pub memory: u64,
}

/// Function that runs one trial: from the number of the cell, the streams and the trial context to named
/// numbers and series.
pub type Trial<'a> = &'a (dyn Fn(usize, &Streams, &TrialContext) -> Result<Map<String, Value>> + Sync);

/// Function that decides from its data whether a trial held; None for an uninformative trial.
pub type Holds<'a> = &'a (dyn Fn(&Map<String, Value>) -> Result<Option<bool>> + Sync);

/// Rule that decides when a cell has enough trials.
pub struct Stopping<'a> {
    /// Number of trials between two decisions: a cell may stop after every multiple.
    pub every: u64,
    /// Decides from its data whether a trial held; None for an uninformative trial.
    pub holds: Holds<'a>,
    /// Decides from the number of the cell and the numbers of trials that held and of informative trials whether the
    /// cell may stop.
    pub enough: &'a (dyn Fn(usize, u64, u64) -> Result<bool> + Sync),
}

/// Trials that the rows of a run lack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Number of missing trials.
    pub absent: u64,
    /// Number of trials of the whole run.
    pub wanted: u64,
    /// Parameters of the first cell that lacks one.
    pub first: Option<String>,
}

impl Missing {
    /// Returns the share of the trials that are there, in percent, rounded down.
    pub fn percent(&self) -> u64 {
        100 * (self.wanted - self.absent) / self.wanted.max(1)
    }
}

/// Cells × trials.
pub struct Grid<'a> {
    /// Identity of the run: id, seed, settings.
    pub manifest: Manifest,
    /// The cells, in the canonical order of their rows.
    pub cells: Vec<Cell>,
    /// The work of one trial.
    pub trial: Trial<'a>,
    /// Stopping rule; None for a fixed number of trials.
    pub stopping: Option<Stopping<'a>>,
}

/// Options of [`Grid::run`].
#[derive(Clone, Copy, Debug, Default)]
pub struct GridOptions {
    /// Part of the trials that is run.
    pub shard: Shard,
    /// Flag: rows of another run in the folder are deleted.
    pub force: bool,
}

/// Result of [`Grid::run`]: the rows and their numbers.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// Every row of the shard, in canonical order.
    pub rows: Vec<Row>,
    /// Number of trials of earlier runs.
    pub resumed: u64,
    /// Number of trials computed in this run.
    pub computed: u64,
    /// Messages for the user about torn rows that were dropped.
    pub dropped: Vec<String>,
}

impl Cell {
    /// Refuses a cell whose trial does not fit into memory.
    ///
    /// # Errors
    /// [`Error::Memory`] with the cell.
    pub fn ensure_memory(&self) -> Result<()> {
        let work = format!("one trial of the cell ({})", pairs(&self.shown));
        memory::ensure(&work, self.memory)
    }
}

impl Grid<'_> {
    /// Returns the ids of the cells, in canonical order.
    pub fn hashes(&self) -> Vec<u64> {
        self.cells.iter().map(|cell| cell.params.cell()).collect()
    }

    /// Refuses a grid that cannot be run: one with a repeated cell or with a cell that does not fit into
    /// memory.
    ///
    /// # Errors
    /// Names the cell.
    pub fn validate(&self) -> Result<()> {
        let mut seen = HashSet::new();
        for (cell, hash) in self.cells.iter().zip(self.hashes()) {
            if !seen.insert(hash) {
                let value = Value::Object(cell.shown.clone());
                let allowed = "must occur once. Remove the value that an axis repeats";
                return Err(Error::invalid("cell", value, allowed));
            }
        }
        let heaviest = self.cells.iter().max_by_key(|cell| cell.memory);
        heaviest.map_or(Ok(()), Cell::ensure_memory)
    }

    /// Runs every trial of the shard that is missing in the folder `out`.
    ///
    /// After a kill the same call continues the run; the rows are the same to the bit. Files that were opened as
    /// [inputs](attnlab_core::input) of the run are part of its identity, and so are those that its trials open.
    ///
    /// # Errors
    /// As [`Grid::validate`]; a folder with rows of another run or of other inputs, a disk that is full, a trial that
    /// cannot be simulated; [`Error::Stopped`] when the user has asked to stop. Rows so far are kept; without any, a
    /// folder that was begun is taken back.
    pub fn run(&self, out: &Path, options: GridOptions, progress: &dyn Progress) -> Result<RunReport> {
        let inputs = Inputs::current().unwrap_or_default();
        inputs.within(|| self.run_trials(out, options, progress))
    }

    fn run_trials(&self, out: &Path, options: GridOptions, progress: &dyn Progress) -> Result<RunReport> {
        self.validate()?;
        let begun = Begun::in_folder(out, options.shard);
        let store = Store::open(out, &self.manifest, options.shard, options.force)?;
        let dropped = store.dropped().to_vec();
        let run = Run::new(self, options.shard, &store, progress, out)?;
        progress.start(&self.manifest.id, run.trials);
        progress.resume(run.resumed);
        let done = run.every_round();
        progress.finish();
        done.map_err(|e| match e {
            // The count is taken again, since trials under way have ended in the meantime.
            Error::Stopped { .. } => run.stopped(),
            e => {
                begun.take_back();
                e
            }
        })?;
        let (resumed, computed) = (run.resumed, run.computed.load(Ordering::Relaxed));
        let rows = store.finish(&self.hashes())?;
        Ok(RunReport { rows, resumed, computed, dropped })
    }

    /// Compares rows, in canonical order, with those of the whole run.
    ///
    /// # Errors
    /// As the stopping rule; a cell with more trials than the rule asks for.
    pub fn missing(&self, rows: &[Row], folder: &Path) -> Result<Missing> {
        let by_name: HashMap<&str, &[Row]> = super::store::by_cell(rows)
            .into_iter()
            .filter_map(|cell| Some((cell.first()?.cell.as_str(), cell)))
            .collect();
        let mut missing = Missing::default();
        for (c, (cell, hash)) in self.cells.iter().zip(self.hashes()).enumerate() {
            let name = super::store::cell_name(hash);
            let rows = by_name.get(name.as_str()).copied().unwrap_or_default();
            let wanted = self.wanted(c, rows)?;
            let there: HashSet<u64> = rows.iter().map(|r| r.trial).collect();
            let absent = (0..wanted).filter(|t| !there.contains(t)).count() as u64;
            if absent > 0 && missing.first.is_none() {
                missing.first = Some(pairs(&cell.shown));
            }
            missing.absent += absent;
            missing.wanted += wanted;
            if rows.len() as u64 > wanted {
                let problem = format!("more trials than its rule asks for ({})", pairs(&cell.shown));
                return Err(content(folder, problem));
            }
        }
        Ok(missing)
    }

    /// Refuses rows, in canonical order, that are not exactly those of the whole run: too few, or more
    /// than the stopping rule asks for.
    ///
    /// # Errors
    /// Names the number of missing trials and the first cell that lacks one.
    pub fn ensure_complete(&self, rows: &[Row], folder: &Path) -> Result<()> {
        let Missing { absent, first, .. } = self.missing(rows, folder)?;
        let Some(cell) = first else { return Ok(()) };
        let problem = format!(
            "{absent} trials are missing, the first of them of the cell ({cell}): give every shard's \
             command again, each goes on where it stopped, and then merge"
        );
        Err(content(folder, problem))
    }

    /// Computes the number of trials that a cell must have, from its rows.
    fn wanted(&self, c: usize, rows: &[Row]) -> Result<u64> {
        let cell = &self.cells[c];
        let Some(stopping) = &self.stopping else {
            return Ok(cell.trials);
        };
        let (mut counts, mut reach) = (Counts::default(), 0);
        for (i, row) in rows.iter().enumerate() {
            if row.trial != i as u64 {
                break;
            }
            counts.add((stopping.holds)(&row.data)?);
            if i as u64 + 1 == stopping.reach(reach, cell.trials) {
                reach = i as u64 + 1;
                if stopping.ends(c, counts)? {
                    return Ok(reach);
                }
            }
        }
        Ok(stopping.reach(reach, cell.trials))
    }
}

/// Numbers of trials that held and of informative trials.
#[derive(Clone, Copy, Default)]
struct Counts {
    held: u64,
    informative: u64,
}

impl Counts {
    fn add(&mut self, held: Option<bool>) {
        self.held += u64::from(held == Some(true));
        self.informative += u64::from(held.is_some());
    }
}

impl Stopping<'_> {
    /// Returns `true` if the cell of this number may stop with these counts.
    fn ends(&self, c: usize, counts: Counts) -> Result<bool> {
        Ok(counts.informative > 0 && (self.enough)(c, counts.held, counts.informative)?)
    }

    /// Returns the trial number up to which the round after `reach` goes, at most `most`.
    fn reach(&self, reach: u64, most: u64) -> u64 {
        reach.saturating_add(self.every).min(most)
    }
}

fn content(folder: &Path, problem: String) -> Error {
    Error::Content { path: folder.to_path_buf(), problem }
}

/// State of a cell.
struct State {
    /// Trials before this number are done, or being done in this round.
    reach: u64,
    /// Results of the trials below `reach`, as [`Stopping::holds`] gives them; only with a stopping rule.
    held: Vec<Option<bool>>,
    /// Flag: another round may be needed.
    open: bool,
}

/// A run under way.
struct Run<'a> {
    grid: &'a Grid<'a>,
    shard: Shard,
    /// Inputs to which the trials add.
    inputs: Inputs,
    store: &'a Store,
    progress: &'a dyn Progress,
    out: &'a Path,
    hashes: Vec<u64>,
    /// Largest number of trials of the shard.
    trials: u64,
    /// Number of trials of earlier runs.
    resumed: u64,
    computed: AtomicU64,
    /// Number of rows that are in the file, or are on their way there.
    written: AtomicU64,
    /// Number of trials not yet done, by cell.
    left: Vec<AtomicU64>,
    cells_done: AtomicUsize,
    /// Results of the trials, by cell and trial, as [`Stopping::holds`] gives them.
    seen: Mutex<HashMap<(usize, u64), Option<bool>>>,
    watch: Watch<'a>,
}

impl<'a> Run<'a> {
    fn new(
        grid: &'a Grid<'a>,
        shard: Shard,
        store: &'a Store,
        progress: &'a dyn Progress,
        out: &'a Path,
    ) -> Result<Self> {
        let hashes = grid.hashes();
        let mut run = Run {
            grid,
            shard,
            inputs: Inputs::current().unwrap_or_default(),
            store,
            progress,
            out,
            trials: 0,
            resumed: 0,
            computed: AtomicU64::new(0),
            written: AtomicU64::new(store.existing().len() as u64),
            left: vec![],
            cells_done: AtomicUsize::new(0),
            seen: Mutex::new(run_seen(grid, &hashes, store)?),
            hashes,
            watch: Watch::new(&grid.manifest.id, 0, progress),
        };
        let mut before = 0;
        for (c, cell) in grid.cells.iter().enumerate() {
            let owned = |t: &u64| run.owns(c, before + t);
            let trials: Vec<u64> = (0..cell.trials).filter(owned).collect();
            let there = |t: &&u64| store.holds(run.hashes[c], **t);
            let there = trials.iter().filter(there).count() as u64;
            run.trials += trials.len() as u64;
            run.resumed += there;
            let left = trials.len() as u64 - there;
            run.left.push(AtomicU64::new(left));
            run.cells_done.fetch_add(usize::from(left == 0), Ordering::Relaxed);
            before += cell.trials;
        }
        run.watch = Watch::new(&grid.manifest.id, run.trials - run.resumed, progress);
        Ok(run)
    }

    /// Returns `true` if the trial is this shard's. Shards divide the trials; with a stopping rule they
    /// divide the cells, because the rule must see every trial of a cell.
    fn owns(&self, cell: usize, number: u64) -> bool {
        match self.grid.stopping {
            None => self.shard.owns(number),
            Some(_) => self.shard.owns(cell as u64),
        }
    }

    /// Runs all rounds. Without a stopping rule there is one round; with one, each round takes every open
    /// cell to the next number of trials at which it may stop.
    fn every_round(&self) -> Result<()> {
        let cells = &self.grid.cells;
        let mut states: Vec<State> = cells.iter().map(|_| State::default()).collect();
        while states.iter().any(|s| s.open) {
            let mut todo = vec![];
            let mut before = 0;
            for (c, (cell, state)) in cells.iter().zip(&mut states).enumerate() {
                if state.open {
                    let from = state.reach;
                    state.reach = match &self.grid.stopping {
                        None => cell.trials,
                        Some(rule) => rule.reach(from, cell.trials),
                    };
                    let mine = (from..state.reach).filter(|t| self.owns(c, before + t));
                    let new = mine.filter(|t| !self.store.holds(self.hashes[c], *t));
                    todo.extend(new.map(|t| (c, t)));
                }
                before += cell.trials;
            }
            let bytes = |(c, _): &(usize, u64)| cells[*c].memory;
            schedule::for_each(&todo, bytes, |(c, t)| self.run_trial(*c, *t))?;
            for (c, state) in states.iter_mut().enumerate() {
                self.close(c, state)?;
            }
        }
        Ok(())
    }

    /// Runs one trial and appends its row to the file.
    fn run_trial(&self, c: usize, trial: u64) -> Result<()> {
        if self.progress.stopped() {
            return Err(self.stopped());
        }
        let (grid, cell) = (self.grid, &self.grid.cells[c]);
        let manifest = &grid.manifest;
        let streams = Streams::new(manifest.seed, &manifest.id, self.hashes[c], trial);
        let context =
            TrialContext { folder: Some(self.out.join(CHECKPOINTS).join(streams.name())), progress: self.progress };
        let run = || self.inputs.within(|| (grid.trial)(c, &streams, &context));
        let data = self.watch.trial(trial, &pairs(&cell.shown), run)?;
        if let Some(rule) = &grid.stopping {
            let held = (rule.holds)(&data)?;
            self.remember(c, trial, held);
        }
        let row = Row::new(manifest, self.hashes[c], trial, cell.shown.clone(), data);
        let written = self.written.fetch_add(1, Ordering::Relaxed);
        pause::before_next(pause::AFTER_ROWS, written, || self.progress.stopped())?;
        self.store.append(&row)?;
        self.computed.fetch_add(1, Ordering::Relaxed);
        self.progress.advance(1);
        if self.left[c].fetch_sub(1, Ordering::Relaxed) == 1 {
            self.cell_done();
        }
        Ok(())
    }

    fn stopped(&self) -> Error {
        Error::Stopped {
            done: self.resumed + self.computed.load(Ordering::Relaxed),
            all: self.trials,
            what: "trials",
            kept: true,
        }
    }

    fn cell_done(&self) {
        let done = self.cells_done.fetch_add(1, Ordering::Relaxed) + 1;
        self.progress.cells(done, self.grid.cells.len());
    }

    fn remember(&self, cell: usize, trial: u64, held: Option<bool>) {
        // The map holds plain values, so that a panic elsewhere leaves it usable.
        let mut seen = self.seen.lock().unwrap_or_else(|p| p.into_inner());
        seen.insert((cell, trial), held);
    }

    /// Decides after a round whether the cell needs another.
    fn close(&self, c: usize, state: &mut State) -> Result<()> {
        if !state.open {
            return Ok(());
        }
        let most = self.grid.cells[c].trials;
        let mine = self.owns(c, 0);
        let Some(rule) = self.grid.stopping.as_ref().filter(|_| mine) else {
            state.open = false;
            return Ok(());
        };
        let seen = self.seen.lock().unwrap_or_else(|p| p.into_inner());
        let new = (state.held.len() as u64..state.reach).filter_map(|t| seen.get(&(c, t)));
        state.held.extend(new);
        drop(seen);
        let mut counts = Counts::default();
        state.held.iter().for_each(|held| counts.add(*held));
        state.open = state.reach < most && !rule.ends(c, counts)?;
        if !state.open && state.reach < most {
            // The trials that need not be done.
            self.progress.advance(most - state.reach);
            self.left[c].store(0, Ordering::Relaxed);
            self.cell_done();
        }
        Ok(())
    }
}

impl Default for State {
    fn default() -> Self {
        State { reach: 0, held: vec![], open: true }
    }
}

/// Collects which of the stored trials held.
fn run_seen(grid: &Grid, hashes: &[u64], store: &Store) -> Result<HashMap<(usize, u64), Option<bool>>> {
    let mut seen = HashMap::new();
    let Some(rule) = &grid.stopping else {
        return Ok(seen);
    };
    let names = hashes.iter().map(|h| super::store::cell_name(*h));
    let place: HashMap<String, usize> = names.enumerate().map(|(i, n)| (n, i)).collect();
    for row in store.existing() {
        if let Some(c) = place.get(&row.cell) {
            seen.insert((*c, row.trial), (rule.holds)(&row.data)?);
        }
    }
    Ok(seen)
}
