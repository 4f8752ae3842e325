//! Runs whose rows, origin and pictures are kept in a folder, with progress on standard error.

use super::{command, with_size};
use crate::command::{Bar, Out, RowOptions, note};
use crate::experiment::{self, Entry, Experiment, RunOptions};
use crate::figure;
use crate::run::Row;
use crate::run::store::{Shard, Store};
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
    let made_by = command(entry, experiment, seed)?;
    let how =
        RunOptions { seed, force: rows.force, mix_builds: rows.mix_builds, shard: rows.shard, command: Some(&made_by) };
    let report = experiment::run(experiment, folder, &how, &Bar::resumable())?;
    note_trials(&report.dropped, report.resumed, report.computed);
    if rows.shard.is_whole() {
        let _owner = Store::share(folder, &experiment::manifest(experiment, seed))?;
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

/// Reports on standard error what was dropped or left out.
pub fn note_dropped(dropped: &[String]) {
    dropped.iter().for_each(|dropped| note(&format!("warning: {dropped}")));
}

/// Reports on standard error the numbers of stored and new trials, and what was dropped.
pub fn note_trials(dropped: &[String], resumed: u64, computed: u64) {
    note_dropped(dropped);
    if resumed > 0 {
        note(&format!("{resumed} trials were there already, {computed} computed now"));
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
