//! Repair of files of rows: what is wrong with each line, and the lines set aside.

use super::lines::{Content, Lines};
use super::owner::busy;
use super::{Frame, Owner};
use crate::run::files;
use attnlab_core::error::{Error, Result};
use std::collections::HashMap;
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

impl Repair {
    /// File beside the rows for the lines that were set aside.
    pub const ASIDE: &'static str = "set-aside.jsonl";

    /// Finds every line of the files of `folder` that is no row of its run. Where rows for one trial differ all of
    /// them are wrong, as nobody can say which is right.
    ///
    /// # Errors
    /// A folder or a file that cannot be read.
    pub fn find(folder: &Path, frame: &Frame) -> Result<Repair> {
        let row_files = super::row_files(folder)?;
        let mut faults = vec![];
        let mut trials: HashMap<(u64, u64), Trial> = HashMap::new();
        for_each_line(&row_files, frame, |place, line| match line {
            Err(why) => faults.push((place, why)),
            Ok((trial, check)) => {
                let known = trials.entry(trial).or_insert(Trial { check, first: place, other: None, rows: 0 });
                known.rows += 1;
                if known.check != check {
                    known.other.get_or_insert(place);
                }
            }
        })?;
        let kept = trials.values().filter(|trial| trial.other.is_none()).map(|trial| trial.rows).sum();
        trials.retain(|_, trial| trial.other.is_some());
        if !trials.is_empty() {
            for_each_line(&row_files, frame, |place, line| {
                let Ok((trial, check)) = line else { return };
                let Some(Trial { check: of_first, first, other: Some(other), .. }) = trials.get(&trial) else { return };
                let (file, number) = if check == *of_first { *other } else { *first };
                let file = row_files[file].file_name().unwrap_or_default().display();
                faults.push((place, format!("is another row for its trial than line {number} of {file}")));
            })?;
        }
        faults.sort();
        let fault = |((file, line), why): (Place, String)| Fault { file: row_files[file].clone(), line, why };
        Ok(Repair {
            faults: faults.into_iter().map(fault).collect(),
            kept,
            leftovers: files::named(folder, files::is_temporary)?,
        })
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
        let Some(_owner) = Owner::alone(folder)? else {
            return Err(busy(folder));
        };
        let repair = Self::find(folder, frame)?;
        let advice = "Nothing was deleted";
        let mut files: Vec<&PathBuf> = repair.faults.iter().map(|f| &f.file).collect();
        files.dedup();
        for path in files {
            let faults = repair.faults.iter().filter(|f| f.file == *path);
            let wrong: Vec<u64> = faults.map(|f| f.line).collect();
            set_aside(folder, path, &wrong)?;
        }
        for path in &repair.leftovers {
            fs::remove_file(path).map_err(|e| Error::io(path, e, advice))?;
        }
        Ok(repair)
    }
}

/// Place of a line: index of its file, and its number there, counted from 1.
type Place = (usize, u64);

/// Rows of one trial.
struct Trial {
    /// Hash of the line of the first.
    check: u64,
    /// Place of the first.
    first: Place,
    /// Place of the first one that differs from it.
    other: Option<Place>,
    /// Number of rows.
    rows: u64,
}

/// Calls `then` with the place of every line, and with cell, number and hash of a row or the reason why it is none.
fn for_each_line(
    files: &[PathBuf],
    frame: &Frame,
    mut then: impl FnMut(Place, std::result::Result<((u64, u64), u64), String>),
) -> Result<()> {
    for (file, path) in files.iter().enumerate() {
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.next()? {
            let row = match line.content {
                Content::Torn => Err("was torn by a kill".to_string()),
                Content::Broken(why) => Err(why),
                Content::Row(row) => frame.cell(&row).map(|cell| ((cell, row.trial), line.check)),
            };
            then((file, line.number), row);
        }
    }
    Ok(())
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
            let written = to.write_all(text).and_then(|()| to.write_all(b"\n"));
            written.map_err(|e| Error::io(&aside, e, advice))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::store::{Manifest, Opening, Row, Store};
    use serde_json::{Map, json};

    #[test]
    fn every_copy_of_a_disputed_row_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = Manifest::new("demo", 5, Map::new());
        let store = Store::open(folder.path(), &manifest, &Opening::default()).unwrap();
        for (trial, snr) in [(0, 1.0), (0, 1.0), (0, 2.0), (0, 1.0), (1, 1.0)] {
            let data = json!({"snr": snr}).as_object().unwrap().clone();
            store.append(&Row::new(&manifest, 7, trial, Map::new(), data)).unwrap();
        }
        drop(store);
        let frame = Frame::without_cells(&manifest);
        let repair = Repair::apply(folder.path(), &frame).unwrap();
        assert_eq!(repair.faults.iter().map(|fault| fault.line).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(repair.kept, 1);
        assert!(Repair::find(folder.path(), &frame).unwrap().is_clean());
    }
}
