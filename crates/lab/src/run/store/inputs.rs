//! Inputs of a run in its folder: compared when it is opened, and completed while it goes on.

use super::manifest::LONGEST;
use super::{Manifest, Shard, not_json, replace};
use crate::run::files;
use attnlab_core::error::{Error, Result};
use attnlab_core::input::{self, Input, Inputs, SETTINGS};
use rayon::prelude::*;
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Describes the first input, of those that two runs of a folder both name, whose content is another: of the files of
/// `settings`, or of all others.
pub(super) fn changed(before: &[Input], now: &[Input], settings: bool) -> Option<String> {
    before.iter().filter(|input| (input.kind == SETTINGS) == settings).find_map(|input| {
        let difference = input.difference(of_path(now, &input.path)?)?;
        Some(format!("a run on another {} file: {difference}", input.kind))
    })
}

/// Finds a path among inputs in the order of their paths.
fn of_path<'a>(inputs: &'a [Input], path: &str) -> Option<&'a Input> {
    inputs.binary_search_by(|input| input.path.as_str().cmp(path)).ok().map(|place| &inputs[place])
}

/// Describes the first input that a run has and the run of the folder had not.
pub(super) fn added(before: &[Input], now: &[Input]) -> Option<String> {
    let given = |input: &&Input| input.kind != SETTINGS;
    let new = unnamed(before, now).into_iter().find(given)?;
    Some(match before.iter().any(|input| given(&input)) {
        true => format!("a run without the {} file {}, which is read now", new.kind, new.path),
        false => format!("a run whose input files {} does not name, as those of an earlier version", Manifest::FILE),
    })
}

/// Lists the inputs whose files are not among others, in whatever spelling of their paths.
fn unnamed<'a>(others: &[Input], inputs: &'a [Input]) -> Vec<&'a Input> {
    let mut unnamed: Vec<&Input> = inputs.iter().filter(|input| of_path(others, &input.path).is_none()).collect();
    if !unnamed.is_empty() {
        let named: HashSet<PathBuf> = others.iter().map(Input::location).collect();
        unnamed.retain(|input| !named.contains(&input.location()));
    }
    unnamed
}

/// Compares two values of a setting; paths of one file or folder are equal however they are spelled.
pub(super) fn same_setting(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::String(a), Value::String(b)) if a != b => {
            let (a, b) = (Path::new(a), Path::new(b));
            a.exists() && input::location(a) == input::location(b)
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_setting(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same_setting(a, b)))
        }
        _ => a == b,
    }
}

/// Adds the paths of earlier inputs to those of the run under way.
pub(super) fn note(before: &[Input]) {
    for input in before.iter().filter(|input| input.kind != SETTINGS) {
        input::note(&input.kind, Path::new(&input.path));
    }
}

/// Finds out what is now at the paths of earlier inputs, except those that are known. A file of settings may have become
/// that of another run: the settings themselves are compared.
///
/// # Errors
/// A file that cannot be read.
pub(super) fn again(before: &[Input], known: &[Input]) -> Result<Vec<Input>> {
    let unknown = |input: &&Input| input.kind != SETTINGS && of_path(known, &input.path).is_none();
    before.par_iter().filter(unknown).map(|input| Input::at_path(&input.kind, &input.path)).collect()
}

/// Inputs of a run under way, written to its folder before the first row that may depend on them.
pub(super) struct NotedInputs {
    pub(super) recorder: Inputs,
    folder: PathBuf,
    shard: Shard,
    state: Mutex<State>,
}

/// Inputs that the folder has.
struct State {
    /// Identity of the run with all of them.
    manifest: Manifest,
    /// Those that this shard has added to `run.json`.
    of_shard: Vec<Input>,
    /// Number of inputs when the recorder was last asked.
    count: usize,
}

impl NotedInputs {
    /// Begins with the inputs that the manifest in `folder` names.
    pub(super) fn begin(folder: &Path, manifest: Manifest, shard: Shard, recorder: Inputs) -> Result<Self> {
        let of_shard = if shard.is_whole() { vec![] } else { read(&folder.join(shard.file_of("inputs", "json")))? };
        // The first row asks again, since the run may have opened more in the meantime.
        let state = Mutex::new(State { manifest, of_shard, count: 0 });
        Ok(NotedInputs { recorder, folder: folder.to_path_buf(), shard, state })
    }

    /// Writes the inputs that the run has opened since the last call. Shards of a run write at the same time, each to a file
    /// of its own.
    pub(super) fn write_new(&self) -> Result<()> {
        // After a panic elsewhere the state is that before it, or names more inputs than are written.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let count = self.recorder.count();
        if count == state.count {
            return Ok(());
        }
        let records = self.recorder.records()?;
        let mut new: Vec<Input> = unnamed(&state.manifest.inputs, &records).into_iter().cloned().collect();
        if !new.is_empty() {
            let mut manifest = state.manifest.clone();
            manifest.add_inputs(&new);
            if self.shard.is_whole() {
                write(&self.folder.join(Manifest::FILE), &manifest)?;
            } else {
                new.splice(0..0, state.of_shard.clone());
                write(&self.folder.join(self.shard.file_of("inputs", "json")), &new)?;
                state.of_shard = new;
            }
            state.manifest = manifest;
        }
        state.count = count;
        Ok(())
    }
}

/// Lists the files of the inputs of shards.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    files::named(folder, |name| name.starts_with("inputs-") && name.ends_with(".json"))
}

/// Reads the inputs of every shard.
pub(super) fn of_shards(folder: &Path) -> Result<Vec<Vec<Input>>> {
    files(folder)?.iter().map(|path| read(path)).collect()
}

/// Reads a file of inputs; none of a file that does not exist.
fn read(path: &Path) -> Result<Vec<Input>> {
    files::read_list(path, |e| format!("must be a list of input files that this version can read ({e})"))
}

/// Writes JSON, unless the file has it already. What could not be read again is refused.
pub(super) fn write(path: &Path, value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(|e| not_json(path, &e))? + "\n";
    if text.len() as u64 > LONGEST {
        let problem = format!("would be longer than {} MB. Write ranges where the axes are long lists", LONGEST >> 20);
        return Err(files::content(path, problem));
    }
    if fs::read(path).is_ok_and(|bytes| bytes == text.as_bytes()) {
        return Ok(());
    }
    replace(path, &text).map_err(|e| Error::io(path, e, "Choose a folder that you may write with --out"))
}
