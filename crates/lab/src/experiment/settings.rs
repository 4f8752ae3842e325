//! Experiments from TOML: defaults, quick sizes, the user's file, single settings.

use super::{Experiment, Identity};
use crate::claim::Source;
use attnlab_core::error;
use attnlab_core::error::{Error, Result};
use attnlab_core::format::short_lines;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Name of the TOML table whose settings replace the others under `--quick`.
const QUICK: &str = "quick";

/// Identity and source of an experiment type.
pub trait Described: Experiment + Serialize + DeserializeOwned + 'static {
    /// Identifier, "paper.name".
    const ID: &'static str;
    /// Name in rows, folders and streams; the same as the identifier unless older rows have another.
    const NAME: &'static str = Self::ID;
    /// One line for lists.
    const TITLE: &'static str;
    /// Source: paper and place.
    const SOURCE: Source;
    /// Flag: the experiment trains networks for minutes even at its quick size.
    const TRAINS: bool = false;
    /// Aliases of settings: (alias, setting).
    const ALIASES: &'static [(&'static str, &'static str)] = &[];
}

impl<E: Described> Identity for E {
    fn name(&self) -> &'static str {
        E::NAME
    }

    fn settings(&self) -> serde_json::Map<String, serde_json::Value> {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(settings)) => settings,
            // Settings are structs of numbers, words and lists: always an object.
            _ => serde_json::Map::new(),
        }
    }
}

/// An experiment in a catalogue.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Identifier, "paper.name".
    pub id: &'static str,
    /// The name in rows, folders and streams.
    pub name: &'static str,
    /// One line for lists.
    pub title: &'static str,
    /// Paper and place.
    pub source: Source,
    /// Flag: the experiment trains networks for minutes even at its quick size.
    pub trains: bool,
    /// The default settings, with a comment on each: the text of `settings.toml`.
    pub defaults: &'static str,
    /// Aliases of settings: (alias, setting).
    pub aliases: &'static [(&'static str, &'static str)],
    build: Build,
}

#[derive(Clone, Copy)]
enum Build {
    Here(fn(Table) -> Result<Box<dyn Experiment>, toml::de::Error>),
    /// The feature that this build lacks.
    Lacks(&'static str),
}

impl Entry {
    /// Creates the entry of `E` with the text of its default settings.
    pub const fn new<E: Described>(defaults: &'static str) -> Self {
        Entry {
            id: E::ID,
            name: E::NAME,
            title: E::TITLE,
            source: E::SOURCE,
            trains: E::TRAINS,
            defaults,
            aliases: E::ALIASES,
            build: Build::Here(|table| Ok(Box::new(E::deserialize(table)?))),
        }
    }

    /// Creates the entry of an experiment that needs a feature which this build lacks. It is listed, and
    /// a run of it is refused with the feature's name.
    pub const fn without(
        [id, name, title, feature]: [&'static str; 4],
        source: Source,
        defaults: &'static str,
    ) -> Self {
        Entry { id, name, title, source, trains: true, defaults, aliases: &[], build: Build::Lacks(feature) }
    }

    /// Returns `true` if `name` is the id or the name of the experiment.
    pub fn answers_to(&self, name: &str) -> bool {
        self.id == name || self.name == name
    }

    /// Returns the feature that this build lacks; None if it can run the experiment.
    pub fn lacks(&self) -> Option<&'static str> {
        match self.build {
            Build::Here(_) => None,
            Build::Lacks(feature) => Some(feature),
        }
    }

    /// Returns `true` if the experiment measures files that a user names: it has no cells without them.
    pub fn measures_files(&self) -> bool {
        self.configure(true, None, &Table::new())
            .and_then(|experiment| experiment.cells())
            .is_ok_and(|cells| cells.is_empty())
    }

