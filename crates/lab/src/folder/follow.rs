//! Runs that are followed while they go on: one page, written anew whenever rows or curves have grown.

use super::contents::{Contents, Incomplete, runs_in};
use super::{RunFolder, is_planned};
use crate::catalogue::Catalogue;
use crate::report::{Live, Picture, Report, RunUnderWay, TrainingUnderWay, html, live_html};
use crate::run::TrainingCurve;
use crate::run::files::content;
use crate::run::grid::{Cells, Missing};
use crate::run::store::{CHECKPOINTS, Manifest, row_files};
use attnlab_core::error::{Error, Result};
use attnlab_core::format::pairs;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time without anything new after which a page says so.
pub const STALE_AFTER: Duration = Duration::from_secs(600);

/// Follower of runs of experiments and sweeps. It reads their folders and writes nothing into them.
///
/// ```no_run
/// use attnlab_lab::{catalogue::Catalogue, folder::{Follower, PageUpdate}};
/// use std::time::{Duration, SystemTime};
/// # fn example(catalogue: &Catalogue) -> Result<(), Box<dyn std::error::Error>> {
/// let (folders, every) = (["runs".into()], Duration::from_secs(10));
/// let mut follower = Follower::new(&folders, "attnlab report runs", every, catalogue);
/// loop {
///     match follower.look(SystemTime::now())? {
///         PageUpdate::Unchanged => {}
///         PageUpdate::Page(html) => std::fs::write("report.html", html)?,
///         PageUpdate::Last { html, .. } => break std::fs::write("report.html", html)?,
///     }
///     std::thread::sleep(every);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Follower<'a> {
    folders: &'a [PathBuf],
    /// Command that writes the last page.
    command: &'a str,
    /// Time between two reloads of a page.
    every: Duration,
    catalogue: &'a Catalogue,
    growth: BTreeMap<PathBuf, Growth>,
    /// Contents of the last page of runs under way.
    shown: Option<Contents>,
    /// Flag: the last look could not read what had changed.
    failed: bool,
}

/// Finding of a look.
pub enum PageUpdate {
    /// Nothing new.
    Unchanged,
    /// A page of runs under way, which reloads itself.
    Page(String),
    /// All runs have ended.
    Last {
        /// The page that `attnlab report` writes.
        html: String,
        /// Messages for the user about what was left out.
        notes: Vec<String>,
    },
}

/// Growth of a run.
struct Growth {
    files: Vec<FileState>,
    /// Time at which the files last changed.
    since: SystemTime,
    /// Flag: that is long ago.
    stale: bool,
}

/// Path, length (bytes) and time of a file.
type FileState = (PathBuf, u64, SystemTime);

impl<'a> Follower<'a> {
    /// Creates a follower of the runs at or below `folders`; `command` writes its last page, and its other pages reload
    /// themselves after the time `every`.
    pub fn new(folders: &'a [PathBuf], command: &'a str, every: Duration, catalogue: &'a Catalogue) -> Self {
        Follower { folders, command, every, catalogue, growth: BTreeMap::new(), shown: None, failed: false }
    }

    /// Looks at the folders at the time `now`, and makes the page anew if something has grown or has stopped growing.
    /// Files that are replaced while they are read are read again by the next look.
    ///
    /// # Errors
    /// As [`Contents::of_folders`]: at the first look, or at two looks in succession. Folders of verdicts alone.
    pub fn look(&mut self, now: SystemTime) -> Result<PageUpdate> {
        let look = self.look_once(now);
        let again = look.is_err() && self.shown.is_some() && !self.failed;
        self.failed = again;
        if again { Ok(PageUpdate::Unchanged) } else { look }
    }

    fn look_once(&mut self, now: SystemTime) -> Result<PageUpdate> {
        let runs = runs_in(self.folders)?;
        if !runs.iter().any(|(_, manifest)| is_planned(manifest)) {
            let problem = "it holds verdicts alone, and how many there will be is not known. Follow runs of experiments and \
                           sweeps, or leave out --follow";
            return Err(content(self.folders.first().cloned().unwrap_or_default(), problem));
        }
        if !self.has_changed(&runs, now)? && !self.failed {
            return Ok(PageUpdate::Unchanged);
        }
        let mut contents = Contents::of_runs(&runs, self.catalogue, Incomplete::Followed)?;
        for run in &mut contents.under_way {
            if let Some(growth) = self.growth.get(&run.folder) {
                (run.grown, run.stale) = (growth.since, growth.stale);
            }
        }
        if contents.under_way.is_empty() {
            return Ok(PageUpdate::Last { html: self.page(&contents, html)?, notes: contents.notes });
        }
        let page = self.live(&contents, Some(self.every))?;
        self.shown = Some(contents);
        Ok(PageUpdate::Page(page))
    }

    /// Returns the last page of runs under way, as it is when nobody writes it anew; None if there is none.
    ///
    /// # Errors
    /// When a figure cannot be drawn.
    pub fn without_reloads(&self) -> Result<Option<String>> {
        self.shown.as_ref().map(|contents| self.live(contents, None)).transpose()
    }

    fn live(&self, contents: &Contents, every: Option<Duration>) -> Result<String> {
        self.page(contents, |report| live_html(report, &Live { runs: &contents.under_way, every }))
    }

