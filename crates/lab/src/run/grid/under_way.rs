//! A run of a grid under way.

use super::Grid;
use super::complete::Counts;
use crate::run::files::content;
use crate::run::store::{CHECKPOINTS, CellKey, Row, Shard, Store};
use crate::run::watch::Watch;
use crate::run::{Progress, TrialContext, schedule};
use attnlab_core::error::{Error, Result};
use attnlab_core::format::pairs;
use attnlab_core::input::Inputs;
use attnlab_core::rng::Streams;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Largest number of trials that are planned at a time, so that the plan of any run fits into memory.
const BLOCK: usize = 1 << 16;

/// A run under way.
pub(super) struct Run<'a> {
    grid: &'a Grid<'a>,
    shard: Shard,
    /// Inputs to which the trials add.
    inputs: Inputs,
    store: &'a Store,
    progress: &'a dyn Progress,
    out: &'a Path,
    /// Largest number of trials of the shard.
    pub(super) all: u64,
    /// Number of trials of earlier runs.
    pub(super) resumed: u64,
    computed: AtomicU64,
    states: Vec<State>,
    cells_done: AtomicUsize,
    watch: Watch<'a>,
}

/// State of a cell of the shard.
#[derive(Default)]
struct State {
    /// Number of the run's first trial of the cell.
    first: u64,
    /// Trials before this number are done, or being done in this round.
    reach: AtomicU64,
    /// Number of trials not yet done.
    left: AtomicU64,
    /// Number of the trials below `reach` that held; only with a stopping rule.
    held: AtomicU64,
    /// Number of informative ones among them.
    informative: AtomicU64,
    /// Flag: another round may be needed.
    open: AtomicBool,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        grid: &'a Grid<'a>,
        shard: Shard,
        store: &'a Store,
        progress: &'a dyn Progress,
        out: &'a Path,
    ) -> Result<Self> {
        let mut run = Run {
            grid,
            shard,
            inputs: Inputs::current().unwrap_or_default(),
            store,
            progress,
            out,
            all: 0,
            resumed: 0,
            computed: AtomicU64::new(0),
            states: Vec::with_capacity(grid.cells.len()),
            cells_done: AtomicUsize::new(0),
            watch: Watch::new(&grid.manifest.id, 0, progress),
        };
        let mut first = 0;
        for (place, key) in grid.cells.keys().iter().enumerate() {
            let owned = run.owned(place, first, key.trials);
            let there = store.existing().trials(place);
            let there_all = there.len() as u64;
            let foreign = there.filter(|t| !run.owns(place, first + t)).count();
            if foreign > 0 {
                let problem = format!(
                    "it holds {foreign} rows of other shards than {shard} in {}. Give --shard as it was when \
                     they were computed, or another folder with --out",
                    shard.file()
                );
                return Err(content(out, problem));
            }
            run.all += owned;
            run.resumed += there_all;
            let left = owned - there_all;
            *run.cells_done.get_mut() += usize::from(left == 0);
            run.states.push(State { first, left: left.into(), open: (owned > 0).into(), ..State::default() });
            first += key.trials;
        }
        run.watch = Watch::new(&grid.manifest.id, run.all - run.resumed, progress);
        Ok(run)
    }

    /// Brings the states to the trials that are there already, where a stopping rule needs them.
    fn follow(&self) -> Result<()> {
        let Some(rule) = &self.grid.stopping else { return Ok(()) };
        if self.store.existing().is_empty() {
            return Ok(());
        }
        let keys = self.grid.cells.keys();
        self.store.existing().for_each_cell(keys.len(), |place, rows| {
            let most = keys[place].trials;
            let followed = rule.follow(place, rows, most)?;
            // Rows of a round that was cut off count when it ends; there are none beyond.
            if rows.last().is_some_and(|row| row.trial >= followed.wanted) {
                return Err(super::complete::too_many(self.out, &self.grid.cells.get(place)?));
            }
            let mut counts = Counts::default();
            for row in rows {
                counts.add((rule.holds)(&row.data)?);
            }
            let state = &self.states[place];
            state.reach.store(followed.reach, Ordering::Relaxed);
            state.held.store(counts.held, Ordering::Relaxed);
            state.informative.store(counts.informative, Ordering::Relaxed);
            if followed.ended {
                self.end_cell(place, most);
            }
            Ok(())
        })
    }

    /// Returns `true` if the trial is this shard's. Shards divide the trials; with a stopping rule they
    /// divide the cells, because the rule must see every trial of a cell.
    fn owns(&self, place: usize, number: u64) -> bool {
        match self.grid.stopping {
            None => self.shard.owns(number),
            Some(_) => self.shard.owns(place as u64),
        }
    }

    /// Counts the shard's trials among the first `trials` of a cell.
    fn owned(&self, place: usize, first: u64, trials: u64) -> u64 {
        match self.grid.stopping {
            None => self.shard.before(first + trials) - self.shard.before(first),
            Some(_) => trials * u64::from(self.owns(place, 0)),
        }
    }

    /// Lists the shard's trials of a cell from one number to before another.
    fn own_trials(&self, place: usize, from: u64, to: u64) -> impl Iterator<Item = u64> {
        let first = self.states[place].first;
        let (start, step) = match self.grid.stopping {
            None => (self.shard.next(first + from) - first, self.shard.count),
            Some(_) if self.owns(place, 0) => (from, 1),
            Some(_) => (to, 1),
        };
        (start..to.max(start)).step_by(usize::try_from(step).unwrap_or(usize::MAX))
    }

    /// Returns the number of trials of each cell that the shard must have at its end.
    pub(super) fn wanted(&self) -> Vec<u64> {
        let keys = self.grid.cells.keys().iter().zip(&self.states);
        let wanted = |(place, (key, state)): (usize, (&CellKey, &State))| match self.grid.stopping {
            None => self.owned(place, state.first, key.trials),
            Some(_) => state.reach.load(Ordering::Relaxed),
        };
        keys.enumerate().map(wanted).collect()
    }

    /// Returns the number of trials computed so far.
    pub(super) fn computed(&self) -> u64 {
        self.computed.load(Ordering::Relaxed)
    }

    /// Runs all rounds. Without a stopping rule there is one round; with one, each round takes every open
    /// cell to the next number of trials at which it may stop.
    pub(super) fn every_round(&self) -> Result<()> {
        let is_open = |state: &State| state.open.load(Ordering::Relaxed);
        self.follow()?;
        while self.states.iter().any(is_open) {
            let mut block = vec![];
            for (place, state) in self.states.iter().enumerate() {
                if !is_open(state) {
                    continue;
                }
                let most = self.grid.cells.keys()[place].trials;
                let from = state.reach.load(Ordering::Relaxed);
                let reach = self.grid.stopping.as_ref().map_or(most, |rule| rule.reach(from, most));
                state.reach.store(reach, Ordering::Relaxed);
                let mut there = self.store.existing().trials(place).peekable();
                for trial in self.own_trials(place, from, reach) {
                    while there.next_if(|t| *t < trial).is_some() {}
                    if there.peek() == Some(&trial) {
                        continue;
                    }
                    block.push((place, trial));
                    if block.len() == BLOCK {
                        self.run_block(&block)?;
                        block.clear();
                    }
                }
            }
            self.run_block(&block)?;
            for (place, state) in self.states.iter().enumerate() {
                if is_open(state) {
                    self.close(place, state)?;
                }
            }
        }
        Ok(())
    }

    fn run_block(&self, block: &[(usize, u64)]) -> Result<()> {
        let keys = self.grid.cells.keys();
        let bytes = |(place, _): &(usize, u64)| keys[*place].memory;
        schedule::for_each(block, bytes, |(place, trial)| self.run_trial(*place, *trial))
    }

    /// Runs one trial and appends its row to the file.
    fn run_trial(&self, place: usize, trial: u64) -> Result<()> {
        if self.progress.stopped() {
            return Err(self.stopped());
        }
        let (grid, cell) = (self.grid, self.grid.cells.get(place)?);
        let (manifest, hash) = (&grid.manifest, grid.cells.keys()[place].hash);
        let streams = Streams::new(manifest.seed, &manifest.id, hash, trial);
        let context =
            TrialContext { folder: Some(self.out.join(CHECKPOINTS).join(streams.name())), progress: self.progress };
        let run = || self.inputs.within(|| (grid.trial)(place, &cell, &streams, &context));
        let data = self.watch.trial(trial, &pairs(&cell.shown), run)?;
        let state = &self.states[place];
        if let Some(rule) = &grid.stopping {
            let held = (rule.holds)(&data)?;
            state.held.fetch_add(u64::from(held == Some(true)), Ordering::Relaxed);
            state.informative.fetch_add(u64::from(held.is_some()), Ordering::Relaxed);
        }
        self.store.pause(self.progress)?;
        self.store.append(&Row::new(manifest, hash, trial, cell.shown, data))?;
        self.computed.fetch_add(1, Ordering::Relaxed);
        self.progress.advance(1);
        if state.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.cell_done();
        }
        Ok(())
    }

    pub(super) fn stopped(&self) -> Error {
        Error::Stopped { done: self.resumed + self.computed(), all: self.all, what: "trials", kept: true }
    }

    fn cell_done(&self) {
        self.progress.cells(self.cells_done.fetch_add(1, Ordering::Relaxed) + 1, self.grid.cells.len());
    }

    /// Decides after a round whether the cell needs another.
    fn close(&self, place: usize, state: &State) -> Result<()> {
        let most = self.grid.cells.keys()[place].trials;
        let reach = state.reach.load(Ordering::Relaxed);
        if let Some(rule) = &self.grid.stopping {
            let (held, informative) = (state.held.load(Ordering::Relaxed), state.informative.load(Ordering::Relaxed));
            if reach < most && !rule.ends(place, Counts { held, informative })? {
                return Ok(());
            }
        }
        self.end_cell(place, most);
        Ok(())
    }

    /// Closes a cell and counts those of its trials that need not be done.
    fn end_cell(&self, place: usize, most: u64) {
        let state = &self.states[place];
        state.open.store(false, Ordering::Relaxed);
        let reach = state.reach.load(Ordering::Relaxed);
        if reach < most {
            self.progress.advance(most - reach);
            state.left.store(0, Ordering::Relaxed);
            self.cell_done();
        }
    }
}
