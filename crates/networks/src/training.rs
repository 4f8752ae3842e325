//! Checkpoints that a training in this laboratory writes: `step-N.safetensors` with `step-N.json` beside it, in a folder
//! per training. A path to the folder means the newest.

use crate::checkpoint::entries;
use crate::tensors::{content, json};
use attnlab_core::error::Result;
use attnlab_core::input;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Largest file of settings and losses, in bytes.
const MOST_BYTES: u64 = 256 << 20;

/// Beginnings of the names of tensors that are no parameters: the optimiser's averages.
pub(crate) const AVERAGES: [&str; 2] = ["first.", "second."];

/// The newest checkpoint of a training.
pub(crate) struct TrainingCheckpoint {
    /// Its settings and losses.
    pub(crate) state: PathBuf,
    /// Its tensors.
    pub(crate) tensors: PathBuf,
}

/// Finds the newest checkpoint in a folder; None in one that no training wrote.
pub(crate) fn newest(path: &Path) -> Result<Option<TrainingCheckpoint>> {
    if !path.is_dir() || input::is_file("config.json", &path.join("config.json")) {
        return Ok(None);
    }
    let is_state = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let step = name.strip_prefix("step-").and_then(|name| name.strip_suffix(".json"));
        step.is_some_and(|step| step.parse::<u64>().is_ok()) && file.with_extension("safetensors").is_file()
    };
    // Steps have leading zeros, so names are in their order. The JSON is written last.
    let state = entries(path)?.into_iter().rfind(is_state);
    Ok(state.map(|state| TrainingCheckpoint { tensors: state.with_extension("safetensors"), state }))
}

impl TrainingCheckpoint {
    /// Reads the configuration of its network.
    pub(crate) fn configuration(&self) -> Result<Map<String, Value>> {
        let mut state = json(&self.state, MOST_BYTES)?;
        match state.pointer_mut("/settings/model").map(Value::take) {
            Some(Value::Object(model)) => Ok(model),
            _ => Err(content(&self.state, "settings.model: must be there; networks of attnlab train have it")),
        }
    }
}
