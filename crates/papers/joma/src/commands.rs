//! The commands of this room: `attnlab weights`.

mod weights;

use attnlab_lab::command::{Command, WithArgs};
use std::sync::Arc;

/// All commands of this room.
pub fn all() -> Vec<Arc<dyn Command>> {
    vec![Arc::new(WithArgs { name: "weights", run: weights::run })]
}
