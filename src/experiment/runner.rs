//! Runs an experiment: cells × trials in parallel, rows appended as they finish, resumable.

use super::Experiment;
use crate::error::{Error, Result};
use crate::params::Params;
use crate::rng::Streams;
use crate::run::store::{Manifest, Shard, Store};
use crate::run::{Progress, Row};
use rayon::prelude::*;
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Seed of every stream.
    pub seed: u64,
    /// Delete rows of another run that the folder holds.
    pub force: bool,
}

/// What a run found and did.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// Every row, in canonical order.
    pub rows: Vec<Row>,
    /// Trials that were there already.
    pub resumed: u64,
    /// Trials computed now.
    pub computed: u64,
    /// What was dropped from the files of a killed run, in words for the user.
    pub dropped: Vec<String>,
}

/// Trials that together hold more than this do not run side by side, as in `check`.
const PARALLEL_MEMORY: u64 = 1 << 30;

/// Runs every trial that the folder `out` does not hold yet, and returns all rows.
///
/// Killed at any moment, the same call again goes on; the rows are the same to the bit.
///
/// # Errors
/// A folder with rows of another run, a disk that is full, a trial that cannot be simulated. Rows
/// so far are kept.
///
/// ```no_run
/// use attnlab::{experiment::{self, RunOptions}, figure, run::Silent};
/// let experiment = experiment::find("snr_per_layer")?.configure(true, None, &Default::default())?;
/// let out = std::path::Path::new("runs/snr_per_layer");
/// let report = experiment::run(&*experiment, out, &RunOptions::default(), &Silent)?;
/// figure::write_all(&experiment.figures(&report.rows)?, out)?;
/// # Ok::<(), attnlab::Error>(())
/// ```
pub fn run(
    experiment: &dyn Experiment,
    out: &Path,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<RunReport> {
    experiment.validate()?;
    let cells = experiment.cells()?;
    let hashes: Vec<u64> = cells.iter().map(Params::cell).collect();
    refuse_equal_cells(&cells, &hashes)?;
    let manifest = Manifest::new(experiment.id(), options.seed, experiment.settings());
    let store = Store::open(out, &manifest, Shard::WHOLE, options.force)?;
    let (dropped, trials) = (store.dropped().to_vec(), experiment.trials());
    let todo: Vec<(usize, u64)> = (0..cells.len())
        .flat_map(|c| (0..trials).map(move |t| (c, t)))
        .filter(|(c, t)| !store.holds(hashes[*c], *t))
        .collect();
    let all = cells.len() as u64 * trials;
    let resumed = all - todo.len() as u64;

    progress.start(experiment.id(), all);
    progress.advance(resumed);
    let stop = AtomicBool::new(false);
    let one = |&(c, trial): &(usize, u64)| -> Result<()> {
        // After an error (a full disk, say) the trials not yet begun are not worth their time.
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let streams = Streams::new(options.seed, experiment.id(), hashes[c], trial);
        let data = experiment.trial(&cells[c], &streams);
        let row = data.map(|data| {
            Row::new(
                &manifest,
                hashes[c],
                trial,
                cells[c].as_json().clone(),
                data,
            )
        });
        let written = row.and_then(|row| store.append(&row));
        stop.fetch_or(written.is_err(), Ordering::Relaxed);
        progress.advance(1);
        written
    };
    let heaviest = cells
        .iter()
        .map(|c| experiment.memory(c))
        .max()
        .unwrap_or(0);
    let together = heaviest.saturating_mul(rayon::current_num_threads() as u64);
    let done: Result<()> = if together > PARALLEL_MEMORY {
        todo.iter().try_for_each(one)
    } else {
        // Trials differ in length by cell; single ones are stolen, not whole cells.
        todo.par_iter().with_max_len(1).try_for_each(one)
    };
    progress.finish();
    done?;
    let rows = store.finish(&hashes)?;
    Ok(RunReport {
        rows,
        resumed,
        computed: todo.len() as u64,
        dropped,
    })
}

/// Two equal cells would be one set of rows counted twice.
fn refuse_equal_cells(cells: &[Params], hashes: &[u64]) -> Result<()> {
    let mut seen = HashSet::new();
    for (cell, hash) in cells.iter().zip(hashes) {
        if !seen.insert(hash) {
            let value = serde_json::Value::Object(cell.as_json().clone());
            return Err(Error::invalid(
                "cell",
                value,
                "each combination once; is a list repeating a value?",
            ));
        }
    }
    Ok(())
}
