//! Rows: the stored results of trials, as append-only JSON lines in a folder.
//!
//! A folder holds one run: `run.json` holds its identity (experiment or claim, settings, seed, version, and the hash of
//! every file that it has read), `rows.jsonl` (or `rows-2-of-8.jsonl` for a shard) holds one [`Row`] per finished trial, written
//! the moment it finishes, in any order. A killed run leaves at worst a torn last line, which is
//! dropped and reported; the same command again skips what is there. Once every trial is there,
//! the file is replaced by the same rows in canonical order (cell, then trial), so that the result
//! is the same to the bit whatever the threads, kills or shards.
//!
//! ```
//! use attnlab_lab::run::store::{Manifest, Row, Shard, Store};
//! use serde_json::{Map, json};
//! let folder = tempfile::tempdir().unwrap();
//! let manifest = Manifest::new("demo", 5, json!({"trials": 1}).as_object().unwrap().clone());
//! let store = Store::open(folder.path(), &manifest, Shard::WHOLE, false)?;
//! let row = Row::new(&manifest, 7, 0, Map::new(), json!({"snr": [1.5]}).as_object().unwrap().clone());
//! store.append(&row)?;
//! drop(store); // killed, say
//! let again = Store::open(folder.path(), &manifest, Shard::WHOLE, false)?; // the same command again
//! assert!(again.holds(7, 0));
//! # Ok::<(), attnlab_core::Error>(())
//! ```

mod inputs;
mod manifest;
mod read;
mod row;

pub use manifest::{Manifest, Shard, TRIALS};
pub use read::{Rows, by_cell, canonical, read, read_all};
pub use row::{Row, as_number, cell_name, number, series};

use super::files;
use attnlab_core::error::{Error, Result};
use attnlab_core::input::Inputs;
use inputs::NotedInputs;
use read::{cut_torn_line, read_file, row_files, without_repetitions};
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Version of the layout of rows and manifests, raised by every change that older readers would misread.
pub const SCHEMA: u32 = 1;

/// Folder beside the rows for the checkpoints of long trials.
pub const CHECKPOINTS: &str = "checkpoints";

/// A folder opened for writing the rows of one run.
pub struct Store {
    path: PathBuf,
    appender: Mutex<Appender>,
    rows: Vec<Row>,
    held: HashSet<(String, u64)>,
    dropped: Vec<String>,
    inputs: NotedInputs,
}

/// The end of the file.
struct Appender {
    file: File,
    /// Length (bytes) of the complete lines.
    length: u64,
}

impl Appender {
    /// Appends a line in full or not at all: a part that a full disk has left is cut off, so that the
    /// next row starts a line of its own.
    fn append(&mut self, line: &[u8]) -> std::io::Result<()> {
        match self.file.write_all(line) {
            Ok(()) => self.length += line.len() as u64,
            Err(e) => {
                // Were this to fail too, the torn line would be found and named on the next read.
                let _ = self.file.set_len(self.length);
                return Err(e);
            }
        }
        Ok(())
    }
}

impl Store {
    /// Opens `folder` for the rows of the run that `manifest` describes, and reads the rows in it.
    /// A torn last line is cut off. With `force`, rows of another run are deleted first. Rows of the same run with fewer
    /// trials are rows of this one: a trial is a function of its number.
    ///
    /// The [inputs](attnlab_core::input) of the run under way are part of its identity. Those that the folder names are
    /// hashed again, also if this process has not opened them: rows of other inputs are rows of another run.
    ///
    /// # Errors
    /// When the folder holds rows of another run (and no `force`), holds a damaged file, cannot be
    /// written, or is being written by another process.
    pub fn open(folder: &Path, manifest: &Manifest, shard: Shard, force: bool) -> Result<Store> {
        let advice = "Choose a folder that you may write with --out";
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, e, advice))?;
        let noted = claim_folder(folder, manifest, shard, force)?;
        let path = folder.join(shard.file());
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.map_err(|e| Error::io(&path, e, advice))?;
        lock(&file, &path)?;
        let Rows { rows, dropped } = cut_torn_line(&path)?;
        if let Some(foreign) = rows.iter().find(|r| r.id != manifest.id || r.seed != manifest.seed) {
            let contents = format!("rows of {} with seed {}", foreign.id, foreign.seed);
            return Err(refusal(&path, &contents));
        }
        let rows = without_repetitions(&path, rows)?;
        let held = rows.iter().map(|r| (r.cell.clone(), r.trial)).collect();
        let length = file.metadata().map_err(|e| Error::io(&path, e, advice))?;
        let appender = Appender { file, length: length.len() };
        Ok(Store { path, appender: Mutex::new(appender), rows, held, dropped, inputs: noted })
    }

    /// Returns the rows that were in the folder when the store was opened.
    pub fn existing(&self) -> &[Row] {
        &self.rows
    }

    /// Returns messages for the user about rows that were dropped when the store was opened.
    pub fn dropped(&self) -> &[String] {
        &self.dropped
    }

    /// Returns `true` if the row of a trial was in the folder when the store was opened.
    pub fn holds(&self, cell: u64, trial: u64) -> bool {
        self.held.contains(&(cell_name(cell), trial))
    }

    /// Appends one row, in one write, so that a kill can tear only the last line.
    ///
    /// # Errors
    /// When the disk is full or the file cannot be written; rows so far are kept.
    pub fn append(&self, row: &Row) -> Result<()> {
        // No row is stored before the files that it was computed from are.
        self.inputs.write_new()?;
        let line = line_of(row)?;
        // A panic of another writer cannot leave the file itself in a bad state.
        let mut appender = self.appender.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let written = appender.append(line.as_bytes());
        written.map_err(|e| self.failed(e))
    }

    /// Replaces the file by the rows of `cells` in canonical order, and returns them. Until the
    /// last moment the old file stays, so that nothing is lost on the way.
    ///
    /// # Errors
    /// When the file cannot be read back or written.
    pub fn finish(self, cells: &[u64]) -> Result<Vec<Row>> {
        let rows = without_repetitions(&self.path, read_file(&self.path)?.rows)?;
        let rows = canonical(rows, cells);
        self.replace(&rows)?;
        Ok(rows)
    }

    /// Replaces the file by these rows, in full or not at all.
    ///
    /// # Errors
    /// When the file cannot be written; the old one is then kept.
    pub fn replace(&self, rows: &[Row]) -> Result<()> {
        let text = rows.iter().map(line_of).collect::<Result<String>>()?;
        replace(&self.path, &text).map_err(|e| self.failed(e))
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
fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Error::Content {
            path: path.to_path_buf(),
            problem: "another process is writing these rows: wait until it has ended, or choose \
                      another folder with --out"
                .into(),
        }),
        // Some network file systems have no locks; without one, two processes would at worst
        // compute the same rows twice.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Writes the manifest of the run into `folder`, or refuses a folder of another run.
