//! The origin of a result: the command that makes it again, the version, the machine.

use attnlab_core::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Origin of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The command that makes this result again.
    pub command: String,
    /// Version of attnlab.
    pub version: String,
    /// Processor, threads and system.
    pub machine: String,
}

impl Origin {
    /// The file beside rows that names the machines on which they were computed. Not a part of the
    /// rows: they are the same to the bit wherever they come from.
    pub const FILE: &'static str = "made-by.json";

    /// This build on this machine.
    pub fn here(command: String) -> Self {
        Origin {
            command,
            version: env!("CARGO_PKG_VERSION").to_string(),
            machine: machine(),
        }
    }

    /// That of rows which were merged or come from elsewhere: the command is known, the machine is not.
    pub fn unknown(command: String, build: &str) -> Self {
        Origin {
            command,
            version: build.to_string(),
            machine: "a machine that was not noted".into(),
        }
    }

    /// Those that `folder` names, each once; none where nothing was noted.
    ///
    /// # Errors
    /// When the file is there but cannot be read.
    pub fn read(folder: &Path) -> Result<Vec<Origin>> {
        let path = folder.join(Self::FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
            Err(e) => return Err(Error::io(&path, e, "Is it readable for you?")),
        };
        serde_json::from_str(&text).map_err(|e| Error::Content {
            path,
            problem: format!("not a list of origins ({e}); delete it, nothing else needs it"),
        })
    }

    /// Notes this origin in `folder`, unless it is there.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn note(&self, folder: &Path) -> Result<()> {
        let mut all = Self::read(folder)?;
        if all.contains(self) {
            return Ok(());
        }
        all.push(self.clone());
        let path = folder.join(Self::FILE);
        let text = serde_json::to_string_pretty(&all).map_err(|e| Error::Content {
            path: path.clone(),
            problem: format!("cannot be written as JSON ({e})"),
        })?;
        let advice = "Choose a folder that you may write with --out";
        crate::run::store::replace(&path, &(text + "\n")).map_err(|e| Error::io(&path, e, advice))
    }
}

/// Processor, threads in use and system, as far as they can be found out.
pub fn machine() -> String {
    // Linux names the processor here; elsewhere its family has to do.
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_string())
    });
    let (family, system) = (std::env::consts::ARCH, std::env::consts::OS);
    let threads = rayon::current_num_threads();
    let plural = if threads == 1 { "" } else { "s" };
    let name = name.unwrap_or_else(|| family.to_string());
    format!("{name}, {threads} thread{plural}, {system} {family}")
}
