//! Experiments from TOML: defaults, quick sizes, the user's file, single settings.

use super::ranges::Ranges;
use super::{Experiment, Identity};
use crate::claim::Source;
use crate::run::files::content;
use attnlab_core::error::{Error, Result};
use attnlab_core::format::short_lines;
use attnlab_core::input;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Name of the TOML table whose settings replace the others under `--quick`.
const QUICK: &str = "quick";

/// Identity, source and settings of an experiment type, as [`settings!`](crate::settings) declares them.
pub trait Described: Experiment + Ranges + Serialize + DeserializeOwned + 'static {
    /// Identifier, "paper.name".
    const ID: &'static str;
    /// Name in rows, folders and streams; the same as the identifier unless older rows have another.
    const NAME: &'static str = Self::ID;
    /// One line for lists.
    const TITLE: &'static str;
    /// Source: paper and place.
    const SOURCE: Source;
    /// The default settings, with a comment on each: the text of `settings.toml`.
    const DEFAULTS: &'static str;
    /// Flag: the experiment trains networks for minutes even at its quick size.
    const TRAINS: bool = false;
    /// Aliases of settings: (alias, setting).
    const ALIASES: &'static [(&'static str, &'static str)] = &[];

    /// Returns the experiment with its default settings.
    ///
    /// # Errors
    /// When [`Described::DEFAULTS`] are not its settings.
    fn defaults() -> Result<Self> {
        let origin = PathBuf::from(format!("settings of {}", Self::NAME));
        let mut table = parse(Self::DEFAULTS, &origin)?;
        table.remove(QUICK);
        Self::deserialize(table).map_err(|e| content(origin, e))
    }
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

    fn check_settings(&self) -> Result<()> {
        self.ranges("")?;
        self.validate()
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
    /// Creates the entry of `E`.
    pub const fn new<E: Described>() -> Self {
        Entry {
            id: E::ID,
            name: E::NAME,
            title: E::TITLE,
            source: E::SOURCE,
            trains: E::TRAINS,
            defaults: E::DEFAULTS,
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
        let mut origin = PathBuf::from(format!("settings of {}", self.name));
        let mut table = parse(self.defaults, &origin)?;
        if let (true, Some(Value::Table(sizes))) = (quick, table.remove(QUICK)) {
            overlay(&mut table, "", &sizes)?;
        }
        let set = &self.renamed(set)?;
        if let Some(path) = config {
            let text = input::read_settings(path).map_err(|e| Error::io(path, e, "Give a TOML file to --config"))?;
            let mut entries = self.renamed(&parse(&text, path)?)?;
            let quick_of_file = entries.remove(QUICK);
            overlay(&mut table, "", &entries)?;
            match quick_of_file {
                Some(Value::Table(sizes)) if quick => overlay(&mut table, "", &self.renamed(&sizes)?)?,
                Some(Value::Table(_)) | None => {}
                Some(other) => return Err(no_quick_sizes(&other)),
            }
            origin = path.to_path_buf();
        }
        overlay(&mut table, "", set)?;
        self.finish(table, &origin)
    }

    /// Builds the experiment with the settings that a run has stored.
    ///
    /// # Errors
    /// When they are not settings of this experiment and version.
    pub fn with_settings(&self, settings: &serde_json::Map<String, serde_json::Value>) -> Result<Box<dyn Experiment>> {
        let origin = PathBuf::from(crate::run::store::Manifest::FILE);
        self.finish(Table::try_from(settings).map_err(|e| content(&origin, e))?, &origin)
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
                     cargo run --features {feature} -- run {}",
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
            let problem = || e.to_string().trim().replace('\n', "; ");
            self.wrong_setting(&table).unwrap_or_else(|| content(origin, problem()))
        })?;
        experiment.check_settings()?;
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
            (Value::Array(_), usual) => format!("must be a list whose entries are like those of {usual}"),
            (_, usual) => format!("must be a TOML {}, such as {usual}", usual.type_str()),
        };
        Some(Error::invalid(name, value, allowed))
    }
}

fn parse(text: &str, path: &Path) -> Result<Table> {
    text.parse()
        .map_err(|e: toml::de::Error| content(path, format!("must be valid TOML: {}", short_lines(&e.to_string()))))
}

/// Replaces settings of `table` by those of `over`; `prefix` is its path in the user's file. Every setting has a
/// default, so a name that `table` lacks is a mistake.
fn overlay(table: &mut Table, prefix: &str, over: &Table) -> Result<()> {
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
    let Some(slot) = table.get_mut(name) else {
        let known: Vec<String> = table.keys().map(|k| format!("{prefix}{k}")).collect();
        // A table may have been meant as the table of quick sizes.
        let quick = value.as_table().map(|_| QUICK);
        return Err(Error::unknown("setting", &shown, known.iter().map(String::as_str).chain(quick)));
    };
    match (slot, value) {
        // A table replaces a table entry by entry.
        (Value::Table(was), Value::Table(given)) => overlay(was, &format!("{shown}."), given)?,
        // 1 is accepted for 1.0, and 1e5 for 100000.
        (slot @ Value::Float(_), Value::Integer(whole)) => *slot = Value::Float(*whole as f64),
        (slot @ Value::Integer(_), Value::Float(x)) if is_exact_whole(*x) => *slot = Value::Integer(*x as i64),
        (slot, given) if slot.same_type(given) => *slot = given.clone(),
        (slot, given) => {
            return Err(Error::invalid(shown, given, format!("must be a TOML {}, such as {slot}", slot.type_str())));
        }
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
            Err(Error::invalid(name, n, format!("must be a whole number, at most {MOST}")))
        }
        Value::Float(x) if !x.is_finite() || x.abs() > LARGEST => {
            let allowed = format!("must be a number, at most {LARGEST:e} in size");
            Err(Error::invalid(name, format!("{x:?}"), allowed))
        }
        Value::Array(items) => {
            items.iter().enumerate().try_for_each(|(i, item)| within_reach(&format!("{name}[{i}]"), item))
        }
        Value::Table(table) => {
            table.iter().try_for_each(|(inner, item)| within_reach(&format!("{name}.{inner}"), item))
        }
        _ => Ok(()),
    }
}

