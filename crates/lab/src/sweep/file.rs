//! Conversion of a sweep file to a [`Sweep`], and of a [`Sweep`] to the settings in `run.json` and back.

use super::axes::{Axis, Range};
use super::keys::refuse_unknown;
use super::{Beyond, Expression, Of, Stop, Sweep, Until};
use crate::run::files::content;
use crate::run::store::{Manifest, number};
use attnlab_core::error::{Error, Result, require};
use attnlab_core::format::short_lines;
use attnlab_core::input;
use attnlab_core::stats::{MAX_TRIALS, Sequence, validate_level};
use serde_json::{Map, Value, json};
use std::path::Path;

impl Sweep {
    /// Reads a sweep file.
    ///
    /// # Errors
    /// A file that cannot be read or is not TOML; an unknown key, with the nearest known ones; a value
    /// that is not allowed. Every message begins with the name of the file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = input::read_settings(path).map_err(|e| Error::io(path, e, "Write the name of a sweep file"))?;
        Self::parse(&text, path)
    }

    /// Parses the text of a sweep file; `origin` is its path, for messages.
    ///
    /// # Errors
    /// As [`Sweep::read`].
    pub fn parse(text: &str, origin: &Path) -> Result<Self> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            content(origin, format!("must be valid TOML: {}", short_lines(&e.to_string())))
        })?;
        let map = table.into_iter().map(|(name, value)| (name, as_json(value))).collect();
        let sweep = Self::of_json(map).map_err(|e| content(origin, e))?;
        Ok(Sweep { origin: origin.to_path_buf(), ..sweep })
    }

    /// Makes a sweep of the keys of a sweep file.
    ///
    /// # Errors
    /// An unknown key; a value that is not allowed.
    pub fn of_json(mut map: Map<String, Value>) -> Result<Self> {
        refuse_unknown("", &map)?;
        let of = match (map.remove("claim"), map.remove("experiment")) {
            (Some(claim), None) => Of::Claim(word("claim", &claim)?),
            (None, Some(experiment)) => Of::Experiment(word("experiment", &experiment)?),
            (Some(_), Some(_)) => {
                let allowed = "must be left out; a sweep has a claim or an experiment, not both";
                return Err(Error::invalid("experiment", "set beside claim", allowed));
            }
            (None, None) => {
                let allowed = "must be set unless experiment is. Write claim = \"ID\", see `attnlab list`";
                return Err(Error::invalid("claim", "(not set)", allowed));
            }
        };
        let of_claims = ["level", "beyond_hypotheses", "stop"].into_iter().find(|name| map.contains_key(*name));
        if let (Of::Experiment(_), Some(name)) = (&of, of_claims) {
            let allowed = "must be left out; it is for claims, and an experiment has no verdict";
            return Err(Error::invalid(name, &map[name], allowed));
        }
        let axes = match map.get("axes") {
            None => vec![],
            Some(axes) => table("axes", axes)?
                .iter()
                .map(|(name, v)| Ok((name.clone(), axis(name, v)?)))
                .collect::<Result<_>>()?,
        };
        let set = map.get("set").map(|set| table("set", set).cloned()).transpose()?.unwrap_or_default();
        if let Some((name, _)) = axes.iter().find(|(name, _)| set.contains_key(name)) {
            let allowed = "must be left out; it is an axis too. Keep it in [axes] or in [set]";
            return Err(Error::invalid(format!("set.{name}"), &set[name], allowed));
        }
        Ok(Sweep {
            of,
            trials: map.get("trials").map(|v| whole("trials", v, 1, MAX_TRIALS)).transpose()?,
            seed: map.get("seed").map(|v| whole("seed", v, 0, u64::MAX)).transpose()?.unwrap_or(0),
            level: map.get("level").map(level).transpose()?.unwrap_or(DEFAULT_LEVEL),
            beyond: map.get("beyond_hypotheses").map(beyond).transpose()?.unwrap_or_default(),
            stop: map.get("stop").map(stop).transpose()?,
            set,
            axes,
            origin: Manifest::FILE.into(),
        })
    }

    /// Returns all settings for `run.json`, from which [`Sweep::of_manifest`] restores the sweep.
    pub fn settings(&self) -> Map<String, Value> {
        let mut settings = Map::new();
        match &self.of {
            Of::Claim(id) => {
                settings.insert("claim".into(), id.clone().into());
                settings.insert("level".into(), self.level.into());
                settings.insert("beyond_hypotheses".into(), self.beyond.name().into());
            }
            Of::Experiment(id) => {
                settings.insert("experiment".into(), id.clone().into());
            }
        }
        if let Some(trials) = self.trials {
            settings.insert("trials".into(), trials.into());
        }
        if let Some(stop) = self.stop {
            let rule = Sequence::NAME;
            let stop = match stop.until {
                Until::Width(width) => json!({"rule": rule, "width": width, "every": stop.every}),
                Until::Decided => json!({"rule": rule, "until": DECIDED, "every": stop.every}),
            };
            settings.insert("stop".into(), stop);
        }
        settings.insert("set".into(), Value::Object(self.set.clone()));
        // A list of pairs, because the order of the axes determines that of the cells and JSON objects have none.
        let pair = |(name, axis): &(String, Axis)| json!([name, axis_json(axis)]);
        settings.insert(AXES.into(), self.axes.iter().map(pair).collect());
        settings
    }

    /// Restores the sweep whose rows a folder holds; None if the run is not a sweep.
    ///
    /// # Errors
    /// When its settings are not those of a sweep of this version.
    pub fn of_manifest(manifest: &Manifest) -> Result<Option<Self>> {
        let mut settings = manifest.settings.clone();
        let Some(Value::Array(pairs)) = settings.remove(AXES) else { return Ok(None) };
        let mut axes = Map::new();
        for pair in &pairs {
            let before = match pair.as_array().map(Vec::as_slice) {
                Some([Value::String(name), values]) => axes.insert(name.clone(), values.clone()),
                _ => Some(Value::Null),
            };
            if before.is_some() {
                let problem = format!("{AXES} holds {pair}: must be pairs of a name and its values, each once");
                return Err(content(Manifest::FILE, problem));
            }
        }
        settings.insert("axes".into(), Value::Object(axes));
        settings.insert("seed".into(), manifest.seed.into());
        Self::of_json(settings).map(Some).map_err(|e| content(Manifest::FILE, e))
    }
}

