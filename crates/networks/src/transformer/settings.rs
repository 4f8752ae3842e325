//! Settings of a network from `config.json` or from the metadata of a GGUF file, each read once and none ignored.

use super::neutral;
use crate::gguf::{Gguf, GgufValue};
use crate::tensors::{content, json};
use attnlab_core::error::{Error, Result};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Largest size of a width, a count of heads, of layers or of tokens; products of two stay far from overflow.
const MOST: u64 = 1 << 28;

/// Largest file of settings, in bytes.
const MOST_SETTINGS: u64 = 16 << 20;

/// Number of tokens in a GGUF file's vocabulary.
pub(crate) const TOKENS: &str = "tokenizer.ggml.tokens.length";

/// Flag: a GGUF file has a matrix of the output.
pub(crate) const OWN_OUTPUT: &str = "output.weight";

/// Settings by name. [`Settings::finish`] refuses those that nobody asked for: they may change the computation.
pub(crate) struct Settings {
    pub(crate) path: PathBuf,
    values: Map<String, Value>,
    taken: BTreeSet<String>,
}

impl Settings {
    /// Reads a file of settings in JSON.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let values = match json(path, MOST_SETTINGS)? {
            Value::Object(values) => values,
            _ => return Err(content(path, "must be an object of JSON")),
        };
        Ok(Settings::new(path, values))
    }

    /// Takes over a GGUF file's metadata, without the vocabulary, and two facts that its families need: [`TOKENS`] and
    /// [`OWN_OUTPUT`].
    pub(crate) fn from_gguf(file: &Gguf) -> Self {
        let metadata = file.metadata().iter().filter(|(name, _)| !name.starts_with("tokenizer."));
        let mut values: Map<String, Value> = metadata.map(|(name, value)| (name.clone(), value.json())).collect();
        if let Some(GgufValue::Texts(tokens)) = file.metadata().get("tokenizer.ggml.tokens") {
            values.insert(TOKENS.into(), Value::from(tokens.len()));
        }
        values.insert(OWN_OUTPUT.into(), Value::from(file.names().any(|name| name == "output.weight")));
        Settings::new(file.path(), values)
    }

    pub(crate) fn new(path: &Path, values: Map<String, Value>) -> Self {
        Settings { path: path.to_path_buf(), values, taken: BTreeSet::new() }
    }

    /// Builds the refusal of a setting, by STYLE's grammar.
    pub(crate) fn refuse(&self, name: &str, requirement: &str) -> Error {
        let value = self.values.get(name).map_or("absent".into(), shown);
        content(&self.path, format!("{name} = {value}: {requirement}"))
    }

    /// Refuses a setting whose value does not meet the requirement, which `holds` tells.
    pub(crate) fn require(&self, holds: bool, name: &str, requirement: &str) -> Result<()> {
        if holds { Ok(()) } else { Err(self.refuse(name, requirement)) }
    }

    /// Takes a value; null is no value.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.taken.insert(name.to_string());
        self.values.get(name).filter(|v| !v.is_null()).cloned()
    }

    /// Takes a whole number from 1 to 2^28, if it is there.
    pub(crate) fn optional_whole(&mut self, name: &str) -> Result<Option<usize>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let whole = value.as_u64().filter(|n| (1..=MOST).contains(n)).map(|n| n as usize);
        self.require(whole.is_some(), name, &format!("must be a whole number from 1 to {MOST}"))?;
        Ok(whole)
    }

    /// Takes such a number, or the default without it.
    pub(crate) fn whole_or(&mut self, name: &str, default: usize) -> Result<usize> {
        Ok(self.optional_whole(name)?.unwrap_or(default))
    }

    /// Takes a whole number that must be there.
    pub(crate) fn whole(&mut self, name: &str) -> Result<usize> {
        let requirement = "must be there, a whole number. Take the file from the network's folder";
        self.optional_whole(name)?.ok_or_else(|| self.refuse(name, requirement))
    }

    /// Takes a finite number > 0, if it is there.
    pub(crate) fn number_or(&mut self, name: &str, default: f64) -> Result<f64> {
        let Some(value) = self.take(name) else { return Ok(default) };
        let number = value.as_f64().filter(|x| x.is_finite() && *x > 0.0);
        number.ok_or_else(|| self.refuse(name, "must be a finite number > 0"))
    }

    /// Takes true or false, if it is there.
    pub(crate) fn flag_or(&mut self, name: &str, default: bool) -> Result<bool> {
        match self.take(name) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(self.refuse(name, "must be true or false")),
        }
    }

    /// Takes a text, if it is there.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.refuse(name, "must be a text")),
        }
    }

    /// Takes the name of one of some `choices`, or the default without it.
    pub(crate) fn choice<T: Copy>(&mut self, name: &str, default: T, choices: &[(&str, T)]) -> Result<T> {
        let Some(text) = self.text(name)? else { return Ok(default) };
        let known: Vec<&str> = choices.iter().map(|(known, _)| *known).collect();
        let choice = known.iter().position(|known| *known == text).map(|i| choices[i].1);
        choice.ok_or_else(|| self.refuse(name, &format!("must be one of {}", known.join(", "))))
    }

    /// Refuses every value of a setting but one; it may be absent.
    pub(crate) fn only(&mut self, name: &str, allowed: Value) -> Result<()> {
        let holds = self.take(name).is_none_or(|value| value == allowed);
        self.require(holds, name, &format!("must be {}; others are not supported", shown(&allowed)))
    }

    /// Takes an object within these settings, whose members are then to be read and finished like these.
    pub(crate) fn nested(&mut self, name: &str) -> Result<Option<Settings>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Object(values)) => {
                let values = values.into_iter().map(|(key, value)| (format!("{name}.{key}"), value)).collect();
                Ok(Some(Settings::new(&self.path, values)))
            }
            Some(_) => Err(self.refuse(name, "must be an object")),
        }
    }

    /// Refuses the settings that were not taken and may change the computation. Null passes and what
    /// [`neutral`] knows, and of GGUF's metadata all but those of the network, whose names begin with `prefix`.
    pub(crate) fn finish(self, prefix: &str) -> Result<()> {
        let left = |(name, _): &(&String, &Value)| name.starts_with(prefix) && !self.taken.contains(*name);
        for (name, value) in self.values.iter().filter(left) {
            if let Some(requirement) = neutral::refusal(name, value) {
                return Err(self.refuse(name, requirement));
            }
        }
        Ok(())
    }
}

/// A value as a message shows it, cut to a line.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{} ..", &text[..end]),
        None => text,
    }
}
