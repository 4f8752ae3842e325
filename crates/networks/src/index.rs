//! `model.safetensors.index.json`: the shard of every tensor of a checkpoint.

use crate::tensors::{content, json, require_content};
use attnlab_core::error::Result;
use attnlab_core::input;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Name of the file.
pub(crate) const INDEX: &str = "model.safetensors.index.json";

/// Largest index, in bytes: 400 000 tensors with names of 200 bytes.
const MOST_INDEX: u64 = 100 << 20;

/// Path of the shard of every tensor.
pub(crate) struct ShardIndex {
    pub(crate) path: PathBuf,
    pub(crate) shards: BTreeMap<String, PathBuf>,
}

impl ShardIndex {
    /// Reads the index of a folder; None without one.
    ///
    /// # Errors
    /// An index that is no JSON or maps a tensor to anything but a safetensors file of the same folder.
    pub(crate) fn of_folder(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(INDEX);
        if !input::is_file("index", &path) {
            return Ok(None);
        }
        let mut index = json(&path, MOST_INDEX)?;
        let Some(Value::Object(map)) = index.get_mut("weight_map").map(Value::take) else {
            return Err(content(&path, "weight_map: must be there, an object from tensors to files"));
        };
        let mut shards = BTreeMap::new();
        for (tensor, file) in map {
            let file = file.as_str().unwrap_or_default();
            // A name and nothing else: no folder, no way up, no index again.
            let plain = Path::new(file).file_name().is_some_and(|name| name == file);
            let shard = folder.join(file);
            let problem =
                format!("weight_map.{tensor} = {file:?}: must be the name of a safetensors file in this folder");
            require_content(plain && file.ends_with(".safetensors"), &path, problem)?;
            let problem = format!("weight_map.{tensor} = {file:?}: must be a file that exists. Copy the missing shard");
            require_content(shard.is_file(), &path, problem)?;
            shards.insert(tensor, shard);
        }
        require_content(!shards.is_empty(), &path, "weight_map: must name at least one tensor")?;
        Ok(Some(ShardIndex { path, shards }))
    }

    /// Returns the shards, each once, by name.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.shards.values().cloned().collect();
        files.sort();
        files.dedup();
        files
    }

    /// Refuses shards whose tensors are others than those that the index names. `places` gives the file of every tensor
    /// found.
    pub(crate) fn ensure(&self, places: &BTreeMap<String, &Path>) -> Result<()> {
        for (tensor, shard) in &self.shards {
            let problem = match places.get(tensor) {
                Some(file) if file == shard => continue,
                Some(file) => format!("weight_map.{tensor}: must be the file that has it, {}", file.display()),
                None => format!("weight_map.{tensor}: must be in {}; it is not", shard.display()),
            };
            return Err(content(&self.path, problem));
        }
        let Some(tensor) = places.keys().find(|t| !self.shards.contains_key(*t)) else { return Ok(()) };
        Err(content(&self.path, format!("weight_map.{tensor}: must be there; a shard has this tensor")))
    }
}