/// Name of the axes among the settings of a run; only sweeps have it.
const AXES: &str = "sweep_axes";

/// Default confidence level, that of `attnlab check`.
const DEFAULT_LEVEL: f64 = 0.95;

/// Converts TOML to JSON in the same order. Infinities and NaN become words, which are then refused.
fn as_json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(n) => n.into(),
        toml::Value::Float(x) => number(x),
        toml::Value::Boolean(b) => b.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(as_json).collect(),
        toml::Value::Table(table) => Value::Object(table.into_iter().map(|(name, v)| (name, as_json(v))).collect()),
    }
}

fn axis(name: &str, value: &Value) -> Result<Axis> {
    let full = format!("axes.{name}");
    match value {
        Value::Array(values) if !values.is_empty() => Ok(Axis::List(values.clone())),
        Value::Object(range) => Ok(Axis::Range(self::range(&full, range)?)),
        Value::String(text) => Ok(Axis::Computed(Expression::parse(&full, text)?)),
        other => {
            let allowed = "must be a list such as [200, 1000], a range such as { from = 40, to = 160, steps = \
                           3 }, or an expression such as \"2 * dim\"";
            Err(Error::invalid(full, other, allowed))
        }
    }
}

fn axis_json(axis: &Axis) -> Value {
    match axis {
        Axis::List(values) => values.clone().into(),
        Axis::Computed(expression) => expression.text().into(),
        Axis::Range(range) => {
            let scale = if range.log { "log" } else { "linear" };
            let mut json = json!({
                "from": range.from, "to": range.to, "steps": range.steps, "scale": scale,
            });
            if let Some(multiple) = range.multiple_of {
                json["multiple_of"] = multiple.into();
            }
            json
        }
    }
}

