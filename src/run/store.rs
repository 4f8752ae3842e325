//! Rows: what every trial leaves behind, as append-only JSON lines in a folder.
//!
//! A folder holds one run: `run.json` says of what (experiment or claim, settings, seed, version),
//! `rows.jsonl` (or `rows-2-of-8.jsonl` for a shard) holds one [`Row`] per finished trial, written
//! the moment it finishes, in any order. A killed run leaves at worst a torn last line, which is
//! dropped and reported; the same command again skips what is there. Once every trial is there,
//! the file is replaced by the same rows in canonical order (cell, then trial), so that the result
//! is the same to the bit whatever the threads, kills or shards.
//!
//! ```
//! use attnlab::run::store::{Manifest, Row, Shard, Store};
//! use serde_json::{Map, json};
//! let folder = tempfile::tempdir().unwrap();
//! let manifest = Manifest::new("demo", 5, json!({"trials": 1}).as_object().unwrap().clone());
//! let store = Store::open(folder.path(), &manifest, Shard::WHOLE, false)?;
//! let row = Row::new(&manifest, 7, 0, Map::new(), json!({"snr": [1.5]}).as_object().unwrap().clone());
//! store.append(&row)?;
//! let again = Store::open(folder.path(), &manifest, Shard::WHOLE, false)?; // the same command again
//! assert!(again.holds(7, 0));
//! # Ok::<(), attnlab::Error>(())
//! ```

use super::files;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Version of the layout of rows and manifests; a change that older readers misread raises it.
pub const SCHEMA: u32 = 1;

/// One finished trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// The experiment or claim.
    pub id: String,
    /// Seed of every stream.
    pub seed: u64,
    /// Hash of the parameters ([`crate::params::Params::cell`]) as 16 hexadecimal digits: JSON
    /// readers that know only doubles would round a 64-bit number.
    pub cell: String,
    /// Number of the trial in its cell.
    pub trial: u64,
    /// The parameters of the cell.
    pub parameters: Map<String, Value>,
    /// Named numbers and series; see [`number`] for those that are not finite.
    pub data: Map<String, Value>,
    /// Version of attnlab that wrote the row.
    pub build: String,
}

impl Row {
    /// The row of one trial of the run that `manifest` describes.
    pub fn new(
        manifest: &Manifest,
        cell: u64,
        trial: u64,
        parameters: Map<String, Value>,
        data: Map<String, Value>,
    ) -> Self {
        Row {
            schema: SCHEMA,
            id: manifest.id.clone(),
            seed: manifest.seed,
            cell: cell_name(cell),
            trial,
            parameters,
            data,
            build: manifest.build.clone(),
        }
    }

    /// A number of `data`.
    ///
    /// # Errors
    /// When there is no such number.
    pub fn number(&self, name: &str) -> Result<f64> {
        let found = self.data.get(name).and_then(as_number);
        found.ok_or_else(|| self.missing(name, "a number"))
    }

    /// A series of numbers of `data`.
    ///
    /// # Errors
    /// When there is no such series.
    pub fn series(&self, name: &str) -> Result<Vec<f64>> {
        let list = self.data.get(name).and_then(Value::as_array);
        let numbers: Option<Vec<f64>> = list.and_then(|l| l.iter().map(as_number).collect());
        numbers.ok_or_else(|| self.missing(name, "a series of numbers"))
    }

    /// A number of the cell's parameters.
    ///
    /// # Errors
    /// When there is no such number.
    pub fn parameter(&self, name: &str) -> Result<f64> {
        let found = self.parameters.get(name).and_then(as_number);
        found.ok_or_else(|| self.missing(name, "a number among the parameters"))
    }

    /// A word of the cell's parameters.
    ///
    /// # Errors
    /// When there is no such word.
    pub fn word(&self, name: &str) -> Result<&str> {
        let found = self.parameters.get(name).and_then(Value::as_str);
        found.ok_or_else(|| self.missing(name, "a word among the parameters"))
    }

    fn missing(&self, name: &str, what: &str) -> Error {
        Error::Content {
            path: PathBuf::from(format!(
                "row of {} (cell {}, trial {})",
                self.id, self.cell, self.trial
            )),
            problem: format!("it has no {what} named '{name}'; was it written by this version?"),
        }
    }
}

