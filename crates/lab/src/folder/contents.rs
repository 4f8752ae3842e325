//! Contents of a report from folders of runs.

use super::{RunFolder, follow, has_rows, no_rows};
use crate::audit::{self, Summary};
use crate::catalogue::Catalogue;
use crate::report::{Checked, Found, MutantResult, Picture, Report, RunUnderWay, VERDICTS, latest, restore};
use crate::run::Row;
use crate::run::files::{self, content};
use crate::run::store::{self, Manifest};
use attnlab_core::error::Result;
use itertools::Itertools;
use std::path::{Path, PathBuf};

/// Verdicts and pictures for a report, collected from folders of runs.
#[derive(Clone, Default)]
pub struct Contents {
    /// The verdicts.
    pub checks: Vec<Checked>,
    /// The mutants of those claims.
    pub mutants: Vec<MutantResult>,
    /// The pictures.
    pub pictures: Vec<Picture>,
    /// Rows of audits.
    audited: Vec<Row>,
    /// Runs that lack rows, where they are followed.
    pub(super) under_way: Vec<RunUnderWay>,
    /// Messages for the user about runs and rows that were left out, with the reason.
    pub notes: Vec<String>,
}

/// Treatment of runs that lack rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Incomplete {
    /// Left out, with a note.
    LeftOut,
    /// Drawn with a watermark.
    Watermarked,
    /// Drawn with a watermark, as far as they can be, and listed as under way.
    Followed,
}

/// Depth to which folders below the given ones are searched.
const DEEPEST: usize = 8;

impl Contents {
    /// Collects every run at or below `folders`. Pictures of incomplete runs are left out with a note, or, if
    /// `partial`, carry a watermark.
    ///
    /// # Errors
    /// A folder without a run at or below it, a run of no experiment or claim of this catalogue, rows
    /// that cannot be drawn.
    pub fn of_folders(folders: &[PathBuf], catalogue: &Catalogue, partial: bool) -> Result<Contents> {
        let incomplete = if partial { Incomplete::Watermarked } else { Incomplete::LeftOut };
        Self::of_runs(&runs_in(folders)?, catalogue, incomplete)
    }

    /// Collects these runs.
    pub(super) fn of_runs(
        runs: &[(PathBuf, Manifest)],
        catalogue: &Catalogue,
        incomplete: Incomplete,
    ) -> Result<Contents> {
        let mut contents = Contents::default();
        runs.iter().try_for_each(|(folder, manifest)| contents.add(folder, manifest, catalogue, incomplete))?;
        Ok(contents)
    }

    /// Returns these contents as a report, with the command that writes it and the summary of its audits.
    pub fn report<'a>(&'a self, command: &'a str, audit: Option<&'a Summary>, catalogue: &'a Catalogue) -> Report<'a> {
        let (checks, mutants, pictures) = (&self.checks, &self.mutants, &self.pictures);
        Report { command, checks, mutants, tables: &[], pictures, audit, catalogue }
    }

    /// Summarises the rows of all audits; None where there are none.
    ///
    /// # Errors
    /// A row that is not of an audit.
    pub fn audit(&self) -> Result<Option<Summary>> {
        match self.audited.as_slice() {
            [] => Ok(None),
            rows => Summary::of_rows(rows).map(Some),
        }
    }

    fn add(&mut self, folder: &Path, manifest: &Manifest, catalogue: &Catalogue, incomplete: Incomplete) -> Result<()> {
        if manifest.id == VERDICTS {
            return self.verdicts(folder, catalogue);
        }
        if manifest.id == audit::ID {
            self.audited.extend(store::read(folder)?.rows);
            return Ok(());
        }
        let followed = incomplete == Incomplete::Followed;
        if !followed && !has_rows(folder)? {
            // A run without rows does not keep the others out of the report.
            self.notes.push(format!("warning: left out: {}", no_rows(folder)));
            return Ok(());
        }
        let run = if followed { RunFolder::begun(folder, catalogue)? } else { RunFolder::open(folder, catalogue)? };
        if !manifest.mixed.is_empty() {
            let (folder, builds) = (folder.display(), manifest.builds().collect::<Vec<_>>().join(", "));
            self.notes.push(format!("note: {folder}: its rows were computed by several builds: {builds}"));
        }
        let missing = run.missing()?;
        if missing.absent > 0 && followed {
            let (under_way, pictures) = follow::under_way(&run, &missing)?;
            self.under_way.push(under_way);
            self.pictures.extend(pictures);
            return Ok(());
        }
        if missing.absent > 0 && incomplete == Incomplete::LeftOut {
            let (folder, absent, wanted) = (folder.display(), missing.absent, missing.wanted);
            self.notes.push(format!(
                "warning: left out: {folder}: {absent} of {wanted} trials are missing. Give the command that began the \
                 run again, or add --partial"
            ));
            return Ok(());
        }
        let pictures = run.pictures(incomplete == Incomplete::Watermarked)?;
        if run.plan.claim().is_some() && pictures.is_empty() {
            let (id, folder) = (&manifest.id, folder.display());
            let note = format!("{folder}: a sweep over {id} without a numeric axis has no map; its table is cells.csv");
            self.notes.push(format!("note: {note}"));
        }
        self.notes.extend(run.dropped.iter().map(|d| format!("warning: {d}")));
        self.pictures.extend(pictures);
        Ok(())
    }

    fn verdicts(&mut self, folder: &Path, catalogue: &Catalogue) -> Result<()> {
        let stored = store::read(folder)?;
        self.notes.extend(stored.dropped.iter().map(|d| format!("warning: {d}")));
        for row in latest(&stored.rows) {
            match restore(row, catalogue) {
                Ok(Found::Claim(checked)) => self.checks.push(checked),
                Ok(Found::Mutant(mutant)) => self.mutants.push(mutant),
                // A row that cannot be read does not keep the others out of the report.
                Err(e) => self.notes.push(format!("warning: left out: {e}")),
            }
        }
        Ok(())
    }
}

/// Returns every folder at or below `folders` that holds a run, each once, those below one folder in the order of their
/// names.
///
/// # Errors
/// A folder that cannot be read, or that has no run at or below it.
pub(super) fn runs_in(folders: &[PathBuf]) -> Result<Vec<(PathBuf, Manifest)>> {
    let mut runs = vec![];
    for folder in folders {
        let runs_before = runs.len();
        search(folder, DEEPEST, &mut runs)?;
        if runs.len() == runs_before {
            let file = Manifest::FILE;
            let problem =
                format!("no {file} there or below. Give a folder that `attnlab reproduce` or `attnlab run` wrote");
            return Err(content(folder, problem));
        }
    }
    Ok(runs.into_iter().unique_by(|(path, _)| path.clone()).collect())
}

/// Adds every folder at or below `folder` that holds a run.
fn search(folder: &Path, deepest: usize, runs: &mut Vec<(PathBuf, Manifest)>) -> Result<()> {
    if let Some(manifest) = Manifest::read(folder)? {
        runs.push((folder.to_path_buf(), manifest));
    }
    let mut below = files::listed(folder, "Give a folder with rows")?;
    below.retain(|path| path.is_dir() && !path.is_symlink());
    match deepest {
        0 => Ok(()),
        _ => below.iter().try_for_each(|path| search(path, deepest - 1, runs)),
    }
}
