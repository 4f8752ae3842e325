//! Identity of a run, and shards.

use super::SCHEMA;
use super::inputs;
use attnlab_core::error::{Error, Result};
use attnlab_core::input::Input;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Settings for the number of trials, of [experiments](crate::experiment::Experiment::trials) and of sweeps.
pub const TRIALS: [&str; 2] = ["trials", "seeds"];

/// Identity of the run whose rows a folder holds: `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// Id of the experiment or claim.
    pub id: String,
    /// Seed of every stream.
    pub seed: u64,
    /// Every setting.
    pub settings: Map<String, Value>,
    /// Version of attnlab that writes the rows.
    pub build: String,
    /// Every file that the run has read or looked for, by path; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
}

impl Manifest {
    /// The file in a folder of rows.
    pub const FILE: &'static str = "run.json";

    /// Creates the manifest of a run by this build.
    pub fn new(id: &str, seed: u64, settings: Map<String, Value>) -> Self {
        let build = env!("CARGO_PKG_VERSION").to_string();
        Manifest { schema: SCHEMA, id: id.to_string(), seed, settings, build, inputs: vec![] }
    }

    /// Reads `folder/run.json`, with the inputs that shards have noted beside it; None when there is none.
    ///
    /// # Errors
    /// When the file cannot be read or is not a manifest.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(Self::FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(e) => return Err(Error::io(&path, e, "Check its permissions")),
        };
        let mut manifest: Manifest = serde_json::from_str(&text).map_err(|e| Error::Content {
            path,
            problem: format!("must be a description of a run that this version can read ({e})"),
        })?;
        for of_shard in inputs::of_shards(folder)? {
            manifest.add_inputs(&of_shard);
        }
        Ok(Some(manifest))
    }

    /// Reads the manifest of a folder that must hold a run.
    ///
    /// # Errors
    /// As [`Manifest::read`], and when there is none.
    pub fn of_folder(folder: &Path) -> Result<Self> {
        Self::read(folder)?.ok_or_else(|| Error::Content {
            path: folder.to_path_buf(),
            problem: format!("it has no {}. Give a folder that attnlab sweep, run or merge wrote", Self::FILE),
        })
    }

    /// Adds the inputs whose paths are not there yet.
    pub fn add_inputs(&mut self, more: &[Input]) {
        self.inputs.extend_from_slice(more);
        // The order of equal paths stays, so that the earlier one is kept.
        self.inputs.sort_by(|a, b| a.path.cmp(&b.path));
        self.inputs.dedup_by(|later, earlier| later.path == earlier.path);
    }

    /// Returns `true` if the other run has more trials than this one and differs in nothing else, so that every row of
    /// this run is one of that run too.
    pub fn grows_to(&self, wanted: &Manifest) -> bool {
        TRIALS.iter().any(|name| {
            let trials = |m: &Manifest| m.settings.get(*name).and_then(Value::as_u64);
            let Some((fewer, more)) = trials(self).zip(trials(wanted)) else { return false };
            let mut grown = self.clone();
            grown.settings.insert(name.to_string(), more.into());
            fewer < more && grown.difference(wanted).is_none()
        })
    }

    /// Describes the first difference between two runs; None for the same run. Of the inputs, those are compared that
    /// both name.
    pub fn difference(&self, wanted: &Manifest) -> Option<String> {
        let differs = |what: &str, here: &dyn std::fmt::Display, now: &dyn std::fmt::Display| {
            Some(format!("rows with {what} = {here}, but this run has {what} = {now}"))
        };
        if self.id != wanted.id {
            return Some(format!("rows of {}, not of {}", self.id, wanted.id));
        }
        if self.seed != wanted.seed {
            return differs("seed", &self.seed, &wanted.seed);
        }
        if self.build != wanted.build || self.schema != wanted.schema {
            return differs("version", &self.build, &wanted.build);
        }
        if let Some(problem) = inputs::changed(&self.inputs, &wanted.inputs) {
            return Some(problem);
        }
        let names = self.settings.keys().chain(wanted.settings.keys());
        let changed = names.into_iter().find(|n| self.settings.get(*n) != wanted.settings.get(*n));
        let Some(changed) = changed else {
            return inputs::changed_settings(&self.inputs, &wanted.inputs);
        };
        let show = |m: &Manifest| m.settings.get(changed).map_or("(not set)".into(), Value::to_string);
        differs(changed, &show(self), &show(wanted))
    }
}

/// Part of a run that one process computes: shard `index` of `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Index, counted from 0.
    pub index: u64,
    /// Number of shards, at least 1.
    pub count: u64,
}

impl Shard {
    /// The whole run in one process.
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// Returns `true` if the shard is the whole run.
    pub fn is_whole(&self) -> bool {
        self.count == 1
    }

    /// Returns `true` if piece `number` of the run, counted from 0, is this shard's.
    pub fn owns(&self, number: u64) -> bool {
        number % self.count == self.index
    }

    /// Returns the name of the file of its rows.
    pub fn file(&self) -> String {
        match self.count {
            1 => "rows.jsonl".into(),
            n => format!("rows-{}-of-{n}.jsonl", self.index),
        }
    }
}

impl Default for Shard {
    fn default() -> Self {
        Shard::WHOLE
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// Parses `i/n`, counted from 0: `0/4` is the first of four shards.
impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // More shards than a cluster has machines; a mistyped number must not make a million empty files.
        const MOST: u64 = 100_000;
        let form = "must be i/n, such as 0/4 to 3/4 for the four parts of a run";
        let parts = text.split_once('/');
        let number = |t: &str| t.trim().parse::<u64>().ok();
        let parsed = parts.and_then(|(i, n)| Some((number(i)?, number(n)?)));
        match parsed {
            Some((index, count)) if index < count && count <= MOST => Ok(Shard { index, count }),
            Some((_, count)) if (1..=MOST).contains(&count) => {
                Err(format!("must be from 0/{count} to {}/{count}; shards are counted from 0", count - 1))
            }
            _ => Err(form.into()),
        }
    }
}