    /// Builds the experiment from its defaults, its quick sizes if `quick`, the file `config` and the single
    /// settings `set`; later ones override earlier ones.
    ///
    /// # Errors
    /// A file that cannot be read or is not TOML, an unknown setting (with the nearest names), a
    /// value of the wrong type or out of range.
    ///
    pub fn configure(&self, quick: bool, config: Option<&Path>, set: &Table) -> Result<Box<dyn Experiment>> {
        let defaults_path = PathBuf::from(format!("settings of {}", self.name));
        let mut table = parse(self.defaults, &defaults_path)?;
        let quick_sizes = table.remove(QUICK);
        if let (true, Some(Value::Table(sizes))) = (quick, quick_sizes) {
            overlay(&mut table, &sizes)?;
        }
        let set = &self.renamed(set)?;
        let mut origin = defaults_path;
        if let Some(path) = config {
            let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e, "Give a TOML file to --config"))?;
            let mut own = self.renamed(&parse(&text, path)?)?;
            let own_quick = own.remove(QUICK);
            overlay(&mut table, &own)?;
            match own_quick {
                Some(Value::Table(sizes)) if quick => overlay(&mut table, &self.renamed(&sizes)?)?,
                Some(Value::Table(_)) | None => {}
                Some(other) => return Err(no_quick_sizes(&other)),
            }
            origin = path.to_path_buf();
        }
        overlay(&mut table, set)?;
        self.finish(table, &origin)
    }

    /// Builds the experiment with the settings that a run has stored.
    ///
    /// # Errors
    /// When they are not settings of this experiment and version.
    pub fn with_settings(&self, settings: &serde_json::Map<String, serde_json::Value>) -> Result<Box<dyn Experiment>> {
        let origin = PathBuf::from(crate::run::store::Manifest::FILE);
        let table =
            Table::try_from(settings).map_err(|e| Error::Content { path: origin.clone(), problem: e.to_string() })?;
        self.finish(table, &origin)
    }

    /// Replaces aliases among the user's settings by the names of the defaults.
    fn renamed(&self, written: &Table) -> Result<Table> {
        let mut table = Table::new();
        for (name, value) in written {
            let alias = self.aliases.iter().find(|(other, _)| other == name);
            let setting = alias.map_or(name.as_str(), |(_, setting)| setting);
            if setting != name && written.contains_key(setting) {
                let why = format!("must be set once; it is another name of {setting}. Write one of the two");
                return Err(Error::invalid(name, value, why));
            }
            table.insert(setting.to_string(), value.clone());
        }
        Ok(table)
    }

    fn build(&self, table: Table) -> Result<Result<Box<dyn Experiment>, toml::de::Error>> {
        match self.build {
            Build::Here(build) => Ok(build(table)),
            Build::Lacks(feature) => {
                let why = format!(
                    "must be an experiment of this build, which lacks the feature {feature}. Write \
                     cargo run --release --features {feature} -- run {}",
                    self.name
                );
                Err(Error::invalid("experiment", self.name, why))
            }
        }
    }

    fn finish(&self, table: Table, origin: &Path) -> Result<Box<dyn Experiment>> {
        for (name, value) in &table {
            within_reach(name, value)?;
        }
        let experiment = self.build(table.clone())?.map_err(|e| {
            self.wrong_setting(&table).unwrap_or_else(|| Error::Content {
                path: origin.to_path_buf(),
                problem: e.to_string().trim().replace('\n', "; "),
            })
        })?;
        experiment.validate()?;
        Ok(experiment)
    }

    /// Finds the setting that the parser refuses and describes it in the user's words, since the parser's own
    /// message names a Rust type. It is the setting with which the defaults alone cannot be built either.
    fn wrong_setting(&self, table: &Table) -> Option<Error> {
        let mut defaults: Table = self.defaults.parse().ok()?;
        defaults.remove(QUICK);
        let unbuildable = |(name, value): &(&String, &Value)| {
            let mut alone = defaults.clone();
            alone.insert(name.to_string(), (*value).clone());
            self.build(alone).is_ok_and(|built| built.is_err())
        };
        let (name, value) = table.iter().find(unbuildable)?;
        let allowed = match (value, defaults.get(name)?) {
            (Value::Integer(_), usual) => format!("must be a whole number >= 0, such as {usual}"),
            (Value::Array(_), usual) => {
                format!("must be a list whose entries are like those of {usual}")
            }
            (_, usual) => format!("must be a TOML {}, such as {usual}", usual.type_str()),
        };
        Some(Error::invalid(name, value, allowed))
    }
}