fn range(name: &str, given: &Map<String, Value>) -> Result<Range> {
    refuse_unknown("axes.dim", given)?;
    let full = |key: &str| format!("{name}.{key}");
    let need = |key: &str| {
        let missing = || Error::invalid(full(key), "(not set)", "must be set; a range has from, to and steps");
        given.get(key).ok_or_else(missing)
    };
    let end = |key: &str| -> Result<f64> {
        let value = need(key)?;
        value.as_f64().ok_or_else(|| Error::invalid(full(key), value, "must be a finite number"))
    };
    let most = super::axes::MAX_CELLS as u64;
    let (from, to) = (end("from")?, end("to")?);
    let steps = whole(&full("steps"), need("steps")?, 2, most)?;
    let log = match given.get("scale").map(|v| word(&full("scale"), v)).transpose()?.as_deref() {
        None | Some("linear") => false,
        Some("log") => true,
        Some(scale) => {
            return Err(Error::invalid(full("scale"), format!("\"{scale}\""), "must be \"linear\" or \"log\""));
        }
    };
    if log && !(from > 0.0 && to > 0.0) {
        let (key, value) = if from > 0.0 { ("to", to) } else { ("from", from) };
        return Err(Error::invalid(full(key), value, "must be > 0 on a log scale"));
    }
    let multiple_of = given.get("multiple_of").map(|v| whole(&full("multiple_of"), v, 1, u64::MAX)).transpose()?;
    Ok(Range { from, to, steps, log, multiple_of })
}

/// Value of `stop.until`.
const DECIDED: &str = "decided";

fn stop(value: &Value) -> Result<Stop> {
    let given = table("stop", value)?;
    refuse_unknown("stop", given)?;
    let until = match (given.get("until"), given.get("width")) {
        (Some(until), None) if until == DECIDED => Until::Decided,
        (Some(until), None) => {
            let allowed = format!("must be \"{DECIDED}\". For an interval of some width write width instead");
            return Err(Error::invalid("stop.until", until, allowed));
        }
        (Some(_), Some(width)) => {
            let allowed = "must be left out beside until; a cell stops by the one or the other";
            return Err(Error::invalid("stop.width", width, allowed));
        }
        (None, width) => {
            let allowed = "must be a number in (0, 1); a cell stops once its interval is no wider. Or write until = \
                           \"decided\"";
            let shown = || width.map_or("(not set)".into(), Value::to_string);
            let number = width.and_then(Value::as_f64).filter(|w| *w > 0.0 && *w < 1.0);
            Until::Width(number.ok_or_else(|| Error::invalid("stop.width", shown(), allowed))?)
        }
    };
    if let Some(rule) = given.get("rule") {
        require(rule == Sequence::NAME, "stop.rule", rule, format!("must be \"{}\"", Sequence::NAME))?;
    }
    let every = given.get("every").map(|v| whole("stop.every", v, 1, MAX_TRIALS)).transpose()?.unwrap_or(10);
    Ok(Stop { until, every })
}

fn beyond(value: &Value) -> Result<Beyond> {
    let allowed = "must be \"mark\", \"judge\" or \"skip\"";
    Beyond::parse(&word("beyond_hypotheses", value)?).map_err(|_| Error::invalid("beyond_hypotheses", value, allowed))
}

fn level(value: &Value) -> Result<f64> {
    let allowed = "must be a number in (0, 1), such as 0.95";
    let level = value.as_f64().ok_or_else(|| Error::invalid("level", value, allowed))?;
    validate_level(level).map(|()| level)
}

fn word(name: &str, value: &Value) -> Result<String> {
    value.as_str().map(String::from).ok_or_else(|| Error::invalid(name, value, "must be a text in quotes"))
}

fn table<'a>(name: &str, value: &'a Value) -> Result<&'a Map<String, Value>> {
    let allowed = || format!("must be a table. Write [{name}] on a line of its own");
    value.as_object().ok_or_else(|| Error::invalid(name, value, allowed()))
}

/// Reads a whole number from `low` to `high`; 1e5 is accepted.
fn whole(name: &str, value: &Value, low: u64, high: u64) -> Result<u64> {
    let from_float = |x: f64| (x.fract() == 0.0 && (0.0..2_f64.powi(64)).contains(&x)).then_some(x as u64);
    let number = value.as_u64().or_else(|| from_float(value.as_f64()?));
    number.filter(|n| (low..=high).contains(n)).ok_or_else(|| {
        let allowed = match high {
            u64::MAX => format!("must be a whole number >= {low}"),
            _ => format!("must be a whole number from {low} to {high}"),
        };
        Error::invalid(name, value, allowed)
    })
}
