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

    /// Finds every line of the files of `folder` that is no row of its run. Of two different rows for one trial
    /// both are wrong, as nobody can say which is right.
    ///
    /// # Errors
    /// A folder or a file that cannot be read.
    pub fn find(folder: &Path, frame: &Frame) -> Result<Repair> {
        let mut repair = Repair { leftovers: leftovers(folder)?, ..Repair::default() };
        // The first row of each trial: hash of its line, file and number.
        let mut first: HashMap<(u64, u64), (u64, PathBuf, u64)> = HashMap::new();
        let mut wrong: HashMap<(PathBuf, u64), String> = HashMap::new();
        for path in super::row_files(folder)? {
            let mut lines = Lines::open(&path)?;
            while let Some(line) = lines.next()? {
                let place = (path.clone(), line.number);
                let judged = match line.content {
                    Content::Torn => Err("was torn by a kill".to_string()),
                    Content::Broken(why) => Err(why),
                    Content::Row(row) => frame.cell(&row).map(|cell| (cell, row.trial)),
                };
                let trial = match judged {
                    Ok(trial) => trial,
                    Err(why) => {
                        wrong.insert(place, why);
                        continue;
                    }
                };
                repair.kept += 1;
                let Some((check, file, number)) = first.get(&trial) else {
                    first.insert(trial, (line.check, path.clone(), line.number));
                    continue;
                };
                if *check != line.check {
                    let differs = |file: &Path, number: u64| {
                        let file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                        format!("is another row for its trial than line {number} of {file}")
                    };
                    repair.kept -= 1;
                    let other = (file.clone(), *number);
                    if !wrong.contains_key(&other) {
                        repair.kept -= 1;
                    }
                    wrong.insert(other, differs(&path, line.number));
                    wrong.insert(place, differs(file, *number));
                }
            }
        }
        let fault = |((file, line), why)| Fault { file, line, why };
        repair.faults = wrong.into_iter().map(fault).collect();
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
    let mut failed = None;
    let replaced = files::replace(path, |to| {
        let mut copy = || -> Result<()> {
            let mut lines = Lines::open(path)?;
            while let Some(line) = lines.next()? {
                if !is_wrong(line.number) {
                    let written = to.write_all(lines.bytes());
                    written.map_err(|e| Error::io(path, e, advice))?;
                }
            }
            Ok(())
        };
        copy().map_err(|e| {
            failed = Some(e);
            std::io::Error::other("not read")
        })
    });
    match (failed, replaced) {
        (Some(e), _) => Err(e),
        (None, Err(e)) => Err(Error::io(path, e, advice)),
        (None, Ok(())) => Ok(()),
    }
}

/// Lists the temporary files that killed processes have left in a folder.
fn leftovers(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |e| Error::io(folder, e, "Give the folder that holds the rows");
    let mut paths = vec![];
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if files::is_temporary(&path) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