fn parse(text: &str, path: &Path) -> Result<Table> {
    text.parse().map_err(|e: toml::de::Error| Error::Content {
        path: path.to_path_buf(),
        problem: format!("must be valid TOML: {}", short_lines(&e.to_string())),
    })
}

/// Replaces settings of `table` by those of `over`. Every setting has a default, so a name that `table`
/// lacks is a mistake.
fn overlay(table: &mut Table, over: &Table) -> Result<()> {
    overlay_table(table, over, "")
}

/// Replaces settings of an inner table; `prefix` is its path in the user's file.
fn overlay_table(table: &mut Table, over: &Table, prefix: &str) -> Result<()> {
    over.iter().try_for_each(|(name, value)| replace(table, prefix, name, value))
}

/// Replaces one setting; `sphere.dim` is `dim` in the table `sphere`.
fn replace(table: &mut Table, prefix: &str, name: &str, value: &Value) -> Result<()> {
    if let Some((outer, inner)) = name.split_once('.')
        && let Some(Value::Table(table)) = table.get_mut(outer)
    {
        return replace(table, &format!("{prefix}{outer}."), inner, value);
    }
    let shown = format!("{prefix}{name}");
    if shown == QUICK {
        return Err(no_quick_sizes(value));
    }
    if !table.contains_key(name) {
        let known: Vec<String> = table.keys().map(|k| format!("{prefix}{k}")).collect();
        // A table may have been meant as the table of quick sizes.
        let quick = value.as_table().map(|_| QUICK);
        let known = known.iter().map(String::as_str).chain(quick);
        return Err(Error::unknown("setting", &shown, known));
    }
    match (table.get_mut(name), value) {
        // A table replaces a table entry by entry.
        (Some(Value::Table(was)), Value::Table(given)) => overlay_table(was, given, &format!("{shown}."))?,
        // 1 is accepted for 1.0, and 1e5 for 100000.
        (Some(slot @ Value::Float(_)), Value::Integer(whole)) => *slot = Value::Float(*whole as f64),
        (Some(slot @ Value::Integer(_)), Value::Float(x)) if is_exact_whole(*x) => *slot = Value::Integer(*x as i64),
        (Some(slot), given) if slot.same_type(given) => *slot = given.clone(),
        (Some(slot), given) => {
            let allowed = format!("must be a TOML {}, such as {slot}", slot.type_str());
            return Err(Error::invalid(shown, given, allowed));
        }
        (None, _) => {}
    }
    Ok(())
}

/// Refuses `quick` as a setting: it is the table of quick sizes.
fn no_quick_sizes(value: &Value) -> Error {
    let allowed = "must not be set; it is the table of small sizes in a settings file. Write --quick";
    Error::invalid(QUICK, value, allowed)
}

/// Returns `true` for a whole number of size at most 2^53, which an f64 holds exactly.
fn is_exact_whole(x: f64) -> bool {
    x.fract() == 0.0 && x.abs() <= 2_f64.powi(53)
}

