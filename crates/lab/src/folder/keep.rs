//! Runs whose rows, origin and pictures are kept in a folder, with progress on standard error.

use super::{command, with_size};
use crate::command::{Bar, Out, RowOptions, note};
use crate::experiment::{self, Entry, Experiment, RunOptions};
use crate::figure;
use crate::report::Origin;
use crate::run::Row;
use crate::run::grid::RunReport;
use crate::run::store::Shard;
use attnlab_core::error::Result;
use std::path::{Path, PathBuf};

/// Runs an experiment: rows, origin and pictures go to a folder, the paths of the pictures to `out`, progress and
/// warnings to standard error. Returns the rows.
///
/// # Errors
/// As [`experiment::run`]; pictures that cannot be drawn or written.
pub fn keep(
    entry: &Entry,
    experiment: &dyn Experiment,
    (seed, rows): (u64, RowOptions),
    folder: &Path,
    out: &mut Out,
) -> Result<Vec<Row>> {
    let how = RunOptions { seed, force: rows.force, shard: rows.shard };
    let report = experiment::run(experiment, folder, &how, &Bar::resumable())?;
    note_trials(&report);
    if report.computed > 0 {
        Origin::here(command(entry, experiment, seed)?).note(folder)?;
    }
    if rows.shard.is_whole() {
        list(&figure::write_all(&with_size(experiment.figures(&report.rows)?, entry, experiment)?, folder)?, out)?;
    } else {
        note_shard(rows.shard, report.rows.len(), folder);
    }
    Ok(report.rows)
}

/// Prints the paths of files that were written.
///
/// # Errors
/// When they cannot be printed.
pub fn list(written: &[PathBuf], out: &mut Out) -> Result<()> {
    written.iter().try_for_each(|path| out.line(&path.display().to_string()))
}

/// Reports the rows that were dropped on standard error.
pub fn note_dropped(report: &RunReport) {
    for dropped in &report.dropped {
        note(&format!("warning: {dropped}"));
    }
}

/// Reports on standard error the numbers of stored and new trials, and the dropped rows.
pub fn note_trials(report: &RunReport) {
    note_dropped(report);
    if report.resumed > 0 {
        let (old, new) = (report.resumed, report.computed);
        note(&format!("{old} trials were there already, {new} computed now"));
    }
}

/// Reports on standard error that a shard is complete, and how to merge the shards.
pub fn note_shard(shard: Shard, rows: usize, folder: &Path) {
    let path = folder.join(shard.file());
    let (path, folder) = (path.display(), folder.display());
    note(&format!(
        "shard {shard} is complete: {rows} rows in {path}. When all shards are: attnlab merge {folder} \
         --out DIR (with the folders of the others, if they have their own)"
    ));
}
