//! Curve of a training: its losses so far, beside its checkpoints, for whoever follows the run.

use super::files;
use attnlab_core::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Losses of a training so far. No result is computed from them: the row of the trial has its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingCurve {
    /// Number of steps of the whole training.
    pub steps: u64,
    /// Number of steps done at each point, ascending.
    pub done: Vec<u64>,
    /// Mean loss of the steps since the point before; None where it is not finite.
    pub loss: Vec<Option<f64>>,
    /// Loss on held-out data at each point; empty without such data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_out: Vec<Option<f64>>,
}

impl TrainingCurve {
    /// File in the folder of a trial's checkpoints.
    pub const FILE: &'static str = "curve.json";

    /// Creates the curve of a training of so many steps from the steps done at each point, the losses and, where there
    /// are some, those on held-out data.
    pub fn new(steps: u64, done: &[u64], loss: &[f64], held_out: &[f64]) -> Self {
        let finite = |losses: &[f64]| losses.iter().map(|loss| loss.is_finite().then_some(*loss)).collect();
        TrainingCurve { steps, done: done.to_vec(), loss: finite(loss), held_out: finite(held_out) }
    }

    /// Returns the number of steps done.
    pub fn step(&self) -> u64 {
        self.done.last().copied().unwrap_or(0)
    }

    /// Writes the file of this curve, in full or not at all.
    ///
    /// # Errors
    /// When the disk is full or the folder cannot be written.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(Self::FILE);
        let advice = "The checkpoints so far are kept: make room and give the same command again";
        let text = serde_json::to_string(self).map_err(|e| Error::unwritable("the curve (JSON)", e))?;
        files::replace(&path, |file| file.write_all(text.as_bytes())).map_err(|e| Error::io(&path, e, advice))
    }

    /// Reads the curve in the folder of a trial's checkpoints; None if there is none.
    ///
    /// # Errors
    /// A file that cannot be read or is no curve.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(Self::FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io(&path, e, "Check its permissions")),
        };
        let problem = match serde_json::from_str::<Self>(&text) {
            Ok(curve) if curve.is_sound() => return Ok(Some(curve)),
            Ok(_) => "its lists differ in length, or its steps do not ascend".to_string(),
            Err(e) => e.to_string(),
        };
        let advice = "Delete it: the training writes it again";
        Err(files::content(path, format!("must be the curve of a training ({problem}). {advice}")))
    }

    fn is_sound(&self) -> bool {
        let points = self.done.len();
        let ascend = self.done.is_sorted_by(|a, b| a < b) && self.step() <= self.steps;
        ascend && self.loss.len() == points && [0, points].contains(&self.held_out.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_read_as_it_was_written_and_refused_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let read = || TrainingCurve::read(folder.path());
        assert_eq!(read().unwrap(), None);
        let curve = TrainingCurve::new(30, &[0, 10, 20], &[f64::NAN, 1.5, 0.1], &[]);
        curve.write(folder.path()).unwrap();
        assert_eq!(read().unwrap(), Some(curve.clone()));
        assert_eq!((curve.step(), curve.loss), (20, vec![None, Some(1.5), Some(0.1)]));
        for bad in [
            "",
            "[]",
            r#"{"steps": 3, "done": [1]}"#,
            r#"{"steps": 3, "done": [1], "loss": [1, 2]}"#,
            r#"{"steps": 3, "done": [2, 1], "loss": [1, 2]}"#,
            r#"{"steps": 3, "done": [1, 4], "loss": [1, 2]}"#,
            r#"{"steps": 3, "done": [1, 2], "loss": [1, 2], "held_out": [1]}"#,
            r#"{"steps": 3, "done": [1], "loss": ["a"]}"#,
        ] {
            fs::write(folder.path().join(TrainingCurve::FILE), bad).unwrap();
            let error = read().unwrap_err().to_string();
            assert!(error.contains("curve.json") && error.contains("Delete it"), "{bad}: {error}");
        }
    }
}
