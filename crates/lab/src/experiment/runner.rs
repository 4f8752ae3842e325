//! Runs an experiment: its cells × trials as a [grid](crate::run::grid).

use super::Experiment;
use crate::run::Progress;
use crate::run::grid::{Cell, Cells, Grid, GridOptions};
use crate::run::store::{self, Manifest, Shard};
use attnlab_core::error::Result;
use attnlab_core::input::Inputs;
use attnlab_core::params::Params;
use std::path::Path;

pub use crate::run::grid::RunReport;

/// Options of [`run()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions<'a> {
    /// Seed of every stream.
    pub seed: u64,
    /// Flag: rows of another run in the folder are deleted.
    pub force: bool,
    /// Flag: rows of other builds are kept beside those of this one.
    pub mix_builds: bool,
    /// Part of the trials; the whole run by default.
    pub shard: Shard,
    /// Command that makes the run, noted beside the rows with the machine; None to note nothing.
    pub command: Option<&'a str>,
}

/// Runs every trial of the shard that is missing in the folder `out`, and returns all rows of the shard.
///
/// After a kill the same call continues the run; the rows are the same to the bit.
///
/// # Errors
/// A folder with rows of another run, or of files that have changed since, a disk that is full, a trial that cannot be
/// simulated. Rows so far are kept.
///
/// ```no_run
/// use attnlab_lab::{catalogue::Catalogue, experiment::{self, RunOptions}, figure, run::Silent};
/// # fn example(catalogue: &Catalogue) -> Result<(), attnlab_core::Error> {
/// let experiment = catalogue.experiment("snr_per_layer")?.configure(true, None, &Default::default())?;
/// let out = std::path::Path::new("runs/snr_per_layer");
/// let report = experiment::run(&*experiment, out, &RunOptions::default(), &Silent)?;
/// figure::write_all(&experiment.figures(&report.rows)?, out)?;
/// # Ok(())
/// # }
/// ```
pub fn run(
    experiment: &dyn Experiment,
    out: &Path,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<RunReport> {
    let RunOptions { seed, force, mix_builds, shard, command } = *options;
    Inputs::current().unwrap_or_default().within(|| {
        experiment.check_settings()?;
        if !force {
            store::ensure_same_inputs(out, experiment.name())?;
        }
        experiment.ready()?;
        let grid = Grid {
            manifest: manifest(experiment, seed),
            cells: Cells::listed(cells(experiment)?)?,
            trial: &|_, cell, streams, context| experiment.trial_at(&cell.params, streams, context),
            stopping: None,
        };
        grid.run(out, GridOptions { shard, force, mix_builds, command }, progress)?.into_report()
    })
}

/// Returns the manifest of a run of an experiment by this build.
pub fn manifest(experiment: &dyn Experiment, seed: u64) -> Manifest {
    Manifest::new(experiment.name(), seed, experiment.settings())
}

/// Returns the cells of an experiment.
///
/// # Errors
/// When one cannot be made.
pub fn cells(experiment: &dyn Experiment) -> Result<Vec<Cell>> {
    let trials = experiment.trials();
    let cell = |params: Params| {
        let (shown, memory) = (params.as_json().clone(), experiment.memory(&params));
        Cell { params, shown, trials, memory }
    };
    Ok(experiment.cells()?.into_iter().map(cell).collect())
}
