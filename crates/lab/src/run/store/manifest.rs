//! Identity of a run.

use super::{SCHEMA, inputs};
use crate::run::files::content;
use attnlab_core::error::{Error, Result};
use attnlab_core::input::{Input, SETTINGS};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Longest manifest (bytes) that is written and read: an axis that lists a million values takes 25 MB.
pub(crate) const LONGEST: u64 = 64 << 20;

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
    /// Build of attnlab that began the run.
    pub build: String,
    /// Further builds that wrote rows of the run, because someone asked for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mixed: Vec<String>,
    /// Every file that the run has read or looked for, by path; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
}

impl Manifest {
    /// The file in a folder of rows.
    pub const FILE: &'static str = "run.json";

    /// Creates the manifest of a run by this build.
    pub fn new(id: &str, seed: u64, settings: Map<String, Value>) -> Self {
        let (id, build) = (id.to_string(), crate::build::here().to_string());
        Manifest { schema: SCHEMA, id, seed, settings, build, mixed: vec![], inputs: vec![] }
    }

    /// Adds the identity of [code](crate::claim::Claim::code) that is no part of this build.
    pub fn with_code(mut self, code: Option<String>) -> Self {
        if let Some(code) = code {
            self.build = format!("{} with {code}", self.build);
        }
        self
    }

    /// Returns the identity of the code that is no part of the build; None for a claim of the build.
    pub fn code(&self) -> Option<&str> {
        self.build.split_once(" with ").map(|(_, code)| code)
    }

    /// Returns the builds whose rows are of this run.
    pub fn builds(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.build).chain(&self.mixed).map(String::as_str)
    }

    /// Returns `true` if the manifest names every build of the other.
    pub fn has_builds_of(&self, other: &Manifest) -> bool {
        other.builds().all(|build| self.builds().any(|known| known == build))
    }

    /// Adds the builds of the other manifest.
    pub fn add_builds_of(&mut self, other: &Manifest) {
        for build in other.builds() {
            if !self.builds().any(|known| known == build) {
                self.mixed.push(build.to_string());
            }
        }
    }

    /// Reads `folder/run.json`, with the inputs that shards have noted beside it; None when there is none.
    ///
    /// # Errors
    /// When the file cannot be read or is not a manifest.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(Self::FILE);
        let read = |file: File| -> std::io::Result<String> {
            let mut text = String::new();
            file.take(LONGEST + 1).read_to_string(&mut text)?;
            Ok(text)
        };
        let text = match File::open(&path).and_then(read) {
            Ok(text) if text.len() as u64 > LONGEST => {
                let problem = format!("is longer than {} MB and is no description of a run", LONGEST >> 20);
                return Err(content(path, problem));
            }
            Ok(text) => text,
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(e) => return Err(Error::io(&path, e, "Check its permissions")),
        };
        let mut manifest: Manifest = serde_json::from_str(&text)
            .map_err(|e| content(path, format!("must be a description of a run that this version can read ({e})")))?;
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
        let problem = format!("it has no {}. Give a folder that attnlab sweep, run or merge wrote", Self::FILE);
        Self::read(folder)?.ok_or_else(|| content(folder, problem))
    }

    /// Adds the inputs whose paths are not there yet.
    pub fn add_inputs(&mut self, more: &[Input]) {
        self.inputs.extend_from_slice(more);
        // The order of equal paths stays, so that the earlier one is kept.
        self.inputs.sort_by(|a, b| a.path.cmp(&b.path));
        self.inputs.dedup_by(|later, earlier| later.path == earlier.path);
    }

    /// Returns this run with the trials of another and its files of settings, if that one has more trials and differs in
    /// nothing else, so that every row of this run is one of that run too.
    pub fn grown_to(&self, wanted: &Manifest) -> Option<Manifest> {
        let of_wanted = |input: &Input| input.kind == SETTINGS && wanted.inputs.iter().any(|i| i.path == input.path);
        TRIALS.iter().find_map(|name| {
            let trials = |m: &Manifest| m.settings.get(*name).and_then(Value::as_u64);
            let (fewer, more) = trials(self).zip(trials(wanted))?;
            let mut grown = self.clone();
            grown.settings.insert(name.to_string(), more.into());
            grown.inputs.retain(|input| !of_wanted(input));
            let settings = wanted.inputs.iter().filter(|input| input.kind == SETTINGS);
            grown.add_inputs(&settings.cloned().collect::<Vec<_>>());
            (fewer < more && grown.difference(wanted).is_none()).then_some(grown)
        })
    }

    /// Describes the first difference between two runs; None for the same run. Builds are not compared; of the inputs,
    /// those are that both name.
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
        if self.schema != wanted.schema {
            return differs("schema", &self.schema, &wanted.schema);
        }
        if let Some(problem) = inputs::changed(&self.inputs, &wanted.inputs, false) {
            return Some(problem);
        }
        let mut names = self.settings.keys().chain(wanted.settings.keys());
        let same = |name: &String| match (self.settings.get(name), wanted.settings.get(name)) {
            (Some(here), Some(now)) => inputs::same_setting(here, now),
            _ => false,
        };
        let Some(changed) = names.find(|name| !same(name)) else {
            return inputs::changed(&self.inputs, &wanted.inputs, true);
        };
        let show = |m: &Manifest| m.settings.get(changed).map_or("(not set)".into(), Value::to_string);
        differs(changed, &show(self), &show(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_too_long_to_be_read_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(Manifest::FILE);
        let mut manifest = Manifest::new("demo", 5, Map::new());
        // An axis of a million values.
        let values: Vec<f64> = (0..1_000_000).map(|i| 0.1 + 1.234_567e-6 * f64::from(i)).collect();
        manifest.settings.insert("axis".into(), values.into());
        inputs::write(&path, &manifest).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), Some(manifest.clone()));
        manifest.settings.insert("text".into(), "x".repeat(LONGEST as usize).into());
        let error = inputs::write(&path, &manifest).unwrap_err().to_string();
        assert!(error.contains("would be longer than 64 MB"), "{error}");
        assert!(Manifest::read(folder.path()).unwrap().is_some());
    }
}
