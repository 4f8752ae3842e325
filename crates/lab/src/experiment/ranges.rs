//! Ranges of settings, as [`settings!`](crate::settings) writes them beside the fields: `layers: usize = whole(1..)`.
//!
//! A range is a function of the name and the value of a setting; a package may write its own. Those of numbers take lists
//! too, whose entries are named `noise[2]`, and refuse empty ones.

use attnlab_core::error::{self, Error, require};
use std::ops::{Bound, RangeBounds};

pub use attnlab_core::error::Result;

/// Settings with ranges; [`settings!`](crate::settings) implements it.
pub trait Ranges {
    /// Refuses the first setting out of its range; `prefix` is the path of its table, such as `training.`.
    ///
    /// # Errors
    /// Names the setting, its value and what is allowed.
    fn ranges(&self, prefix: &str) -> Result<()>;
}

/// A number or a list of them.
pub trait Numbers {
    /// Returns every number with its name.
    fn numbers(&self, name: &str) -> Vec<(String, f64)>;
}

macro_rules! one_number {
    ($($type:ty),*) => {$(
        impl Numbers for $type {
            fn numbers(&self, name: &str) -> Vec<(String, f64)> {
                vec![(name.to_string(), *self as f64)]
            }
        }
    )*};
}

one_number!(f64, u32, u64, usize);

impl<T: Numbers> Numbers for Vec<T> {
    fn numbers(&self, name: &str) -> Vec<(String, f64)> {
        entries(self, name)
    }
}

impl<T: Numbers, const N: usize> Numbers for [T; N] {
    fn numbers(&self, name: &str) -> Vec<(String, f64)> {
        entries(self, name)
    }
}

fn entries<T: Numbers>(values: &[T], name: &str) -> Vec<(String, f64)> {
    values.iter().enumerate().flat_map(|(i, entry)| entry.numbers(&format!("{name}[{i}]"))).collect()
}

/// Refuses an empty list, and numbers that `accept` refuses; `kind` says what the list holds.
fn check_each(name: &str, value: &impl Numbers, kind: &str, accept: impl Fn(&str, f64) -> Result<()>) -> Result<()> {
    match &value.numbers(name)[..] {
        [] => Err(Error::invalid(name, "[]", format!("must be at least one {kind}"))),
        numbers => numbers.iter().try_for_each(|(name, x)| accept(name, *x)),
    }
}

/// Refuses an empty list, and numbers for which `holds` is false; `kind` says what it holds for.
fn check_kind(name: &str, value: &impl Numbers, kind: &str, holds: impl Fn(f64) -> bool) -> Result<()> {
    check_each(name, value, kind, |name, x| require(holds(x), name, x, format!("must be a {kind}")))
}

/// Accepts repetitions whose spread can be measured, at least two.
///
/// # Errors
/// Names the setting.
pub fn spread(name: &str, repetitions: &u64) -> Result<()> {
    require(*repetitions >= 2, name, repetitions, "must be at least 2; intervals come from their spread")
}

/// Accepts whole numbers in `range`, such as `whole(1..)` or `whole(2..=12)`.
pub fn whole<T: Numbers>(range: impl RangeBounds<u64>) -> impl Fn(&str, &T) -> Result<()> {
    let least = match range.start_bound() {
        Bound::Included(least) | Bound::Excluded(least) => *least,
        Bound::Unbounded => 0,
    };
    let kind = match range.end_bound() {
        Bound::Included(most) => format!("whole number from {least} to {most}"),
        Bound::Excluded(above) => format!("whole number from {least} below {above}"),
        Bound::Unbounded => format!("whole number >= {least}"),
    };
    move |name, value| check_kind(name, value, &kind, |x| range.contains(&(x as u64)))
}

/// Accepts numbers in an interval, such as `within("(0, 1]")`.
pub fn within<T: Numbers>(interval: &str) -> impl Fn(&str, &T) -> Result<()> {
    // NaN, where this is no interval, refuses every number.
    let end = |text: &str| text.trim_matches(['(', '[', ']', ')', ' ']).parse().unwrap_or(f64::NAN);
    let (low, high) = interval.split_once(',').map_or((f64::NAN, f64::NAN), |(low, high)| (end(low), end(high)));
    let holds = move |x: f64| {
        (x > low || x == low && interval.starts_with('[')) && (x < high || x == high && interval.ends_with(']'))
    };
    move |name, value| check_kind(name, value, &format!("number in {interval}"), holds)
}

/// Accepts finite numbers > 0.
///
/// # Errors
/// Names the number.
pub fn positive(name: &str, value: &impl Numbers) -> Result<()> {
    check_each(name, value, "number > 0", error::positive)
}

/// Accepts finite numbers >= 0.
///
/// # Errors
/// Names the number.
pub fn non_negative(name: &str, value: &impl Numbers) -> Result<()> {
    check_each(name, value, "number >= 0", error::non_negative)
}

/// Accepts a list of at least `least` different whole numbers >= 1.
pub fn different(least: usize) -> impl Fn(&str, &Vec<usize>) -> Result<()> {
    move |name, values| {
        whole(1..)(name, values)?;
        let different: std::collections::BTreeSet<&usize> = values.iter().collect();
        let allowed = format!("must be at least {least} different whole numbers");
        require(different.len() >= least, name, format!("{values:?}"), allowed)
    }
}

/// Accepts a list of at least one name, which [`Experiment::validate`](super::Experiment::validate) looks up.
///
/// # Errors
/// Names the list.
pub fn names(name: &str, names: &[String]) -> Result<()> {
    require(!names.is_empty(), name, "[]", "must be at least one name")
}

/// Accepts a word among those that are `known`; `what` says what it is a name of. The refusal has the nearest known ones.
pub fn word(what: &'static str, known: &[&str]) -> impl Fn(&str, &String) -> Result<()> {
    move |_, word| match known.contains(&word.as_str()) {
        true => Ok(()),
        false => Err(Error::unknown(what, word, known.iter().copied())),
    }
}

/// Accepts a list of known words, as [`word`] does.
pub fn any_words(what: &'static str, known: &[&str]) -> impl Fn(&str, &Vec<String>) -> Result<()> {
    move |name, words| words.iter().try_for_each(|each| word(what, known)(name, each))
}

/// Accepts a list of at least one known word.
pub fn words(what: &'static str, known: &[&str]) -> impl Fn(&str, &Vec<String>) -> Result<()> {
    move |name, words| names(name, words).and_then(|()| any_words(what, known)(name, words))
}

/// Accepts a list of known words with the first of them, which pictures need.
pub fn words_with_first(what: &'static str, known: &[&str]) -> impl Fn(&str, &Vec<String>) -> Result<()> {
    move |name, words| {
        self::words(what, known)(name, words)?;
        let allowed = format!("must hold {:?}, with which the others are compared", known[0]);
        require(words.iter().any(|word| word == known[0]), name, format!("{words:?}"), allowed)
    }
}

/// Accepts a table whose settings are in their ranges.
///
/// # Errors
/// Names the setting with its table, such as `training.rate`.
pub fn table<T: Ranges>(name: &str, value: &T) -> Result<()> {
    value.ranges(&format!("{name}."))
}
