//! Comparison of two runs: verdicts and estimates that changed, with a test for each difference.
//!
//! A side is a folder of runs, or a file of `attnlab check --json`. Verdicts, cells of sweeps and numbers of
//! experiments are its items. Items of the same name and parameters are compared: shares of trials by Fisher's exact
//! test, means by Welch's test, other estimates by the normal law of their intervals. The p-values are adjusted by Holm
//! for all tests of the comparison.

mod item;
mod page;
mod side;
mod test;

pub use item::{Item, Measure};
pub use page::html;
pub use side::Side;
pub use test::{Method, Test};

use attnlab_core::error::{Error, Result};
use attnlab_core::stats::holm;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Kind of a difference between two items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The verdicts differ.
    Verdict,
    /// The estimates differ at the level of the comparison, adjusted by Holm; or brackets of computed values are
    /// disjoint.
    Estimate,
    /// The estimates differ, and nothing can be tested: single values, or values without spread.
    Untested,
    /// Only the first side has the item.
    OnlyA,
    /// Only the second side has the item.
    OnlyB,
    /// Nothing that the level excludes from chance.
    Same,
}

impl Change {
    /// All kinds, the most important first.
    pub const ALL: [Change; 6] =
        [Change::Verdict, Change::Estimate, Change::Untested, Change::OnlyA, Change::OnlyB, Change::Same];

    /// Returns the heading of the items of this kind.
    pub fn heading(self) -> &'static str {
        match self {
            Change::Verdict => "verdict changed",
            Change::Estimate => "estimate changed",
            Change::Untested => "different, not tested (single values, or no spread)",
            Change::OnlyA => "only in A",
            Change::OnlyB => "only in B",
            Change::Same => "same",
        }
    }
}

/// One item on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// Claim, claim and mutant ("aot.theorem1/rate"), or experiment and number ("horizon: depth").
    pub name: String,
    /// Parameters, those of A where the sides differ.
    pub parameters: Map<String, Value>,
    /// Parameters whose values differ, as "tokens: 100, 200"; empty where none do.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub settings: String,
    /// Kind of the difference.
    pub change: Change,
    /// Item of the first side.
    pub a: Option<Item>,
    /// Item of the second side.
    pub b: Option<Item>,
    /// Test of the difference of the estimates; None where there is none to make.
    pub test: Option<Test>,
}

/// Two runs compared.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// First side, without its items.
    pub a: Side,
    /// Second side, without its items.
    pub b: Side,
    /// Level of significance of the whole comparison.
    pub level: f64,
    /// Number of tests, for which the p-values are adjusted.
    pub tests: usize,
    /// Flag: both sides hold the same rows, byte for byte; builds, machines and times of verdicts aside.
    pub equal_to_the_byte: bool,
    /// The pairs, the most important changes first.
    pub items: Vec<Pair>,
}

impl Comparison {
    /// Counts the pairs with this kind of difference.
    pub fn count(&self, change: Change) -> usize {
        self.items.iter().filter(|p| p.change == change).count()
    }

    /// Returns `true` if a verdict or, at the level, an estimate changed.
    pub fn changed(&self) -> bool {
        self.count(Change::Verdict) + self.count(Change::Estimate) > 0
    }

    /// Says the outcome in one sentence.
    pub fn sentence(&self) -> String {
        if self.equal_to_the_byte {
            return "Equal to the byte: both hold the same rows (builds, machines and times aside).".into();
        }
        let compared = self.items.len() - self.count(Change::OnlyA) - self.count(Change::OnlyB);
        let told = |change: &Change| match change {
            Change::Same => false,
            Change::Verdict | Change::Estimate => true,
            _ => self.count(*change) > 0,
        };
        let parts = Change::ALL.into_iter().filter(told);
        let parts = parts.map(|change| format!("; {}: {}", change.heading(), self.count(change)));
        format!("{compared} compared{}.", parts.collect::<String>())
    }

    /// Says how the differences were tested.
    pub fn method(&self) -> String {
        let seeds = match self.a.seeds == self.b.seeds && !self.equal_to_the_byte {
            true => {
                " Both sides have the same seeds, so that their trials may share draws: the tests, which take them \
                 for independent, then find too little rather than too much."
            }
            false => "",
        };
        format!(
            "{} tests, adjusted by Holm; an estimate counts as changed at an adjusted p-value of at most {}. Shares of \
             trials: Fisher's exact test; means: Welch's test; other estimates: the normal law with the width of \
             their intervals.{seeds}",
            self.tests, self.level
        )
    }
}

