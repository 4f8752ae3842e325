//! Trial context: the checkpoint folder and the progress of a long trial.

use super::{Progress, Silent};
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
