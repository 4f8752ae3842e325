//! Rows: the stored results of trials, as append-only JSON lines in a folder.
//!
//! A folder holds one run: `run.json` holds its identity (experiment or claim, settings, seed, build, and the hash of
//! every file that it has read), `rows.jsonl` (or `rows-2-of-8.jsonl` for a shard) holds one [`Row`] per finished trial, written
//! the moment it finishes, in any order. A killed run leaves at worst a torn last line, which is
//! dropped and reported; the same command again skips what is there. Once every trial is there,
//! the file is replaced by the same rows in canonical order (cell, then trial), so that the result
//! is the same to the bit whatever the threads, kills or shards.
//!
//! ```
//! use attnlab_lab::run::store::{Manifest, Opening, Row, Store};
//! use serde_json::{Map, json};
//! let folder = tempfile::tempdir().unwrap();
//! let manifest = Manifest::new("demo", 5, json!({"trials": 1}).as_object().unwrap().clone());
//! let store = Store::open(folder.path(), &manifest, &Opening::default())?;
//! let row = Row::new(&manifest, 7, 0, Map::new(), json!({"snr": [1.5]}).as_object().unwrap().clone());
//! store.append(&row)?;
//! drop(store); // killed, say
//! let again = Store::open(folder.path(), &manifest, &Opening::default())?; // the same command again
//! assert!(again.holds(7, 0));
//! # Ok::<(), attnlab_core::Error>(())
//! ```

mod claim;
mod frame;
mod inputs;
mod lines;
mod manifest;
mod owner;
mod read;
mod repair;
mod row;
mod shard;
mod stored;

pub use frame::{CellKey, CellTable, Frame};
pub(crate) use manifest::LONGEST;
pub use manifest::{Manifest, TRIALS};
pub use owner::Owner;
pub use read::{Rows, all_row_files, by_cell, common_manifest, read, read_all, row_files};
pub use repair::{Fault, Repair};
pub use row::{Row, as_number, as_series, cell_name, number, series};
pub use shard::Shard;
pub use stored::Stored;

use super::{Progress, files, pause};
use crate::build;
use attnlab_core::error::{Error, Result};
use attnlab_core::input::Inputs;
use inputs::NotedInputs;
use owner::LockFile;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Version of the layout of rows and manifests, raised by every change that older readers would misread.
pub const SCHEMA: u32 = 1;

/// Folder beside the rows for the checkpoints of long trials.
pub const CHECKPOINTS: &str = "checkpoints";

/// Files beside the rows of a sweep over a claim for the verdicts of its cells.
pub const SUMMARY: [&str; 2] = ["cells.jsonl", "cells.csv"];

/// Options of [`Store::open`].
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// Part of the run that this process computes.
    pub shard: Shard,
    /// Flag: rows of another run in the folder are deleted.
    pub force: bool,
    /// Flag: rows of other builds are kept, and the manifest names every build.
    pub mix_builds: bool,
    /// The cells of the run; None where they are not known.
    pub cells: Option<Arc<CellTable>>,
}

/// A folder opened for writing the rows of one run.
pub struct Store {
    path: PathBuf,
    appender: Mutex<Appender>,
    manifest: Manifest,
    inputs: NotedInputs,
    cells: Option<Arc<CellTable>>,
    stored: Stored,
    /// Number of rows that are in the file, or are on their way there.
    written: AtomicU64,
    notes: Vec<String>,
    /// Held until the store is dropped.
    _owner: Owner,
}

/// The end of the file.
struct Appender {
    file: LockFile,
    /// Length (bytes) of the complete lines.
    length: u64,
}

impl Appender {
    /// Appends a line in full or not at all: a part that a full disk has left is cut off, so that the
    /// next row starts a line of its own.
    fn append(&mut self, line: &[u8]) -> std::io::Result<()> {
        self.file.0.write_all(line).inspect_err(|_| {
            // Were this to fail too, the torn line would be found and named on the next read.
            let _ = self.file.set_len(self.length);
        })?;
        self.length += line.len() as u64;
        Ok(())
    }
}

