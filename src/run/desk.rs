//! What a long trial may use besides its parameters and streams.

use super::{Progress, Silent};
use std::path::PathBuf;

/// Where a long trial keeps what it needs to go on after a kill, and to whom it reports. What it
/// computes must not depend on it.
pub struct Desk<'a> {
    /// A folder of this trial's own, which need not exist yet; None: nothing is kept.
    pub folder: Option<PathBuf>,
    /// Told of steps, and asked whether to stop.
    pub progress: &'a dyn Progress,
}

impl Desk<'static> {
    /// Keeps and says nothing.
    pub fn none() -> Self {
        Desk {
            folder: None,
            progress: &Silent,
        }
    }
}
