//! Checkpoints of long trials: tensors in one file, everything else as JSON beside it.
//!
//! The JSON is written last and names the checksum of the tensors, so a kill at any moment leaves the
//! checkpoint before it as the newest whole one. Two are kept. What a kill leaves besides (temporary files, tensors without
//! their JSON) is deleted by the next process that has the folder of the run for itself.

pub use super::files::content;

use super::{Progress, TrainingCurve, files, pause};
use attnlab_core::clock::Instant;
use attnlab_core::error::{Error, Result};
use attnlab_core::rng::hash;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Number of checkpoints kept: the newest, and the one before it in case the newest is damaged.
const KEPT: usize = 2;
/// Number of checkpoints that this process has written, or is about to write.
static WRITTEN: AtomicU64 = AtomicU64::new(0);
/// Number of folders that trials of this process write checkpoints into.
static WRITING: AtomicUsize = AtomicUsize::new(0);
/// Extensions of the two files of a checkpoint.
const TENSORS: &str = "safetensors";
const JSON: &str = "json";
/// Key of the checksum in the JSON.
const CHECKSUM: &str = "tensors";

/// Folder of checkpoints.
pub struct Checkpoints {
    folder: PathBuf,
    /// Flag: a trial writes into it.
    writing: bool,
}

/// Returns `true` if a trial that writes checkpoints is under way.
pub fn under_way() -> bool {
    WRITING.load(Ordering::SeqCst) > 0
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        WRITING.fetch_sub(usize::from(self.writing), Ordering::SeqCst);
    }
}

/// A checkpoint as read from its folder.
pub struct Restored<S> {
    /// Path of its tensors, for messages.
    pub path: PathBuf,
    /// The tensors: the bytes of a safetensors file.
    pub tensors: Vec<u8>,
    /// Everything else.
    pub state: S,
}

impl Checkpoints {
    /// Opens this folder for a trial that writes into it, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be made.
    pub fn in_folder(folder: &Path) -> Result<Self> {
        let advice = "Choose a folder that you may write with --out";
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, e, advice))?;
        WRITING.fetch_add(1, Ordering::SeqCst);
        Ok(Checkpoints { folder: folder.to_path_buf(), writing: true })
    }

    /// Refers to this folder, which need not exist.
    pub fn at(folder: &Path) -> Self {
        Checkpoints { folder: folder.to_path_buf(), writing: false }
    }

    /// Returns the path of the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, step: u64, extension: &str) -> PathBuf {
        self.folder.join(file_name(step, extension))
    }

    /// Writes the checkpoint of a step, and removes those before the last two.
    ///
    /// # Errors
    /// [`Error::Io`] when the disk is full or the folder cannot be written; the checkpoints before are
    /// kept.
    pub fn write(&self, step: u64, tensors: &[u8], state: &impl Serialize) -> Result<()> {
        pause::before_next(pause::AFTER_CHECKPOINTS, WRITTEN.fetch_add(1, Ordering::Relaxed), || false)?;
        let json = self.path(step, JSON);
        let mut value = serde_json::to_value(state).map_err(|e| content(&json, e))?;
        value[CHECKSUM] = format!("{:016x}", hash(tensors)).into();
        let text = serde_json::to_string_pretty(&value).map_err(|e| content(&json, e))?;
        for (extension, bytes) in [(TENSORS, tensors), (JSON, text.as_bytes())] {
            let path = self.path(step, extension);
            let advice = "The checkpoint before it is kept: make room and give the same command again";
            files::replace(&path, |file| file.write_all(bytes)).map_err(|e| Error::io(&path, e, advice))?;
        }
        for step in self.steps()?.into_iter().rev().skip(KEPT) {
            for extension in [JSON, TENSORS] {
                // An old checkpoint that cannot be removed only takes space.
                let _ = fs::remove_file(self.path(step, extension));
            }
        }
        Ok(())
    }

    /// Reads the newest intact checkpoint; None if there is none. Damaged checkpoints are skipped and reported to
    /// `progress`.
    ///
    /// # Errors
    /// [`Error::Content`] for a checkpoint that is not of the same run, as `same_run` says; [`Error::Io`] for a
    /// file that cannot be read.
    pub fn restore<S: DeserializeOwned>(
        &self,
        same_run: impl Fn(&S) -> bool,
        progress: &dyn Progress,
    ) -> Result<Option<Restored<S>>> {
        for step in self.steps()?.into_iter().rev() {
            let path = self.path(step, JSON);
            let text = fs::read(&path).map_err(|e| Error::io(&path, e, "Check its permissions"))?;
            let Some((checksum, state)) = parsed::<S>(&text) else {
                progress.line(&damaged(&path));
                continue;
            };
            if !same_run(&state) {
                let problem = "it is a checkpoint of other settings. Choose another folder with --out, or \
                               delete it to start anew";
                return Err(content(&path, problem));
            }
            let path = self.path(step, TENSORS);
            let tensors = fs::read(&path).unwrap_or_default();
            if format!("{:016x}", hash(&tensors)) != checksum {
                progress.line(&damaged(&path));
                continue;
            }
            return Ok(Some(Restored { path, tensors, state }));
        }
        Ok(None)
    }

    /// Removes the folder with all checkpoints.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be removed.
    pub fn clear(self) -> Result<()> {
        fs::remove_dir_all(&self.folder).map_err(|e| Error::io(&self.folder, e, "Delete it by hand"))
    }

    /// Returns the step of the newest checkpoint, for messages.
    pub fn newest(&self) -> Option<u64> {
        self.steps().ok()?.last().copied()
    }

    /// Lists the steps of the JSON files, ascending.
    fn steps(&self) -> Result<Vec<u64>> {
        let paths = files::listed(&self.folder, "Check its permissions")?;
        let step = |path: &PathBuf| step_of(&path.file_name()?.to_string_lossy(), JSON);
        let mut steps: Vec<u64> = paths.iter().filter_map(step).collect();
        steps.sort_unstable();
        Ok(steps)
    }
}