impl Store {
    /// Opens `folder` for the rows of the run that `manifest` describes, and checks the rows in it. This
    /// process then owns the folder, or with a shard shares it with those of the other shards, until the
    /// store is dropped. A torn last line is cut off. Under `force`, rows of another run are deleted first. Rows of the
    /// same run with fewer trials are rows of this one: a trial is a function of its number.
    ///
    /// The [inputs](attnlab_core::input) of the run under way are part of its identity. Those that the folder names are
    /// hashed again, also if this process has not opened them: rows of other inputs are rows of another run.
    ///
    /// # Errors
    /// When another process writes into the folder; when it holds rows of another run or build (and no `force`
    /// or `mix_builds`), a row that is not of the run, or a damaged file; when it cannot be written.
    pub fn open(folder: &Path, manifest: &Manifest, how: &Opening) -> Result<Store> {
        let advice = "Choose a folder that you may write with --out";
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, e, advice))?;
        let (owner, manifest, inputs) = claim::claim(folder, manifest, how)?;
        let path = folder.join(how.shard.file());
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = LockFile(file.map_err(|e| Error::io(&path, e, advice))?);
        lock(&file, folder)?;
        let stored = Stored::scan(vec![path.clone()], &Frame { manifest: &manifest, cells: how.cells.clone() })?;
        let mut notes = stored.dropped();
        notes.extend(owner.unprotected(folder));
        notes.extend(build::unknown().map(String::from));
        if let Some(torn) = stored.torn.first() {
            file.set_len(torn.offset).map_err(|e| Error::io(&path, e, "The torn last line could not be cut off"))?;
        }
        let length = file.metadata().map_err(|e| Error::io(&path, e, advice))?;
        let appender = Appender { file, length: length.len() };
        Ok(Store {
            path,
            appender: Mutex::new(appender),
            manifest,
            inputs,
            cells: how.cells.clone(),
            written: AtomicU64::new(stored.len() as u64),
            stored,
            notes,
            _owner: owner,
        })
    }

    /// Takes a share of a folder to write what follows from its rows beside them: summaries, pictures.
    ///
    /// # Errors
    /// When another process writes into the folder, or has made it the folder of another run.
    pub fn share(folder: &Path, manifest: &Manifest) -> Result<Owner> {
        let owner = Owner::share(folder)?;
        match Manifest::of_folder(folder)?.difference(manifest) {
            None => Ok(owner),
            Some(rows) => {
                let problem = format!("another process has written {rows}; choose another folder with --out");
                Err(files::content(folder, problem))
            }
        }
    }

    /// Returns the rows that were in the folder when the store was opened.
    pub fn existing(&self) -> &Stored {
        &self.stored
    }

    /// Returns messages for the user: torn rows that were dropped, a file system without locks.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns `true` if the row of a trial was in the folder when the store was opened.
    pub fn holds(&self, cell: u64, trial: u64) -> bool {
        self.stored.holds(cell, trial)
    }

    /// Appends one row, in one write, so that a kill can tear only the last line.
    ///
    /// # Errors
    /// When the disk is full or the file cannot be written; rows so far are kept.
    pub fn append(&self, row: &Row) -> Result<()> {
        // No row is stored before the files that it was computed from are.
        self.inputs.write_new()?;
        let line = serde_json::to_string(row).map_err(|e| not_json(Path::new("row"), &e))? + "\n";
        // A panic of another writer cannot leave the file itself in a bad state.
        let mut appender = self.appender.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        appender.append(line.as_bytes()).map_err(|e| self.failed(e))
    }

    /// Waits before the next row for a test that [kills](pause::AFTER_ROWS) the process there.
    ///
    /// # Errors
    /// As [`pause::before_next`].
    pub(crate) fn pause(&self, progress: &dyn Progress) -> Result<()> {
        pause::before_next(pause::AFTER_ROWS, self.written.fetch_add(1, Ordering::Relaxed), || progress.stopped())
    }

    /// Checks every row again and replaces the file by the rows in canonical order. Until the last moment the
    /// old file stays, so that nothing is lost on the way.
    ///
    /// # Errors
    /// As [`Store::open`], when an input has changed during the run, and when the file cannot be written.
    pub fn finish(self) -> Result<Stored> {
        self.inputs.recorder.ensure_unchanged()?;
        let frame = Frame { manifest: &self.manifest, cells: self.cells.clone() };
        let stored = Stored::scan(vec![self.path.clone()], &frame)?;
        if stored.is_canonical(&self.path) { Ok(stored) } else { self.replace(&stored) }
    }

    /// Replaces the file by these rows, in full or not at all.
    ///
    /// # Errors
    /// When the file cannot be written; the old one is then kept.
    pub fn replace(&self, rows: &Stored) -> Result<Stored> {
        rows.rewrite(&self.path).map_err(|e| self.failed(e))
    }

    fn failed(&self, e: std::io::Error) -> Error {
        let advice = "The rows so far are kept: make room and give the same command again, it goes on \
                      where it stopped";
        Error::io(&self.path, e, advice)
    }
}

/// Writes a text file in full or not at all, by [`files::replace`].
///
/// # Errors
/// The error of the system.
pub fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    files::replace(path, |file| file.write_all(text.as_bytes()))
}

/// Locks a file of rows for this process. The system frees the lock when the process ends.
fn lock(file: &File, folder: &Path) -> Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(owner::busy(folder)),
        // The owner of the folder has a message about file systems without locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Refuses a folder of a run of `id` whose inputs have changed since. It is called before the inputs are read, so that a
/// change is named as such and not by what it does to their content.
///
/// # Errors
/// Names the input; `run.json` or an input that cannot be read.
pub fn ensure_same_inputs(folder: &Path, id: &str) -> Result<()> {
    let Some(here) = Manifest::read(folder)?.filter(|here| here.id == id) else { return Ok(()) };
    // They are hashed once, because the run will ask the same recorder.
    let recorder = Inputs::current().unwrap_or_default();
    recorder.within(|| inputs::note(&here.inputs));
    match inputs::changed(&here.inputs, &recorder.records()?, false) {
        Some(problem) => Err(claim::refusal(folder, &problem)),
        None => Ok(()),
    }
}

pub(super) fn not_json(path: &Path, e: &serde_json::Error) -> Error {
    files::content(path, format!("cannot be written as JSON ({e})"))
}