/// Refuses, in every table and list, numbers that no experiment can use.
fn within_reach(name: &str, value: &Value) -> Result<()> {
    // Fifty times the papers' largest N. Costs grow at least in proportion to every setting, so a run
    // with more would not end; and estimates of memory can be computed.
    const MOST: i64 = 10_000_000;
    // Squares and cubes of it, and long sums of them, are finite.
    const LARGEST: f64 = 1e50;
    match value {
        Value::Integer(n) if *n > MOST => {
            let allowed = format!("must be a whole number, at most {MOST}");
            Err(Error::invalid(name, n, allowed))
        }
        Value::Float(x) if !x.is_finite() || x.abs() > LARGEST => {
            let allowed = format!("must be a number, at most {LARGEST:e} in size");
            Err(Error::invalid(name, format!("{x:?}"), allowed))
        }
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.try_for_each(|(i, item)| within_reach(&format!("{name}[{i}]"), item))
        }
        Value::Table(table) => {
            let mut entries = table.iter();
            entries.try_for_each(|(inner, item)| within_reach(&format!("{name}.{inner}"), item))
        }
        _ => Ok(()),
    }
}

/// Refuses fewer than two repetitions.
///
/// # Errors
/// Names the setting.
pub fn spread(name: &str, repetitions: u64) -> Result<()> {
    if repetitions >= 2 {
        return Ok(());
    }
    let allowed = "must be at least 2; intervals come from their spread";
    Err(Error::invalid(name, repetitions, allowed))
}

/// Refuses an unrolled network without layers or with a step size that is not > 0.
///
/// # Errors
/// Names the setting.
pub fn network(layers: usize, eta: f64) -> Result<()> {
    if layers == 0 {
        return Err(Error::invalid("layers", 0, "must be a whole number >= 1"));
    }
    error::positive("eta", eta)
}

/// Refuses an empty list and numbers that are not finite and > 0.
///
/// # Errors
/// Names the entry.
pub fn positive(name: &str, values: &[f64]) -> Result<()> {
    if values.is_empty() {
        return Err(Error::invalid(name, "[]", "must be at least one number > 0"));
    }
    match values.iter().position(|x| !(*x > 0.0 && x.is_finite())) {
        None => Ok(()),
        Some(i) => Err(Error::invalid(format!("{name}[{i}]"), values[i], "must be a finite number > 0")),
    }
}

/// Refuses words that are not known.
///
/// # Errors
/// Names the word, with the nearest known ones; `what` says what it is a name of.
pub fn words(what: &'static str, words: &[String], known: &[&str]) -> Result<()> {
    match words.iter().find(|word| !known.contains(&word.as_str())) {
        None => Ok(()),
        Some(word) => Err(Error::unknown(what, word, known.iter().copied())),
    }
}

/// Refuses a list of words without the one that the pictures need.
///
/// # Errors
/// Names the list.
pub fn with_word(name: &str, words: &[String], needed: &str) -> Result<()> {
    if words.iter().any(|word| word == needed) {
        return Ok(());
    }
    let allowed = format!("must hold {needed:?}, with which the others are compared");
    Err(Error::invalid(name, format!("{words:?}"), allowed))
}

/// Refuses an empty list.
///
/// # Errors
/// Names the list.
pub fn some<T>(name: &str, values: &[T]) -> Result<()> {
    match values {
        [] => Err(Error::invalid(name, "[]", "must hold at least one entry")),
        _ => Ok(()),
    }
}

/// Refuses a list of fewer than `least` different whole numbers ≥ 1.
///
/// # Errors
/// Names the list or the entry.
pub fn at_least(name: &str, values: &[usize], least: usize) -> Result<()> {
    if let Some(i) = values.iter().position(|x| *x == 0) {
        return Err(Error::invalid(format!("{name}[{i}]"), 0, "must be a whole number >= 1"));
    }
    let mut different = values.to_vec();
    different.sort_unstable();
    different.dedup();
    if different.len() < least {
        let allowed = match least {
            1 => "must be at least one whole number".to_string(),
            _ => format!("must be at least {least} different whole numbers"),
        };
        return Err(Error::invalid(name, format!("{values:?}"), allowed));
    }
    Ok(())
}