/// Lists what killed trainings have left besides whole checkpoints in the folder that holds those of all trials: temporary
/// files, and tensors without their JSON. The folder need not exist.
///
/// # Errors
/// A folder that cannot be read.
pub(super) fn leftovers(trials: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = vec![];
    if !trials.is_dir() {
        return Ok(paths);
    }
    for trial in files::named(trials, |_| true)?.into_iter().filter(|path| path.is_dir()) {
        let whole = Checkpoints::at(&trial).steps()?;
        let tensors = |name: &str| step_of(name, TENSORS);
        let is_ours = |name: &str| name == TrainingCurve::FILE || tensors(name).or(step_of(name, JSON)).is_some();
        paths.extend(files::named(&trial, |name| match tensors(name) {
            Some(step) => !whole.contains(&step),
            None => files::replaced_by(name).is_some_and(is_ours),
        })?);
    }
    Ok(paths)
}

/// Returns the step of a file of a checkpoint from its name with this extension; None for a name of another form.
fn step_of(name: &str, extension: &str) -> Option<u64> {
    let step = name.strip_prefix("step-")?.strip_suffix(extension)?.strip_suffix('.')?.parse().ok()?;
    (name == file_name(step, extension)).then_some(step)
}

fn file_name(step: u64, extension: &str) -> String {
    format!("step-{step:09}.{extension}")
}

/// Reads checksum and state; None for JSON that was not written here.
fn parsed<S: DeserializeOwned>(text: &[u8]) -> Option<(String, S)> {
    let mut value: Value = serde_json::from_slice(text).ok()?;
    let checksum = value.as_object_mut()?.remove(CHECKSUM)?;
    let state = serde_json::from_value(value).ok()?;
    Some((checksum.as_str()?.to_string(), state))
}

/// Returns a message for the user about a checkpoint that is skipped.
fn damaged(path: &Path) -> String {
    format!("{} is damaged: going on from the checkpoint before it, or from the start", path.display())
}

