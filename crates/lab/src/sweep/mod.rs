//! Sweeps: runs of a claim or an experiment over every combination of some axes.
//!
//! A [`Sweep`] is a TOML file ([`schema()`] prints every key). It becomes a [`Plan`], whose cells × trials are a
//! [`Grid`](crate::run::grid::Grid): rows in a folder, resumable and shardable. [`merge`] makes one canonical folder of
//! the shards' folders, byte for byte that of a single run; [`summarise`] judges every cell from the rows alone.
//!
//! ```
//! use attnlab_lab::{catalogue::{Catalogue, Room}, run::{Silent, grid::GridOptions}, sweep, toy};
//! let room = Room::new("toy", toy::PAPERS).claims(vec![toy::fair_coin()]);
//! let catalogue = Catalogue::new().with(room);
//! let text = "claim = 'toy.fair'\ntrials = 20\n[axes]\nheads = [0.3, 0.5]\n";
//! let sweep = sweep::Sweep::parse(text, "example.toml".as_ref())?;
//! let folder = tempfile::tempdir().unwrap();
//! let options = GridOptions::default();
//! let report = sweep::run(&sweep, &catalogue, folder.path(), options, &Silent)?;
//! assert_eq!(report.stored.len(), 40);
//! assert!(folder.path().join("cells.csv").exists());
//! # Ok::<(), attnlab_core::Error>(())
//! ```

mod axes;
mod expression;
mod file;
mod keys;
mod map;
mod merge;
mod outcome;
mod plan;
mod summary;

pub use axes::{Axis, MAX_CELLS, Product, Range};
pub use expression::{Expression, SYNTAX};
pub use keys::{KEYS, Key, schema};
pub use map::figures;
pub use merge::{MergeOptions, merge, merge_rows};
pub use outcome::{data_of, outcome_of};
pub use plan::{Part, Plan};
pub use summary::{CellMark, CellSummary, for_each_summary, summarise, write_summary};

use crate::catalogue::Catalogue;
use crate::claim::verdict::is_decided;
use crate::claim::{Claim, Params};
use crate::figure;
use crate::run::Progress;
use crate::run::grid::{Finished, GridOptions};
use crate::run::store::{self, Store, Stored};
use attnlab_core::error::Result;
use attnlab_core::input::Inputs;
use attnlab_core::named;
use attnlab_core::stats::Sequence;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Contents of a sweep file.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Claim or experiment.
    pub of: Of,
    /// Number of trials per cell; None for the default of the claim or experiment.
    pub trials: Option<u64>,
    /// Seed of every stream.
    pub seed: u64,
    /// Confidence level of each cell's interval.
    pub level: f64,
    /// Treatment of cells where a hypothesis fails.
    pub beyond: Beyond,
    /// Stopping rule; None for a fixed number of trials.
    pub stop: Option<Stop>,
    /// Parameters that are the same in every cell.
    pub set: Map<String, Value>,
    /// Axes by name; the last one varies fastest.
    pub axes: Vec<(String, Axis)>,
    /// The file, for messages.
    pub origin: PathBuf,
}

/// The claim or experiment of a sweep, by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// A claim.
    Claim(String),
    /// An experiment.
    Experiment(String),
}

/// Treatment of cells in which a hypothesis of the claim fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beyond {
    /// Simulate, and mark as out of scope.
    #[default]
    Mark,
    /// Judge all the same.
    Judge,
    /// No trials.
    Skip,
}

named!(Beyond, "treatment": Mark = "mark", Judge = "judge", Skip = "skip");

/// Stopping rule by the confidence sequence [`Sequence`]: a cell stops at the first multiple of `every`
/// trials at which the interval of its probability is as `until` says. It depends only on the
/// cell's own trials, in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Interval at which to stop.
    pub until: Until,
    /// Number of trials between two looks at the interval.
    pub every: u64,
}

/// Interval at which a cell stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// No wider than this.
    Width(f64),
    /// On one side of the promise of the claim, so that the cell is supported or refuted.
    Decided,
}

impl Stop {
    /// Decides whether a cell with these parameters may stop after `trials` trials of which `held` hold.
    ///
    /// # Errors
    /// As [`Sequence::interval`].
    pub fn enough(&self, claim: &dyn Claim, params: &Params, (held, trials): (u64, u64), level: f64) -> Result<bool> {
        let interval = Sequence::new(level)?.interval(held, trials)?;
        Ok(match self.until {
            Until::Width(width) => interval.high - interval.low <= width,
            Until::Decided => is_decided(claim, params, interval),
        })
    }
}

impl Sweep {
    /// Describes the rule for the number of trials of a cell, for rows and summaries.
    pub fn budget(&self) -> String {
        let Some(Stop { until, every }) = self.stop else { return "fixed".into() };
        let until = match until {
            Until::Width(width) => format!("width <= {width}"),
            Until::Decided => "until decided".to_string(),
        };
        format!("{} confidence sequence, {until}, looked at every {every} trials", Sequence::NAME)
    }
}

/// Writes the summary of a whole or merged sweep over a claim and its maps beside the rows. Returns the cells, none for
/// an experiment, and the paths of the maps.
///
/// # Errors
/// As [`write_summary`]; maps that cannot be drawn or written.
pub fn write_results(plan: &Plan, stored: &Stored, folder: &Path) -> Result<(Vec<CellMark>, Vec<PathBuf>)> {
    let cells = write_summary(plan, stored, folder)?;
    if cells.is_empty() {
        return Ok((cells, vec![]));
    }
    let _owner = Store::share(folder, &plan.manifest)?;
    let pictures = figure::write_all(&figures(plan, &cells)?, folder)?;
    Ok((cells, pictures))
}

/// Runs the trials that are missing in the folder `out`. For the whole run of a claim it also writes the
/// summary of the cells beside the rows.
///
/// # Errors
/// A cell that cannot be run or whose files cannot be read, before anything is run; then as
/// [`Grid::run`](crate::run::grid::Grid::run).
pub fn run(
    sweep: &Sweep,
    catalogue: &Catalogue,
    out: &Path,
    options: GridOptions,
    progress: &dyn Progress,
) -> Result<Finished> {
    let plan = Plan::new(sweep, catalogue)?;
    let report = run_plan(&plan, out, options, progress)?;
    if options.shard.is_whole() {
        write_summary(&plan, &report.stored, out)?;
    }
    Ok(report)
}

/// Runs the trials of a plan that are missing in the folder `out`, without a summary of the cells.
///
/// # Errors
/// As [`run`], but for the cells.
pub fn run_plan(plan: &Plan, out: &Path, options: GridOptions, progress: &dyn Progress) -> Result<Finished> {
    Inputs::current().unwrap_or_default().within(|| {
        if !options.force {
            store::ensure_same_inputs(out, &plan.manifest.id)?;
        }
        plan.ready()?;
        plan.with_grid(|grid| grid.run(out, options, progress))
    })
}
