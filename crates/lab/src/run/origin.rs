//! Origin of a result: the command that reproduces it, the version and the machine.

use super::files;
use super::store::{Shard, not_json};
use crate::words::counted;
use attnlab_core::error::{Error, Result};
use itertools::Itertools;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Origin of a result: command, version and machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Command that reproduces the result.
    pub command: String,
    /// Build of attnlab.
    pub version: String,
    /// Processor, threads and system.
    pub machine: String,
}

impl Origin {
    /// File beside the rows that names the machines on which they were computed; that of a shard has its number
    /// too. It is not a part of the rows, which are the same to the bit on every machine.
    pub const FILE: &'static str = "made-by.json";

    /// Returns the origin of a result that `command` makes with this build on this machine.
    pub fn here(command: String) -> Self {
        let build = crate::build::here();
        let version = match build.commit.as_str() {
            "" => build.to_string(),
            commit => format!("{build}, commit {commit}"),
        };
        Origin { command, version, machine: machine() }
    }

    /// Returns the origin of a verdict that `command` makes here, as its row can keep it: without the commit, which
    /// is no part of a build's identity.
    pub fn of_verdict(command: String) -> Self {
        Origin { command, version: crate::build::here().to_string(), machine: machine() }
    }

    /// Returns the origin of rows whose machine is unknown, such as merged ones.
    pub fn unknown(command: String, build: &str) -> Self {
        Origin { command, version: build.to_string(), machine: "a machine that was not noted".into() }
    }

    /// Reads the origins stored in `folder`, those of shards too, each once; none if there is no such file.
    ///
    /// # Errors
    /// When a file exists but cannot be read.
    pub fn read(folder: &Path) -> Result<Vec<Origin>> {
        let origins = Self::files(folder)?.iter().map(|path| Self::read_file(path)).collect::<Result<Vec<_>>>()?;
        Ok(origins.into_iter().flatten().unique().collect())
    }

    /// Lists the files of origins in a folder.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
        files::named(folder, |name| name.starts_with("made-by") && name.ends_with(".json"))
    }

    fn read_file(path: &Path) -> Result<Vec<Origin>> {
        files::read_list(path, |e| format!("must be a list of origins ({e}). Delete it; nothing else needs it"))
    }

    /// Adds this origin to those of the shard in `folder`, unless it is among them.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn note(&self, folder: &Path, shard: Shard) -> Result<()> {
        let path = folder.join(shard.file_of("made-by", "json"));
        let mut origins = Self::read_file(&path)?;
        if origins.contains(self) {
            return Ok(());
        }
        origins.push(self.clone());
        let text = serde_json::to_string_pretty(&origins).map_err(|e| not_json(&path, &e))?;
        let advice = "Choose a folder that you may write with --out";
        super::store::replace(&path, &(text + "\n")).map_err(|e| Error::io(&path, e, advice))
    }
}

/// Returns processor, threads in use and system, as far as they are known.
pub fn machine() -> String {
    // Linux names the processor here; on other systems its family is used.
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut entries = info.lines().filter_map(|line| line.split_once(':'));
    let name = entries.find(|(key, _)| key.trim() == "model name").map(|(_, value)| value.trim());
    let (family, system) = (std::env::consts::ARCH, std::env::consts::OS);
    let (name, threads) = (name.unwrap_or(family), counted(rayon::current_num_threads() as u64, "thread"));
    format!("{name}, {threads}, {system} {family}")
}
