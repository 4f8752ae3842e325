//! Stored runs: plan, rows, origin and figures of a folder of rows.

mod contents;
mod follow;
mod keep;
mod size;

pub use contents::Contents;
pub use follow::{Follower, PageUpdate, STALE_AFTER};
pub use keep::{keep, list, note_dropped, note_shard, note_trials};
pub use size::with_size;

use crate::audit;
use crate::catalogue::Catalogue;
use crate::claim::Source;
use crate::experiment::{Entry, Experiment};
use crate::figure::Figure;
use crate::report::{Picture, VERDICTS};
use crate::run::Origin;
use crate::run::files::content;
use crate::run::grid::Missing;
use crate::run::store::{Frame, Manifest, Repair, SCHEMA, Stored, row_files};
use crate::sweep::{self, Part, Plan};
use attnlab_core::error::{Error, Result};
use attnlab_core::format::quoted;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A run that was kept in a folder: an experiment, or a sweep over a claim or over an experiment.
///
/// ```no_run
/// use attnlab_lab::{catalogue::Catalogue, figure, folder::RunFolder};
/// # fn example(catalogue: &Catalogue) -> Result<(), attnlab_core::Error> {
/// let run = RunFolder::open("runs/map".as_ref(), catalogue)?;
/// println!("{} rows of {}", run.stored.len(), run.plan.manifest.id);
/// figure::write_all(&run.figures()?, "plots".as_ref())?;
/// # Ok(())
/// # }
/// ```
pub struct RunFolder {
    /// The folder.
    pub path: PathBuf,
    /// Cells of the run, and the work of their trials.
    pub plan: Plan,
    /// Every row, in canonical order, each checked against the plan.
    pub stored: Stored,
    /// Messages for the user about torn rows that were dropped.
    pub dropped: Vec<String>,
    /// Origins of the rows; more than one if another machine continued the run.
    pub origins: Vec<Origin>,
    /// Experiment of the run; None for a sweep over a claim.
    entry: Option<Entry>,
}

impl RunFolder {
    /// Opens the folder of a run that has at least one row.
    ///
    /// # Errors
    /// When the folder holds no run, a run that this catalogue does not know, a row that is not of the run, or no
    /// row yet.
    pub fn open(path: &Path, catalogue: &Catalogue) -> Result<Self> {
        let run = Self::begun(path, catalogue)?;
        if run.stored.is_empty() {
            return Err(no_rows(path));
        }
        Ok(run)
    }

    /// Opens the folder of a run that may have no row yet.
    fn begun(path: &Path, catalogue: &Catalogue) -> Result<Self> {
        let plan = Plan::of_folder(path, catalogue)?;
        let Manifest { schema, build, .. } = &plan.manifest;
        if *schema != SCHEMA {
            let problem = format!(
                "its rows have schema = {schema}, not {SCHEMA}. Read them with the build that wrote them: {build}"
            );
            return Err(content(path, problem));
        }
        let frame = Frame { manifest: &plan.manifest, cells: Some(plan.cells.table().clone()) };
        let stored = Stored::scan(row_files(path)?, &frame)?;
        let mut origins = Origin::read(path)?;
        if origins.is_empty() {
            let command = match plan.experiment() {
                Some(e) => command(catalogue.experiment(e.name())?, e, plan.manifest.seed)?,
                None => format!("attnlab sweep FILE --out {}", quoted(&path.display().to_string())),
            };
            origins.push(Origin::unknown(command, &plan.manifest.build));
        }
        let entry = if plan.claim().is_some() { None } else { Some(*catalogue.experiment(&plan.manifest.id)?) };
        Ok(RunFolder { path: path.to_path_buf(), entry, plan, dropped: stored.dropped(), stored, origins })
    }

    /// Compares the rows with those of the whole run.
    ///
    /// # Errors
    /// When the rows are not of the run's plan.
    pub fn missing(&self) -> Result<Missing> {
        self.plan.with_grid(|grid| grid.missing(&self.stored, &self.path))
    }

    /// Builds every figure of the run: the maps of a sweep over a claim, or the figures of each experiment.
    ///
    /// # Errors
    /// When trials are missing, or rows do not fit the experiment.
    pub fn figures(&self) -> Result<Vec<Figure>> {
        let missing = self.missing()?;
        if let Some(cell) = &missing.first {
            let problem = format!(
                "{} of {} trials are missing, the first of them of the cell ({cell}). Give the command \
                 that began the run again, it continues; or draw what is there, with a watermark: \
                 attnlab figure --partial",
                missing.absent, missing.wanted
            );
            return Err(content(&self.path, problem));
        }
        self.draw()
    }

    /// Builds the figures of the rows that are there. If trials are missing, every panel has a watermark with
    /// the share of them.
    ///
    /// # Errors
    /// When a figure needs a row that is missing, or rows do not fit the experiment.
    pub fn partial_figures(&self) -> Result<Vec<Figure>> {
        let missing = self.missing()?;
        let figures = self.draw()?;
        if missing.absent == 0 {
            return Ok(figures);
        }
        let words = format!("incomplete: {} % of the trials", missing.percent());
        Ok(figures.into_iter().map(|figure| figure.watermarked(&words)).collect())
    }