/// Compares two sides at this level of significance.
///
/// # Errors
/// A level outside (0, 1); sides that have no item in common.
pub fn compare(mut a: Side, mut b: Side, level: f64) -> Result<Comparison> {
    attnlab_core::stats::validate_level(level)?;
    let equal_to_the_byte = a.is_equal_to(&b);
    let mut items = pair(std::mem::take(&mut a.items), std::mem::take(&mut b.items));
    if !items.iter().any(|p| p.a.is_some() && p.b.is_some()) {
        let requirement =
            format!("must hold a claim or an experiment that {} holds too. Give two runs of the same claims", a.path);
        return Err(Error::invalid("B", b.path, requirement));
    }
    for pair in &mut items {
        pair.test = match (&pair.a, &pair.b) {
            (Some(x), Some(y)) => test::difference(x, y),
            _ => None,
        };
    }
    let raw: Vec<f64> = items.iter().filter_map(|p| p.test.map(|t| t.p_value)).collect();
    let mut adjusted = holm(&raw).into_iter();
    for pair in &mut items {
        if let Some(test) = &mut pair.test {
            test.adjusted = adjusted.next().unwrap_or(1.0);
        }
        pair.change = change(pair, level);
    }
    items.sort_by_key(|pair| pair.change);
    Ok(Comparison { a, b, level, tests: raw.len(), equal_to_the_byte, items })
}

fn change(pair: &Pair, level: f64) -> Change {
    let (a, b) = match (&pair.a, &pair.b) {
        (Some(a), Some(b)) => (a, b),
        (Some(_), None) => return Change::OnlyA,
        _ => return Change::OnlyB,
    };
    if a.verdict != b.verdict {
        return Change::Verdict;
    }
    match pair.test {
        Some(test) if test.adjusted <= level => Change::Estimate,
        Some(_) => Change::Same,
        None if a.measure == Measure::Computed && b.measure == Measure::Computed => match a.is_apart_from(b) {
            true => Change::Estimate,
            false => Change::Same,
        },
        None if a.is_equal_to(b) => Change::Same,
        None => Change::Untested,
    }
}

/// Pairs the items of the same name and parameters, in their order; then those of the same name that each side has
/// once, whatever their parameters.
fn pair(a: Vec<Item>, b: Vec<Item>) -> Vec<Pair> {
    let mut waiting: BTreeMap<(String, String), Vec<Item>> = BTreeMap::new();
    for item in b.into_iter().rev() {
        waiting.entry(item.key()).or_default().push(item);
    }
    let (mut pairs, mut alone) = (vec![], vec![]);
    for item in a {
        match waiting.get_mut(&item.key()).and_then(Vec::pop) {
            Some(other) => pairs.push(joined(Some(item), Some(other))),
            None => alone.push(item),
        }
    }
    let mut others: Vec<Item> = waiting.into_values().flatten().collect();
    let (once, other) = (single(&alone), single(&others));
    for item in std::mem::take(&mut alone) {
        let free = once.contains(&item.name) && other.contains(&item.name);
        match others.iter().position(|other| other.name == item.name) {
            Some(place) if free => pairs.push(joined(Some(item), Some(others.remove(place)))),
            _ => alone.push(item),
        }
    }
    pairs.extend(alone.into_iter().map(|item| joined(Some(item), None)));
    pairs.extend(others.into_iter().map(|item| joined(None, Some(item))));
    pairs
}

/// Returns the names that occur once and may be compared at other parameters.
fn single(items: &[Item]) -> BTreeSet<String> {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    for item in items.iter().filter(|item| item.single) {
        *counts.entry(&item.name).or_default() += 1;
    }
    let once = counts.into_iter().filter(|(_, count)| *count == 1);
    once.map(|(name, _)| name.clone()).collect()
}

fn joined(a: Option<Item>, b: Option<Item>) -> Pair {
    let shown = a.as_ref().or(b.as_ref());
    let (name, parameters) = shown.map_or_else(Default::default, |item| (item.name.clone(), item.parameters.clone()));
    let settings = match (&a, &b) {
        (Some(a), Some(b)) => item::settings(&a.parameters, &b.parameters),
        _ => String::new(),
    };
    Pair { name, parameters, settings, change: Change::Same, a, b, test: None }
}

#[cfg(test)]
mod tests;
