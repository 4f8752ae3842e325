//! Repair of files of rows: what is wrong with each line, and the lines set aside.

use super::lines::{Content, Lines};
use super::owner::busy;
use super::{CHECKPOINTS, Frame, Owner, Row, SUMMARY};
use crate::run::{checkpoints, files};
use attnlab_core::error::{Error, Result};
use attnlab_core::rng::hash;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A line that does not belong into its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub file: PathBuf,
    /// Number of the line, counted from 1.
    pub line: u64,
    /// Description, as the rest of a sentence that begins with the line.
    pub why: String,
}

/// Result of a search for wrong lines in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// The lines that do not belong into their files.
    pub faults: Vec<Fault>,
    /// Number of rows that stay.
    pub kept: u64,
    /// Temporary files that killed processes have left.
    pub leftovers: Vec<PathBuf>,
}

/// Place of a row of the run.
struct PlacedRow {
    cell: u64,
    trial: u64,
    /// Hash of the row.
    check: u64,
    /// Place of its file.
    file: usize,
    line: u64,
}

impl Repair {
    /// File beside the rows for the lines that were set aside.
    pub const ASIDE: &'static str = "set-aside.jsonl";

    /// Finds every line of the files of `folder` that is no row of its run. Of different rows for one trial
    /// all are wrong, as nobody can say which is right.
    ///
    /// # Errors
    /// A folder or a file that cannot be read.
    pub fn find(folder: &Path, frame: &Frame) -> Result<Repair> {
        let mut repair =
            Repair { leftovers: files::named(folder, |name| files::replaced_by(name).is_some())?, ..Repair::default() };
        repair.leftovers.extend(checkpoints::leftovers(&folder.join(CHECKPOINTS))?);
        let files = super::row_files(folder)?;
        let mut rows: Vec<PlacedRow> = vec![];
        for (file, path) in files.iter().enumerate() {
            let mut lines = Lines::open(path)?;
            while let Some(line) = lines.next()? {
                let judged = match line.content {
                    Content::Torn => Err("was torn by a kill".to_string()),
                    Content::Broken(why) => Err(why),
                    Content::Row(row) => frame.cell(&row).map(|cell| (cell, row)),
                };
                match judged {
                    Ok((cell, row)) => {
                        let (trial, check, line) = (row.trial, hash_of(&row, path)?, line.number);
                        rows.push(PlacedRow { cell, trial, check, file, line })
                    }
                    Err(why) => repair.faults.push(Fault { file: path.clone(), line: line.number, why }),
                }
            }
        }
        rows.sort_unstable_by_key(|row| (row.cell, row.trial, row.file, row.line));
        for trial in rows.chunk_by(|a, b| (a.cell, a.trial) == (b.cell, b.trial)) {
            let first = &trial[0];
            let Some(different) = trial.iter().find(|row| row.check != first.check) else {
                repair.kept += trial.len() as u64;
                continue;
            };
            for row in trial {
                let other = if row.check == first.check { different } else { first };
                let name = files[other.file].file_name().unwrap_or_default().to_string_lossy();
                let why = format!("is another row for its trial than line {} of {name}", other.line);
                repair.faults.push(Fault { file: files[row.file].clone(), line: row.line, why });
            }
        }
        repair.faults.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        Ok(repair)
    }

    /// Returns `true` if nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty() && self.leftovers.is_empty()
    }

    /// Finds the faults again while no other process writes into the folder, moves the wrong lines to
    /// [`ASIDE`](Repair::ASIDE) and deletes the leftovers. The trials of those lines are computed again by the
    /// command that began the run.
    ///
    /// # Errors
    /// When another process writes into the folder, or a file cannot be written; then nothing is lost.
    pub fn apply(folder: &Path, frame: &Frame) -> Result<Repair> {
        let Some(_owner) = Owner::alone(folder)? else { return Err(busy(folder)) };
        let repair = Self::find(folder, frame)?;
        let advice = "Nothing was deleted";
        for faults in repair.faults.chunk_by(|a, b| a.file == b.file) {
            let wrong: Vec<u64> = faults.iter().map(|fault| fault.line).collect();
            set_aside(folder, &faults[0].file, &wrong)?;
        }
        for path in &repair.leftovers {
            fs::remove_file(path).map_err(|e| Error::io(path, e, advice))?;
        }
        Ok(repair)
    }
}

/// Computes a hash of a row that does not depend on its spelling: neither spaces nor the order of names count.
pub(super) fn hash_of(row: &Row, path: &Path) -> Result<u64> {
    let mut value = serde_json::to_value(row).map_err(|e| super::not_json(path, &e))?;
    value.sort_all_objects();
    Ok(hash(value.to_string().as_bytes()))
}

/// Moves the lines of these numbers, ascending, from `path` to the file of wrong lines.
fn set_aside(folder: &Path, path: &Path, wrong: &[u64]) -> Result<()> {
    let aside = folder.join(Repair::ASIDE);
    let advice = "Nothing was deleted";
    let is_wrong = |number: u64| wrong.binary_search(&number).is_ok();
    let mut to = OpenOptions::new().create(true).append(true).open(&aside).map_err(|e| Error::io(&aside, e, advice))?;
    let mut lines = Lines::open(path)?;
    while let Some(line) = lines.next()? {
        if is_wrong(line.number) {
            let text = lines.bytes().strip_suffix(b"\n").unwrap_or(lines.bytes());
            to.write_all(text).and_then(|()| to.write_all(b"\n")).map_err(|e| Error::io(&aside, e, advice))?;
        }
    }
    to.sync_all().map_err(|e| Error::io(&aside, e, advice))?;
    files::replace_by(path, advice, |to| {
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.next()? {
            if !is_wrong(line.number) {
                to.write_all(lines.bytes()).map_err(|e| Error::io(path, e, advice))?;
            }
        }
        Ok(())
    })
}

/// Deletes what killed processes have left beside rows and checkpoints. This process owns the folder, so that no other one is
/// writing them; pictures and tables may be written by others.
///
/// # Errors
/// A folder that cannot be read.
pub(super) fn delete_leftovers(folder: &Path) -> Result<()> {
    let of_run = |name: &str| files::is_of_run(name) || SUMMARY.contains(&name);
    let of_rows = files::named(folder, |name| files::replaced_by(name).is_some_and(of_run))?;
    for path in of_rows.into_iter().chain(checkpoints::leftovers(&folder.join(CHECKPOINTS))?) {
        // One that cannot be deleted only takes room, and `attnlab repair` names it.
        let _ = fs::remove_file(&path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::store::{Manifest, Opening, Store};
    use serde_json::{Map, json};

    #[test]
    fn every_copy_of_a_disputed_row_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = Manifest::new("demo", 5, Map::new());
        let store = Store::open(folder.path(), &manifest, &Opening::default()).unwrap();
        let disputed = [1.0, 1.0, 2.0, 1.0].map(|snr| (0, json!({"snr": snr})));
        // One row in two spellings is no dispute.
        let spelled = [json!({"snr": 1.0, "theta": 2.0}), json!({"theta": 2.0, "snr": 1.0})].map(|data| (1, data));
        for (trial, data) in disputed.into_iter().chain(spelled) {
            let data = data.as_object().unwrap().clone();
            store.append(&Row::new(&manifest, 7, trial, Map::new(), data)).unwrap();
        }
        drop(store);
        let frame = Frame::without_cells(&manifest);
        let repair = Repair::apply(folder.path(), &frame).unwrap();
        assert_eq!(repair.faults.iter().map(|fault| fault.line).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(repair.kept, 2);
        assert!(Repair::find(folder.path(), &frame).unwrap().is_clean());
    }
}
