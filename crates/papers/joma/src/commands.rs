//! The commands of this room: `attnlab weights`.

mod weights;

use attnlab_lab::command::Command;
use std::sync::Arc;

/// All commands of this room.
pub fn all() -> Vec<Arc<dyn Command>> {
    vec![Arc::new(weights::Weights)]
}