fn claim_folder(folder: &Path, manifest: &Manifest, shard: Shard, force: bool) -> Result<NotedInputs> {
    let files = row_files(folder)?;
    // With --force a manifest that cannot be read is no reason to stop.
    let mut here = if force { Manifest::read(folder).unwrap_or(None) } else { Manifest::read(folder)? };
    let recorder = Inputs::current().unwrap_or_default();
    let opened = recorder.records()?;
    let mut manifest = manifest.clone();
    let problem = match &mut here {
        Some(here) => {
            let mut now = manifest.clone();
            now.add_inputs(&opened);
            now.add_inputs(&inputs::again(&here.inputs, &now.inputs)?);
            if shard.is_whole() && here.grows_to(&now) {
                ensure_no_shards(&files)?;
                here.settings = now.settings.clone();
            }
            here.difference(&now).or_else(|| inputs::added(&here.inputs, &opened))
        }
        None if files.is_empty() => None,
        None => Some(format!("rows without {}, whose run is unknown", Manifest::FILE)),
    };
    let exists = problem.is_none() && here.is_some();
    match (problem, force) {
        (Some(problem), false) => return Err(refusal(folder, &problem)),
        (Some(_), true) => {
            let replaced = |path: &Path, done: std::io::Result<()>| {
                done.map_err(|e| Error::io(path, e, "It could not be replaced"))
            };
            for file in files.into_iter().chain(inputs::files(folder)?) {
                replaced(&file, fs::remove_file(&file))?;
            }
            // The checkpoints are of the other run too.
            let checkpoints = folder.join(CHECKPOINTS);
            if checkpoints.is_dir() {
                replaced(&checkpoints, fs::remove_dir_all(&checkpoints))?;
            }
        }
        (None, _) => {}
    }
    match here.filter(|_| exists) {
        // The run goes on under the identity that it began with.
        Some(mut here) => {
            here.add_inputs(&manifest.inputs);
            manifest = here;
        }
        None => manifest.add_inputs(&opened),
    }
    NotedInputs::begin(folder, manifest, shard, recorder, exists)
}

/// Refuses rows of shards, which divide the trials of a run by their numbers in the whole run.
fn ensure_no_shards(files: &[PathBuf]) -> Result<()> {
    let whole = Shard::WHOLE.file();
    match files.iter().find(|file| file.file_name().is_none_or(|name| name != whole.as_str())) {
        None => Ok(()),
        Some(shard) => {
            let problem = "it holds a shard of the run with fewer trials, and with more of them shards divide them in \
                           another way. Give attnlab merge, and then the larger number in the merged folder";
            Err(Error::Content { path: shard.clone(), problem: problem.into() })
        }
    }
}

/// Refuses a folder of a run of `id` whose inputs have changed since. It is called before the inputs are read, so that a
/// change is named as such and not by what it does to their content.
///
/// # Errors
/// Names the input; `run.json` or an input that cannot be read.
pub fn ensure_same_inputs(folder: &Path, id: &str) -> Result<()> {
    let Some(here) = Manifest::read(folder)?.filter(|here| here.id == id) else {
        return Ok(());
    };
    // They are hashed once, because the run will ask the same recorder.
    let recorder = Inputs::current().unwrap_or_default();
    recorder.within(|| inputs::note(&here.inputs));
    match inputs::changed(&here.inputs, &recorder.records()?) {
        Some(problem) => Err(refusal(folder, &problem)),
        None => Ok(()),
    }
}

fn refusal(path: &Path, contents: &str) -> Error {
    Error::Content {
        path: path.to_path_buf(),
        problem: format!(
            "it holds {contents}. Choose another folder with --out, or write --force to delete those \
             rows and start anew"
        ),
    }
}

fn line_of(row: &Row) -> Result<String> {
    let text = serde_json::to_string(row).map_err(|e| not_json(Path::new("row"), &e))?;
    Ok(text + "\n")
}

fn not_json(path: &Path, e: &serde_json::Error) -> Error {
    Error::Content { path: path.to_path_buf(), problem: format!("cannot be written as JSON ({e})") }
}