/// Least time between two files of a training's curve.
const BETWEEN_CURVES: Duration = Duration::from_secs(1);

/// Clock of a long trial: steps per second and time left.
pub struct Clock {
    started: Instant,
    from: u64,
    /// Time at which the curve was last due.
    curve: Option<Instant>,
}

impl Clock {
    /// Starts the clock at a step, which is not 0 after a resume.
    pub fn new(from: u64) -> Self {
        Clock { started: Instant::now(), from, curve: None }
    }

    /// Returns `true` if the last file of the curve is long enough ago, and takes now as the time of the next.
    pub(super) fn is_due(&mut self) -> bool {
        let due = self.curve.is_none_or(|last| last.elapsed() >= BETWEEN_CURVES);
        if due {
            self.curve = Some(Instant::now());
        }
        due
    }

    /// Returns the line of progress at a step.
    pub fn line(&self, label: &str, step: u64, steps: u64, loss: Option<f64>) -> String {
        let rate = (step - self.from) as f64 / self.started.elapsed().as_secs_f64().max(1e-9);
        let left = Duration::from_secs_f64(((steps - step) as f64 / rate).min(1e9)).as_secs();
        let loss = loss.map_or(String::new(), |l| format!(", loss {l:.4}"));
        let (hours, minutes, seconds) = (left / 3600, left / 60 % 60, left % 60);
        format!("{label}: step {step} of {steps}{loss}, {rate:.2} steps/s, {hours}:{minutes:02}:{seconds:02} left")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Silent;

    #[test]
    fn the_newest_whole_checkpoint_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::in_folder(folder.path()).unwrap();
        for step in 1..=4_u64 {
            checkpoints.write(step, &[step as u8; 3], &serde_json::json!({ "step": step })).unwrap();
        }
        assert_eq!(checkpoints.newest(), Some(4));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2 * KEPT);
        let read = || checkpoints.restore::<Value>(|_| true, &Silent).unwrap().unwrap();
        assert_eq!((read().state["step"].as_u64(), read().tensors), (Some(4), vec![4; 3]));
        fs::write(checkpoints.path(4, "safetensors"), [4, 4]).unwrap();
        assert_eq!(read().tensors, vec![3; 3]);
        fs::write(checkpoints.path(3, "json"), "{").unwrap();
        assert!(checkpoints.restore::<Value>(|_| true, &Silent).unwrap().is_none());
    }

    /// A kill between two files of a checkpoint, written or removed, leaves the tensors; one within a file leaves its
    /// temporary file.
    #[test]
    fn what_a_kill_leaves_is_listed() {
        let trials = tempfile::tempdir().unwrap();
        assert!(leftovers(&trials.path().join("none")).unwrap().is_empty());
        let trial = trials.path().join("00000000000000ff-0");
        let checkpoints = Checkpoints::in_folder(&trial).unwrap();
        for step in [3, 4] {
            checkpoints.write(step, &[1], &serde_json::json!({})).unwrap();
        }
        let temporary = |name: &str| files::temporary_beside(&trial.join(name));
        let left = [
            temporary(TrainingCurve::FILE),
            temporary("step-000000005.json"),
            temporary("step-000000006.safetensors"),
            checkpoints.path(2, TENSORS),
            checkpoints.path(5, TENSORS),
        ];
        // Files of the user's, whose names checkpoints do not have.
        let others = [trial.join("step-7.safetensors"), temporary("figure.svg")];
        for path in left.iter().chain(&others) {
            fs::write(path, "").unwrap();
        }
        let mut listed = leftovers(trials.path()).unwrap();
        listed.sort();
        let mut left = left.to_vec();
        left.sort();
        assert_eq!(listed, left);
    }

    #[test]
    fn a_checkpoint_of_another_run_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::in_folder(folder.path()).unwrap();
        checkpoints.write(1, &[], &serde_json::json!({ "step": 1 })).unwrap();
        assert!(checkpoints.restore::<Value>(|_| false, &Silent).is_err());
    }
}