/// A number as JSON. JSON has no infinities and no NaN: they become the words that
/// [`as_number`] reads back.
pub fn number(x: f64) -> Value {
    if x.is_finite() {
        x.into()
    } else if x.is_nan() {
        "nan".into()
    } else if x > 0.0 {
        "inf".into()
    } else {
        "-inf".into()
    }
}

/// A series as JSON, by [`number`].
pub fn series(xs: &[f64]) -> Value {
    Value::Array(xs.iter().map(|x| number(*x)).collect())
}

/// Reads what [`number`] wrote.
pub fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(n) => n.as_f64(),
        Value::String(word) => match word.as_str() {
            "nan" => Some(f64::NAN),
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// The name of a cell in rows.
pub fn cell_name(cell: u64) -> String {
    format!("{cell:016x}")
}

/// What a folder holds the rows of: `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// The experiment or claim.
    pub id: String,
    /// Seed of every stream.
    pub seed: u64,
    /// Every setting.
    pub settings: Map<String, Value>,
    /// Version of attnlab that writes the rows.
    pub build: String,
}

impl Manifest {
    /// The file in a folder of rows.
    pub const FILE: &'static str = "run.json";

    /// The manifest of a run by this build.
    pub fn new(id: &str, seed: u64, settings: Map<String, Value>) -> Self {
        Manifest {
            schema: SCHEMA,
            id: id.to_string(),
            seed,
            settings,
            build: env!("CARGO_PKG_VERSION").to_string(),
        }
    }

    /// Reads `folder/run.json`; None when there is none.
    ///
    /// # Errors
    /// When the file cannot be read or is no manifest.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(Self::FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io(&path, e, "Is it readable for you?")),
        };
        let manifest = serde_json::from_str(&text).map_err(|e| Error::Content {
            path,
            problem: format!("not a description of a run that this version can read ({e})"),
        })?;
        Ok(Some(manifest))
    }

    /// What differs between two runs, in words; None when nothing does.
    fn difference(&self, wanted: &Manifest) -> Option<String> {
        let differs = |what: &str, here: &dyn std::fmt::Display, now: &dyn std::fmt::Display| {
            Some(format!(
                "rows with {what} = {here}, but this run has {what} = {now}"
            ))
        };
        if self.id != wanted.id {
            return Some(format!("rows of {}, not of {}", self.id, wanted.id));
        }
        if self.seed != wanted.seed {
            return differs("seed", &self.seed, &wanted.seed);
        }
        if self.build != wanted.build || self.schema != wanted.schema {
            return differs("version", &self.build, &wanted.build);
        }
        let names = self.settings.keys().chain(wanted.settings.keys());
        let changed = names
            .into_iter()
            .find(|n| self.settings.get(*n) != wanted.settings.get(*n))?;
        let show = |m: &Manifest| {
            m.settings
                .get(changed)
                .map_or("(not set)".into(), Value::to_string)
        };
        differs(changed, &show(self), &show(wanted))
    }
}

/// The part of a run that one process works on: shard `index` of `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    pub index: u64,
    /// At least 1.
    pub count: u64,
}

impl Shard {
    /// The whole run in one process.
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// Name of the file that its rows go to.
    pub fn file(&self) -> String {
        match self.count {
            1 => "rows.jsonl".into(),
            n => format!("rows-{}-of-{n}.jsonl", self.index),
        }
    }
}

/// Rows read from a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The rows, without repetitions, in the order of the files.
    pub rows: Vec<Row>,
    /// What was dropped, in words for the user: torn last lines of killed runs.
    pub dropped: Vec<String>,
}

/// Reads every `*.jsonl` of a folder, in the order of their names.
///
/// # Errors
/// A folder that cannot be read, a line in the middle that is no row, two different rows for one
/// trial.
pub fn read(folder: &Path) -> Result<Rows> {
    let mut rows = Rows::default();
    for path in row_files(folder)? {
        let found = read_file(&path)?;
        rows.rows.extend(found.rows);
        rows.dropped.extend(found.dropped);
    }
    rows.rows = without_repetitions(folder, rows.rows)?;
    Ok(rows)
}

