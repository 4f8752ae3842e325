//! Grids of cells × trials, whose rows go to a folder. Experiments and sweeps are grids.
//!
//! A row is a pure function of (seed, id, cell, trial), and so is the set of rows: which trials a
//! stopping rule asks for follows from the trials of that cell in the order of their numbers. So
//! threads, shards, kills and resumes change nothing in the merged rows.

mod complete;
mod under_way;

pub use super::cells::{Cell, Cells};
pub use complete::Missing;

use super::begun::Begun;
use super::store::{Manifest, Opening, Shard, Store, Stored};
use super::{Origin, Progress, Row, TrialContext};
use attnlab_core::error::{Error, Result};
use attnlab_core::input::Inputs;
use attnlab_core::rng::Streams;
use serde_json::{Map, Value};
use std::path::Path;
use under_way::Run;

/// Function that runs one trial: from the place of the cell, the cell, the streams and the trial context to named
/// numbers and series.
pub type Trial<'a> = &'a (dyn Fn(usize, &Cell, &Streams, &TrialContext) -> Result<Map<String, Value>> + Sync);

/// Function that decides from its data whether a trial held; None for an uninformative trial.
pub type Holds<'a> = &'a (dyn Fn(&Map<String, Value>) -> Result<Option<bool>> + Sync);

/// Rule that decides when a cell has enough trials.
pub struct Stopping<'a> {
    /// Number of trials between two decisions: a cell may stop after every multiple.
    pub every: u64,
    /// Decides from its data whether a trial held; None for an uninformative trial.
    pub holds: Holds<'a>,
    /// Decides from the place of the cell and the numbers of trials that held and of informative trials whether the
    /// cell may stop.
    pub enough: &'a (dyn Fn(usize, u64, u64) -> Result<bool> + Sync),
}

/// Cells × trials.
pub struct Grid<'a> {
    /// Identity of the run: id, seed, settings.
    pub manifest: Manifest,
    /// The cells, in the canonical order of their rows.
    pub cells: Cells,
    /// The work of one trial.
    pub trial: Trial<'a>,
    /// Stopping rule; None for a fixed number of trials.
    pub stopping: Option<Stopping<'a>>,
}

/// Options of [`Grid::run`].
#[derive(Clone, Copy, Debug, Default)]
pub struct GridOptions<'a> {
    /// Part of the trials that is run.
    pub shard: Shard,
    /// Flag: rows of another run in the folder are deleted.
    pub force: bool,
    /// Flag: rows of other builds are kept beside those of this one.
    pub mix_builds: bool,
    /// Command that makes the run, which is noted beside the rows with the machine; None to note nothing.
    pub command: Option<&'a str>,
}

/// Result of [`Grid::run`]: the rows in their file, and their numbers.
#[derive(Debug)]
pub struct Finished {
    /// Every row of the shard, in canonical order.
    pub stored: Stored,
    /// Number of trials of earlier runs.
    pub resumed: u64,
    /// Number of trials computed in this run.
    pub computed: u64,
    /// Messages for the user, such as one about a torn row that was dropped.
    pub dropped: Vec<String>,
}

/// Result of a run whose rows fit into memory.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// Every row of the shard, in canonical order.
    pub rows: Vec<Row>,
    /// Number of trials of earlier runs.
    pub resumed: u64,
    /// Number of trials computed in this run.
    pub computed: u64,
    /// Messages for the user, such as one about a torn row that was dropped.
    pub dropped: Vec<String>,
}

impl Finished {
    /// Reads the rows into memory.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn into_report(self) -> Result<RunReport> {
        let Finished { stored, resumed, computed, dropped } = self;
        Ok(RunReport { rows: stored.rows()?, resumed, computed, dropped })
    }
}

impl Grid<'_> {
    /// Refuses a grid with a cell that does not fit into memory.
    ///
    /// # Errors
    /// Names the cell.
    pub fn validate(&self) -> Result<()> {
        self.cells.heaviest()?.map_or(Ok(()), |cell| cell.ensure_memory())
    }

    /// Runs every trial of the shard that is missing in the folder `out`.
    ///
    /// After a kill the same call continues the run; the rows are the same to the bit. At the end every row is
    /// read again: each trial of the shard must be there once, and nothing else. Files that were opened as
    /// [inputs](attnlab_core::input) of the run are part of its identity, and so are those that its trials open.
    ///
    /// # Errors
    /// As [`Grid::validate`] and [`Store::open`]; a disk that is full, a trial that cannot be simulated;
    /// [`Error::Stopped`] when the user has asked to stop. Rows so far are kept; without any, a folder that was begun
    /// is taken back.
    pub fn run(&self, out: &Path, options: GridOptions, progress: &dyn Progress) -> Result<Finished> {
        Inputs::current().unwrap_or_default().within(|| self.run_trials(out, options, progress))
    }

    fn run_trials(&self, out: &Path, options: GridOptions, progress: &dyn Progress) -> Result<Finished> {
        let GridOptions { shard, force, mix_builds, command } = options;
        self.validate()?;
        let begun = Begun::in_folder(out, shard);
        let opening = Opening { shard, force, mix_builds, cells: Some(self.cells.table().clone()) };
        let store = Store::open(out, &self.manifest, &opening)?;
        let dropped = store.notes().to_vec();
        let run = Run::new(self, shard, &store, progress, out)?;
        if let Some(command) = command.filter(|_| run.all > run.resumed) {
            Origin::here(command.to_string()).note(out, shard)?;
        }
        progress.start(&self.manifest.id, run.all);
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
        let (resumed, computed, wanted) = (run.resumed, run.computed(), run.wanted());
        let stored = store.finish()?;
        self.ensure_own(&stored, &wanted, out)?;
        Ok(Finished { stored, resumed, computed, dropped })
    }
}
