//! User input: parameters as `--set NAME=VALUE` or a JSON file, and the numbers of options.

use crate::run::files::content;
use crate::run::grid::GridOptions;
use crate::run::store::Shard;
use attnlab_core::error::{Error, Result};
use attnlab_core::input;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Parameters from `--set` and `--input`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Parameters {
    /// Set a parameter to a JSON value, or to a word without quotes (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Read parameters from a JSON file with one object; --set overrides its values
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
}

impl Parameters {
    /// Collects the parameters that the user gave, in the order given.
    ///
    /// # Errors
    /// A file that is not one JSON object, a setting without `=`, a name that is set twice.
    pub fn collect(&self) -> Result<Map<String, Value>> {
        let mut parameters = self.input.as_deref().map(read_object).transpose()?.unwrap_or_default();
        let mut seen = Map::new();
        for setting in &self.set {
            let (name, value) = parse_setting(setting)?;
            if let Some(before) = seen.insert(name.clone(), value.clone()) {
                return Err(Error::invalid(name, value, format!("must be set once; it is already set to {before}")));
            }
            parameters.insert(name, value);
        }
        Ok(parameters)
    }
}

/// Options of commands that write rows.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct RowOptions {
    /// Run one part of the trials only, I from 0 to N-1
    #[arg(long, value_name = "I/N", default_value = "0/1", hide_default_value = true)]
    pub shard: Shard,
    /// Delete the rows of another run that the folder holds
    #[arg(long)]
    pub force: bool,
    /// Keep the rows that another build of attnlab has computed; rows and reports then name every build
    #[arg(long)]
    pub mix_builds: bool,
}

impl RowOptions {
    /// Returns the same as options of a grid.
    pub fn grid(self) -> GridOptions<'static> {
        GridOptions { shard: self.shard, force: self.force, mix_builds: self.mix_builds, command: None }
    }
}

fn read_object(path: &Path) -> Result<Map<String, Value>> {
    let text = input::read_settings(path).map_err(|e| Error::io(path, e, "Write the name of a JSON file"))?;
    let problem = match serde_json::from_str(&text) {
        Ok(Value::Object(object)) => return Ok(object),
        Ok(_) => "must be one JSON object, such as {\"tokens\": 2000}".to_string(),
        Err(e) => format!("must be valid JSON ({e})"),
    };
    Err(content(path, problem))
}

/// Parses `name=value`: the value as JSON where it is JSON, as text where it is a word without quotes.
fn parse_setting(setting: &str) -> Result<(String, Value)> {
    let allowed = "must be NAME=VALUE, such as --set tokens=2000";
    let parts = setting.split_once('=').map(|(name, text)| (name.trim(), text.trim()));
    let Some((name, text)) = parts.filter(|(name, text)| !name.is_empty() && !text.is_empty()) else {
        return Err(Error::invalid("set", setting, allowed));
    };
    let value = match serde_json::from_str(text) {
        Ok(value) => value,
        // An array, an object or a quoted text that cannot be parsed is not meant as a word.
        Err(e) if text.starts_with(['[', '{', '"']) => {
            return Err(Error::invalid(name, text, format!("must be valid JSON ({e})")));
        }
        Err(_) => Value::String(text.to_string()),
    };
    Ok((name.to_string(), value))
}

/// Parses a whole number ≥ 0; `1e5` is accepted.
pub fn whole(text: &str) -> Result<u64, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    match text.parse::<f64>() {
        // A whole f64 below 2^64 is a u64 exactly.
        Ok(x) if x.fract() == 0.0 && (0.0..2_f64.powi(64)).contains(&x) => Ok(x as u64),
        _ => Err("must be a whole number from 0 to 18446744073709551615".into()),
    }
}

/// Parses a whole number ≥ 1.
pub fn positive(text: &str) -> Result<u64, String> {
    whole(text).ok().filter(|number| *number > 0).ok_or("must be a whole number >= 1".into())
}

/// Parses a whole number from 1 to `most`.
fn up_to(most: u64, text: &str) -> Result<u64, String> {
    let number = whole(text).ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("must be a whole number from 1 to {most}"))
}

/// Parses a number of threads.
pub fn threads(text: &str) -> Result<usize, String> {
    // More than the machines that this runs on have; a mistyped number must not exhaust the system's threads.
    up_to(1024, text).map(|number| number as usize)
}

/// Parses a number of seeds under which mutants are checked.
pub fn mutant_seeds(text: &str) -> Result<u64, String> {
    // The power in steps of 1e-4; more seeds would run for days.
    up_to(10_000, text)
}

/// Parses a finite number.
pub fn number(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|x: &f64| x.is_finite()).ok_or("must be a finite number".into())
}

/// Parses a finite number > 0.
pub fn positive_number(text: &str) -> Result<f64, String> {
    number(text).ok().filter(|x| *x > 0.0).ok_or("must be a finite number > 0".into())
}

/// Parses a time in seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    // Thirty years: a multiple of it is still a duration.
    const MOST: f64 = 1e9;
    let seconds = number(text).ok().filter(|x| *x > 0.0 && *x <= MOST).map(Duration::from_secs_f64);
    seconds.ok_or_else(|| format!("must be a number of seconds > 0, at most {MOST:e}"))
}

/// Parses a confidence level in (0, 1).
pub fn level(text: &str) -> Result<f64, String> {
    number(text).ok().filter(|x| *x > 0.0 && *x < 1.0).ok_or("must be a number in (0, 1), such as 0.95".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_are_json_or_bare_words() {
        let value = |s: &str| parse_setting(s).unwrap().1;
        assert_eq!(value("phi=softmax"), json!("softmax"));
        assert_eq!(value("x=[1, 2]"), json!([1, 2]));
        assert_eq!(value("tokens=2000"), json!(2000));
        assert_eq!(value("flag=true"), json!(true));
        assert_eq!(value("text=\"2\""), json!("2"));
        assert_eq!(value("delta=NaN"), json!("NaN"));
        for bad in ["tokens", "=3", "x=", "x=[1, 2", "x={", "x=\"a"] {
            assert!(parse_setting(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_is_set_once() {
        let set = |set: &[&str]| Parameters { set: set.iter().map(ToString::to_string).collect(), input: None };
        assert_eq!(set(&["a=1", "b=2"]).collect().unwrap().len(), 2);
        let error = set(&["a=1", "a=2"]).collect().unwrap_err().to_string();
        assert_eq!(error, "a = 2: must be set once; it is already set to 1");
    }

    #[test]
    fn numbers_of_options() {
        assert_eq!(whole("1e5"), Ok(100_000));
        assert_eq!(whole("18446744073709551615"), Ok(u64::MAX));
        for bad in ["-1", "1.5", "1e300", "NaN", "inf", "", "x"] {
            assert!(whole(bad).is_err(), "{bad}");
            assert!(threads(bad).is_err(), "{bad}");
        }
        assert!(threads("0").is_err() && positive("0").is_err());
        assert!(level("1").is_err() && level("2").is_err() && level("NaN").is_err());
        assert_eq!(level("0.9"), Ok(0.9));
        let shard = |text: &str| text.parse::<Shard>();
        assert!(shard("2/3").is_ok());
        assert_eq!(shard("3/3").unwrap_err(), "must be from 0/3 to 2/3; shards are counted from 0");
        for bad in ["", "1", "1/0", "-1/2", "a/b", "0/1e9"] {
            assert!(shard(bad).unwrap_err().starts_with("must be i/n"), "{bad}");
        }
        assert!(positive_number("0").is_err() && number("inf").is_err());
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["0", "-1", "nan", "1e10", "a"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
