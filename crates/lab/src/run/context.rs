//! The context of a long trial: a folder to keep checkpoints in, and its progress.

use super::{Progress, Silent};
use std::path::PathBuf;

/// Where a long trial keeps what it needs to go on after a kill, and to whom it reports. What it
/// computes must not depend on it.
pub struct TrialContext<'a> {
    /// A folder of this trial's own, which need not exist yet; None: nothing is kept.
    pub folder: Option<PathBuf>,
    /// Told of steps, and asked whether to stop.
    pub progress: &'a dyn Progress,
}

impl TrialContext<'static> {
    /// Keeps and says nothing.
    pub fn none() -> Self {
        TrialContext {
            folder: None,
            progress: &Silent,
        }
    }
}