/// Declares the settings of an experiment: their types and ranges here, what they mean and their defaults in the
/// `settings.toml` beside the file, which becomes the documentation of the type. It implements
/// [`Described`](crate::experiment::Described), and [`Ranges`](crate::experiment::ranges::Ranges).
///
/// ```ignore
/// attnlab_lab::settings! {
///     /// AoT Figure 4: the SNR of Eq. (6) at each layer, by noise level and by φ.
///     #[experiment("aot.snr_per_layer", rows = "snr_per_layer", title = "SNR per layer against Theorem 1")]
///     #[source(&PAPERS[0], "Figure 4")]
///     pub struct SnrPerLayer {
///         pub trials: u64 = spread,
///         pub layers: usize = whole(1..),
///         pub noise: Vec<f64> = positive,
///         pub phi_noise: f64,
///     }
/// }
/// ```
///
/// `rows` is needed where the name in rows and folders is not the id. `#[alias("N", "context")]` after the source is
/// another name of a setting; `#[trains = true]` marks trainings of minutes.
///
/// A range is a function of the name and the value of a setting: one of [`ranges`](crate::experiment::ranges), or one of
/// your own. [`Experiment::validate`](crate::experiment::Experiment::validate) is called after them and refuses settings
/// that do not fit each other.
///
/// Without `#[experiment(..)]` it declares a table among the settings, in the range `table`:
///
/// ```
/// use attnlab_lab::experiment::ranges::Ranges;
///
/// attnlab_lab::settings! {
///     /// Adam.
///     pub struct Optimiser {
///         pub rates: Vec<f64> = positive,
///         pub beta_1: f64 = within("[0, 1)"),
///     }
/// }
/// attnlab_lab::settings! {
///     /// A training.
///     pub struct Training {
///         pub steps: u64 = whole(1..),
///         pub task: String = word("task", &["sphere", "subspace"]),
///         pub optimiser: Optimiser = table,
///     }
/// }
/// let optimiser = Optimiser { rates: vec![1e-3, -1.0], beta_1: 0.9 };
/// let training = Training { steps: 100, task: "sphere".into(), optimiser };
/// let error = training.ranges("").unwrap_err().to_string();
/// assert_eq!(error, "optimiser.rates[1] = -1: must be a finite number > 0");
/// let error = Training { task: "shere".into(), ..training }.ranges("").unwrap_err().to_string();
/// assert_eq!(error, "unknown task 'shere'; did you mean sphere?");
/// ```
#[macro_export]
macro_rules! settings {
    (
        $(#[doc = $doc:literal])*
        #[experiment($id:expr $(, rows = $name:expr)?, title = $title:expr)]
        #[source($paper:expr, $place:expr)]
        $(#[alias($alias:expr, $setting:expr)])*
        $(#[trains = $trains:expr])?
        $vis:vis struct $experiment:ident { $($fields:tt)* }
    ) => {
        $crate::settings! {
            $(#[doc = $doc])*
            #[doc = concat!("\n```toml\n", include_str!("settings.toml"), "```")]
            $vis struct $experiment { $($fields)* }
        }

        impl $crate::experiment::Described for $experiment {
            const ID: &'static str = $id;
            $(const NAME: &'static str = $name;)?
            const TITLE: &'static str = $title;
            const SOURCE: $crate::claim::Source = $crate::claim::Source { paper: $paper, place: $place };
            const DEFAULTS: &'static str = include_str!("settings.toml");
            const ALIASES: &'static [(&'static str, &'static str)] = &[$(($alias, $setting)),*];
            $(const TRAINS: bool = $trains;)?
        }
    };
    (
        $(#[$attribute:meta])*
        $vis:vis struct $table:ident {
            $($(#[$field_attribute:meta])* $field_vis:vis $field:ident: $type:ty $(= $range:expr)?),* $(,)?
        }
    ) => {
        // The fields are documented in `settings.toml`.
        #[allow(missing_docs)]
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        $(#[$attribute])*
        $vis struct $table {
            $($(#[$field_attribute])* $field_vis $field: $type),*
        }

        impl $crate::experiment::ranges::Ranges for $table {
            #[allow(unused_imports, unused_variables)]
            fn ranges(&self, prefix: &str) -> $crate::experiment::ranges::Result<()> {
                use $crate::experiment::ranges::*;
                $($($range(&format!("{prefix}{}", stringify!($field)), &self.$field)?;)?)*
                Ok(())
            }
        }
    };
}