/// Sorts rows into canonical order: by the place of their cell in `cells`, then by trial. Rows of
/// other cells are left out.
pub fn canonical(rows: Vec<Row>, cells: &[u64]) -> Vec<Row> {
    let place: BTreeMap<String, usize> = cells
        .iter()
        .enumerate()
        .map(|(i, c)| (cell_name(*c), i))
        .collect();
    let mut placed: Vec<(usize, Row)> = rows
        .into_iter()
        .filter_map(|row| Some((*place.get(&row.cell)?, row)))
        .collect();
    placed.sort_by_key(|(place, row)| (*place, row.trial));
    placed.into_iter().map(|(_, row)| row).collect()
}

/// Rows in canonical order, cell by cell.
pub fn by_cell(rows: &[Row]) -> Vec<&[Row]> {
    rows.chunk_by(|a, b| a.cell == b.cell).collect()
}

/// A folder opened for writing the rows of one run.
pub struct Store {
    path: PathBuf,
    file: Mutex<File>,
    rows: Vec<Row>,
    held: HashSet<(String, u64)>,
    dropped: Vec<String>,
}

impl Store {
    /// Opens `folder` for the rows of the run that `manifest` describes, and reads what is there.
    /// A torn last line is cut off. With `force`, rows of another run are deleted first.
    ///
    /// # Errors
    /// When the folder holds rows of another run (and no `force`), holds a damaged file, or cannot
    /// be written.
    pub fn open(folder: &Path, manifest: &Manifest, shard: Shard, force: bool) -> Result<Store> {
        let advice = "Choose a folder that you may write with --out";
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, e, advice))?;
        claim_folder(folder, manifest, force)?;
        let path = folder.join(shard.file());
        let Rows { rows, dropped } = if path.exists() {
            cut_torn_line(&path)?
        } else {
            Rows::default()
        };
        if let Some(foreign) = rows
            .iter()
            .find(|r| r.id != manifest.id || r.seed != manifest.seed)
        {
            let found = format!("rows of {} with seed {}", foreign.id, foreign.seed);
            return Err(refusal(&path, &found));
        }
        let rows = without_repetitions(&path, rows)?;
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.map_err(|e| Error::io(&path, e, advice))?;
        let held = rows.iter().map(|r| (r.cell.clone(), r.trial)).collect();
        Ok(Store {
            path,
            file: Mutex::new(file),
            rows,
            held,
            dropped,
        })
    }

    /// The rows that were there when the store was opened.
    pub fn existing(&self) -> &[Row] {
        &self.rows
    }

    /// What was dropped when the store was opened, in words for the user.
    pub fn dropped(&self) -> &[String] {
        &self.dropped
    }

    /// Whether a trial was there when the store was opened.
    pub fn holds(&self, cell: u64, trial: u64) -> bool {
        self.held.contains(&(cell_name(cell), trial))
    }

    /// Appends one row, in one write, so that a kill can tear only the last line.
    ///
    /// # Errors
    /// When the disk is full or the file cannot be written; rows so far are kept.
    pub fn append(&self, row: &Row) -> Result<()> {
        let line = line_of(row)?;
        // A panic of another writer cannot leave the file itself in a bad state.
        let mut file = self
            .file
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        file.write_all(line.as_bytes()).map_err(|e| self.failed(e))
    }

    /// Replaces the file by the rows of `cells` in canonical order, and returns them. Until the
    /// last moment the old file stays, so that nothing is lost on the way.
    ///
    /// # Errors
    /// When the file cannot be read back or written.
    pub fn finish(self, cells: &[u64]) -> Result<Vec<Row>> {
        let rows = without_repetitions(&self.path, read_file(&self.path)?.rows)?;
        let rows = canonical(rows, cells);
        let text = rows.iter().map(line_of).collect::<Result<String>>()?;
        replace(&self.path, &text).map_err(|e| self.failed(e))?;
        Ok(rows)
    }

    fn failed(&self, e: std::io::Error) -> Error {
        let advice = "The rows so far are kept: make room and give the same command again, it goes on \
                      where it stopped";
        Error::io(&self.path, e, advice)
    }
}

/// Writes a text file whole or not at all, by [`files::replace`].
///
/// # Errors
/// What the system says.
pub fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    files::replace(path, |file| file.write_all(text.as_bytes()))
}