    fn page(&self, contents: &Contents, write: impl FnOnce(&Report) -> Result<String>) -> Result<String> {
        let audit = contents.audit()?;
        write(&contents.report(self.command, audit.as_ref(), self.catalogue))
    }

    /// Notes the files of the runs; returns `true` if some changed, or a run has become stale.
    fn has_changed(&mut self, runs: &[(PathBuf, Manifest)], now: SystemTime) -> Result<bool> {
        let first = self.growth.is_empty();
        let mut changed = false;
        for (folder, _) in runs {
            let files = files_of(folder)?;
            let growth = self.growth.entry(folder.clone()).or_insert_with(|| Growth {
                // At the first look the files tell when they last grew, by the clock of the machine that wrote them.
                since: match files.iter().map(|(_, _, time)| *time).max() {
                    Some(time) if first => time.min(now),
                    _ => now,
                },
                files: vec![],
                stale: false,
            });
            if growth.files != files {
                if !growth.files.is_empty() {
                    growth.since = now;
                }
                growth.files = files;
                changed = true;
            }
            let stale = now.duration_since(growth.since).is_ok_and(|time| time >= STALE_AFTER);
            changed |= stale != growth.stale;
            growth.stale = stale;
        }
        Ok(changed)
    }
}

/// Lists the files of a run that grow.
fn files_of(folder: &Path) -> Result<Vec<FileState>> {
    let mut paths = row_files(folder)?;
    paths.push(folder.join(Manifest::FILE));
    paths.extend(trials_with_checkpoints(folder)?.into_iter().map(|(path, _)| path.join(TrainingCurve::FILE)));
    let state = |path: PathBuf| {
        // A file may be gone by now, as the checkpoints of a training that has ended.
        let file = fs::metadata(&path).ok()?;
        Some((path, file.len(), file.modified().unwrap_or(UNIX_EPOCH)))
    };
    Ok(paths.into_iter().filter_map(state).collect())
}

/// Lists the folders of checkpoints of a run in the order of their names, with cell and number of the trial of each.
fn trials_with_checkpoints(folder: &Path) -> Result<Vec<(PathBuf, (u64, u64))>> {
    let folder = folder.join(CHECKPOINTS);
    let unreadable = |e| Error::io(&folder, e, "Check its permissions");
    let entries = match fs::read_dir(&folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(vec![]),
        entries => entries.map_err(unreadable)?,
    };
    let mut trials = vec![];
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let parsed = |(cell, trial): (&str, &str)| Some((u64::from_str_radix(cell, 16).ok()?, trial.parse().ok()?));
        if let Some(trial) = name.split_once('-').and_then(parsed) {
            trials.push((path, trial));
        }
    }
    trials.sort();
    Ok(trials)
}

/// Describes a run that lacks rows, with the figures that there are; the time at which it grew is not known here.
pub(super) fn under_way(run: &RunFolder, missing: &Missing) -> Result<(RunUnderWay, Vec<Picture>)> {
    let (trainings, mut pictures, mut notes) = (trainings(run)?, vec![], vec![]);
    if !run.stored.is_empty() {
        match run.pictures(true) {
            Ok(of_rows) => pictures = of_rows,
            Err(e) => notes.push(format!("Its figures need more rows: {e}")),
        }
    }
    let (rows, wanted) = (missing.wanted - missing.absent, missing.wanted);
    let (folder, id) = (run.path.clone(), run.plan.manifest.id.clone());
    Ok((RunUnderWay { folder, id, rows, wanted, grown: UNIX_EPOCH, stale: false, trainings, notes }, pictures))
}

/// Reads the curves of the trainings that have no row yet.
fn trainings(run: &RunFolder) -> Result<Vec<TrainingUnderWay>> {
    let cells = &run.plan.cells;
    let mut curves = vec![];
    for (folder, (cell, trial)) in trials_with_checkpoints(&run.path)? {
        let Some(place) = cells.table().place(cell).filter(|_| !run.stored.holds(cell, trial)) else { continue };
        curves.extend(TrainingCurve::read(&folder)?.map(|curve| (place, trial, curve)));
    }
    if curves.is_empty() {
        return Ok(vec![]);
    }
    curves.sort_by_key(|(place, trial, _)| (*place, *trial));
    let names = varying(cells)?;
    let training = |(place, trial, curve): (usize, u64, TrainingCurve)| {
        let mut name = cells.get(place)?.shown;
        name.retain(|parameter, _| names.contains(parameter));
        name.insert("trial".into(), trial.into());
        Ok(TrainingUnderWay { name: pairs(&name), curve })
    };
    curves.into_iter().map(training).collect()
}

/// Returns the names of the parameters that are not the same in all cells.
fn varying(cells: &Cells) -> Result<BTreeSet<String>> {
    let first = cells.get(0)?.shown;
    let mut names = BTreeSet::new();
    for place in 1..cells.len() {
        let differs = |(name, value): &(String, Value)| first.get(name) != Some(value);
        names.extend(cells.get(place)?.shown.into_iter().filter(differs).map(|(name, _)| name));
    }
    Ok(names)
}