    fn draw(&self) -> Result<Vec<Figure>> {
        let mut figures = vec![];
        if self.plan.claim().is_some() {
            let mut cells = vec![];
            sweep::for_each_summary(&self.plan, &self.stored, |cell| {
                cells.push(cell.mark());
                Ok(())
            })?;
            figures.extend(sweep::figures(&self.plan, &cells)?);
        }
        for part in self.plan.parts(&self.stored) {
            figures.extend(figures_of(&part?, self.entry.as_ref())?);
        }
        Ok(figures)
    }

    /// Builds the figures with their seeds and origins, for a report: those of
    /// [`partial_figures`](RunFolder::partial_figures) if `partial`, otherwise of [`figures`](RunFolder::figures).
    ///
    /// # Errors
    /// As those.
    pub fn pictures(&self, partial: bool) -> Result<Vec<Picture>> {
        let sheet = self.plan.claim().map(|(claim, _)| claim.sheet());
        let of_claim = sheet.map(|sheet| Source { paper: sheet.paper, place: &sheet.place });
        let picture = |figure| Picture {
            figure,
            seed: self.plan.manifest.seed,
            origins: self.origins.clone(),
            source: of_claim.or(self.entry.map(|entry| entry.source)),
            claim: sheet.map(|sheet| sheet.id.clone()),
        };
        let figures = if partial { self.partial_figures()? } else { self.figures()? };
        Ok(figures.into_iter().map(picture).collect())
    }
}

/// Returns `true` if the rows of a run follow from its plan, which those of verdicts and audits do not.
fn is_planned(manifest: &Manifest) -> bool {
    ![VERDICTS, audit::ID].contains(&manifest.id.as_str())
}

/// Returns the frame of a run: with its cells, except for rows without a plan, such as verdicts, and for a run that
/// measures files, which may be gone.
fn frame_of<'a>(manifest: &'a Manifest, catalogue: &Catalogue) -> Result<Frame<'a>> {
    let known = catalogue.claim(&manifest.id).is_ok()
        || catalogue.experiment(&manifest.id).is_ok_and(|entry| !entry.measures_files());
    match is_planned(manifest) && known {
        true => Ok(Frame { manifest, cells: Some(Plan::of_manifest(manifest, catalogue)?.cells.table().clone()) }),
        false => Ok(Frame::without_cells(manifest)),
    }
}

/// Reads and checks the rows of a folder: against the plan of the run where the catalogue knows it, otherwise
/// against the manifest.
///
/// # Errors
/// A folder that holds no run, or no row yet; a line that is no row of it, with file and number.
pub fn rows(folder: &Path, catalogue: &Catalogue) -> Result<Stored> {
    let manifest = Manifest::of_folder(folder)?;
    if !has_rows(folder)? {
        return Err(no_rows(folder));
    }
    Stored::scan(row_files(folder)?, &frame_of(&manifest, catalogue)?)
}

/// Finds the lines of a folder that are no rows of its run, and with `apply` sets them aside.
///
/// # Errors
/// A folder that holds no run or that another process writes into; files that cannot be read or written.
pub fn repair(folder: &Path, catalogue: &Catalogue, apply: bool) -> Result<Repair> {
    let manifest = Manifest::of_folder(folder)?;
    let frame = frame_of(&manifest, catalogue)?;
    if apply { Repair::apply(folder, &frame) } else { Repair::find(folder, &frame) }
}

/// Returns `true` if a file of rows in the folder is not empty.
///
/// # Errors
/// A folder that cannot be read.
pub fn has_rows(folder: &Path) -> Result<bool> {
    Ok(row_files(folder)?.iter().any(|file| std::fs::metadata(file).is_ok_and(|file| file.len() > 0)))
}

/// Returns the error for a folder whose run has no rows yet.
pub fn no_rows(folder: &Path) -> Error {
    content(folder, "it holds no rows yet. Give the command that began the run again: it continues")
}

/// Builds the figures of one part of a run. A sweep over an experiment's settings has the figures once for
/// each combination of them.
fn figures_of(part: &Part, entry: Option<&Entry>) -> Result<Vec<Figure>> {
    let mut figures = part.experiment.figures(&part.rows)?;
    if let Some(entry) = entry {
        figures = with_size(figures, entry, part.experiment)?;
    }
    for figure in figures.iter_mut().filter(|_| !part.label.is_empty()) {
        let plain = |c: char| c.is_alphanumeric() || "=.-_".contains(c);
        let words = part.label.split(|c| !plain(c)).filter(|w| !w.is_empty());
        figure.name = format!("{}_{}", figure.name, words.collect::<Vec<_>>().join("_"));
        figure.title = format!("{} ({})", figure.title, part.label);
    }
    Ok(figures)
}

/// Returns the command that runs an experiment with these settings. It sets those that differ from the
/// defaults or, if they are fewer, from the quick sizes.
///
/// # Errors
/// When the defaults of the experiment are refused.
pub fn command(entry: &Entry, experiment: &dyn Experiment, seed: u64) -> Result<String> {
    let (full, quick) = (size::changed(entry, experiment, false)?, size::changed(entry, experiment, true)?);
    let (flag, changed) = if full.len() <= quick.len() { ("", full) } else { (" --quick", quick) };
    let set = |(name, value): &(String, Value)| format!(" --set {}", quoted(&format!("{name}={value}")));
    Ok(format!("attnlab run {}{flag} --seed {seed}{}", entry.name, changed.iter().map(set).collect::<String>()))
}
