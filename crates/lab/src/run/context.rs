//! Trial context: the checkpoint folder and the progress of a long trial.

use super::{Clock, Progress, Silent, TrainingCurve};
use attnlab_core::error::Result;
use std::path::PathBuf;

/// Context of a long trial: the folder of its checkpoints and the receiver of its progress. The result of the
/// trial must not depend on it.
pub struct TrialContext<'a> {
    /// Checkpoint folder of this trial, which need not exist yet; None for no checkpoints.
    pub folder: Option<PathBuf>,
    /// Receiver of progress, which also knows whether the user has asked to stop.
    pub progress: &'a dyn Progress,
}

impl TrialContext<'static> {
    /// Returns a context without checkpoints and without progress.
    pub fn none() -> Self {
        TrialContext { folder: None, progress: &Silent }
    }
}

impl TrialContext<'_> {
    /// Reports the losses of a training so far, with the clock of the training and its name: the last one as a line of
    /// progress, all of them to the file of its curve in the checkpoint folder, where there is one. The file is written
    /// once a second at most, and at the last step.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn report(&self, clock: &mut Clock, label: &str, curve: &TrainingCurve) -> Result<()> {
        let (step, loss) = (curve.step(), curve.loss.last().copied().flatten());
        self.progress.line(&clock.line(label, step, curve.steps, loss));
        match &self.folder {
            Some(folder) if step == curve.steps || clock.is_due() => curve.write(folder),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_losses_lie_beside_the_checkpoints() {
        let folder = tempfile::tempdir().unwrap();
        let context = TrialContext { folder: Some(folder.path().into()), progress: &Silent };
        let mut clock = Clock::new(0);
        // The first and the last point are written however fast the training is.
        for step in [10, 20] {
            let curve = TrainingCurve::new(20, &[step], &[1.0], &[2.0]);
            context.report(&mut clock, "toy", &curve).unwrap();
            assert_eq!(TrainingCurve::read(folder.path()).unwrap(), Some(curve));
        }
        let gone = TrialContext { folder: Some(folder.path().join("gone")), progress: &Silent };
        assert!(gone.report(&mut clock, "toy", &TrainingCurve::new(1, &[1], &[1.0], &[])).is_err());
        TrialContext::none().report(&mut clock, "toy", &TrainingCurve::new(1, &[1], &[1.0], &[])).unwrap();
    }
}