/// Makes `folder` that of the run, or refuses.
fn claim_folder(folder: &Path, manifest: &Manifest, force: bool) -> Result<()> {
    let path = folder.join(Manifest::FILE);
    let files = row_files(folder)?;
    // With --force a manifest that cannot be read is no reason to stop.
    let here = if force {
        Manifest::read(folder).unwrap_or(None)
    } else {
        Manifest::read(folder)?
    };
    let problem = match &here {
        Some(here) => here.difference(manifest),
        None if files.is_empty() => None,
        None => Some(format!(
            "rows but no {}, so nobody can say of what",
            Manifest::FILE
        )),
    };
    match (problem, force) {
        (Some(problem), false) => return Err(refusal(folder, &problem)),
        (Some(_), true) => {
            for file in files {
                fs::remove_file(&file)
                    .map_err(|e| Error::io(&file, e, "It could not be replaced"))?;
            }
        }
        (None, _) if here.is_some() => return Ok(()),
        (None, _) => {}
    }
    let text = serde_json::to_string_pretty(manifest).map_err(|e| not_json(&path, &e))?;
    replace(&path, &(text + "\n"))
        .map_err(|e| Error::io(&path, e, "Choose a folder that you may write with --out"))
}

fn refusal(path: &Path, found: &str) -> Error {
    Error::Content {
        path: path.to_path_buf(),
        problem: format!(
            "it holds {found}. Choose another folder with --out, or write --force to delete those \
             rows and start anew"
        ),
    }
}

fn row_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |e| Error::io(folder, e, "Give the folder that holds the rows");
    let mut files = vec![];
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|e| e == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads one file. A last line without its newline, or one that is no row, is a torn write.
fn read_file(path: &Path) -> Result<Rows> {
    let bytes = fs::read(path).map_err(|e| Error::io(path, e, "Is it readable for you?"))?;
    let mut rows = Rows::default();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
    for (i, line) in lines.iter().enumerate() {
        match serde_json::from_slice::<Row>(line) {
            Ok(row) if line.ends_with(b"\n") => rows.rows.push(row),
            _ if i + 1 == lines.len() => {
                let note = "was torn (the run was killed while writing it) and is dropped";
                rows.dropped
                    .push(format!("{}: line {} {note}", path.display(), i + 1));
            }
            Err(e) => {
                let problem = format!(
                    "line {} is not a row of this version ({e}); delete the line to have its trial \
                     computed again",
                    i + 1
                );
                return Err(Error::Content {
                    path: path.to_path_buf(),
                    problem,
                });
            }
            Ok(_) => {}
        }
    }
    Ok(rows)
}

/// Reads one file and cuts a torn last line off, so that what is appended starts a line.
fn cut_torn_line(path: &Path) -> Result<Rows> {
    let found = read_file(path)?;
    if found.dropped.is_empty() {
        return Ok(found);
    }
    let advice = "The torn last line could not be cut off";
    let bytes = fs::read(path).map_err(|e| Error::io(path, e, advice))?;
    let before_last = bytes[..bytes.len().saturating_sub(1)]
        .iter()
        .rposition(|b| *b == b'\n');
    let keep = before_last.map_or(0, |i| i + 1) as u64;
    let file = OpenOptions::new().write(true).open(path);
    file.and_then(|f| f.set_len(keep))
        .map_err(|e| Error::io(path, e, advice))?;
    Ok(found)
}

/// Drops rows that say the same twice; two rows that differ for one trial are an error, because a
/// trial is a pure function of its indices.
fn without_repetitions(path: &Path, rows: Vec<Row>) -> Result<Vec<Row>> {
    let mut first: BTreeMap<(String, u64), usize> = BTreeMap::new();
    let mut unique: Vec<Row> = vec![];
    for row in rows {
        match first.get(&(row.cell.clone(), row.trial)) {
            Some(i) if unique[*i] != row => {
                let problem = format!(
                    "two different rows for cell {}, trial {} of {}: they come from different runs",
                    row.cell, row.trial, row.id
                );
                return Err(Error::Content {
                    path: path.to_path_buf(),
                    problem,
                });
            }
            Some(_) => {}
            None => {
                first.insert((row.cell.clone(), row.trial), unique.len());
                unique.push(row);
            }
        }
    }
    Ok(unique)
}

fn line_of(row: &Row) -> Result<String> {
    let text = serde_json::to_string(row).map_err(|e| not_json(Path::new("row"), &e))?;
    Ok(text + "\n")
}

fn not_json(path: &Path, e: &serde_json::Error) -> Error {
    Error::Content {
        path: path.to_path_buf(),
        problem: format!("cannot be written as JSON ({e})"),
    }
}
