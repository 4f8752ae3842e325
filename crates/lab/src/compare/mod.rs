//! Comparison of two stored runs: verdicts and estimates that changed, with a test for each difference.
//!
//! A side is a folder of verdicts or a sweep over a claim, whose cells have verdicts. Verdicts of the same claim or
//! mutant at the same parameters are compared: shares of trials by Fisher's exact test, means by Welch's, other estimates
//! by the normal law, computed values exactly. Holm's method adjusts the p-values for all tests of the comparison.
//! Verdicts of one build, seed and number of trials are one computation, which must give the same bits.

mod side;
mod test;

pub use side::{Estimated, JudgedItem, JudgedRun, RunKind};
pub use test::{DifferenceTest, TestMethod};

use crate::report::Table;
use attnlab_core::error::{Result, require};
use attnlab_core::format::{number, pairs, significant};
use attnlab_core::stats::{holm, validate_level};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Kind of a difference between two verdicts; its name is the heading of the verdicts of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The verdicts differ.
    Verdict,
    /// The evidence differs, although build, seed and trials are equal.
    Unrepeated,
    /// The estimates differ at the level of the comparison, or computed values differ at all.
    Estimate,
    /// The estimates differ, and no test can tell whether by chance.
    Untested,
    /// Only the first side has the verdict.
    OnlyA,
    /// Only the second side has the verdict.
    OnlyB,
    /// No difference beyond chance.
    Same,
    /// Verdict, estimate, counts, p-value and witness are the same to the bit.
    Equal,
}

// The headings of the verdicts of each kind, the most important first.
attnlab_core::named!(Change, "change":
    Verdict = "verdict changed", Unrepeated = "not equal to the bit, although build, seed and trials are",
    Estimate = "estimate changed", Untested = "estimates differ, no test can tell", OnlyA = "only in A",
    OnlyB = "only in B", Same = "no difference beyond chance", Equal = "equal to the bit");

impl Change {
    /// Returns the heading of the verdicts of this kind.
    pub fn heading(self) -> &'static str {
        self.name()
    }
}

/// One verdict on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// Claim, or claim and mutant: "aot.theorem1/rate".
    pub name: String,
    /// Parameters of the trials.
    pub parameters: Map<String, Value>,
    /// Kind of the difference.
    pub change: Change,
    /// Verdict of the first side.
    pub a: Option<JudgedItem>,
    /// Verdict of the second side.
    pub b: Option<JudgedItem>,
    /// Test of the estimates; None where there is none to make.
    pub test: Option<DifferenceTest>,
    /// Reason why there is no test; None for a test and for verdicts of one side.
    pub untested: Option<&'static str>,
}

impl Difference {
    fn new(a: Option<JudgedItem>, b: Option<JudgedItem>) -> Self {
        let item = a.as_ref().or(b.as_ref());
        let (name, parameters) = item.map(|item| (item.name.clone(), item.parameters.clone())).unwrap_or_default();
        let (test, untested) = match (&a, &b) {
            (Some(a), Some(b)) if a.repeats(b) => (None, Some("build, seed and trials are equal")),
            (Some(a), Some(b)) => {
                test::difference(a, b).map_or_else(|why| (None, Some(why)), |test| (Some(test), None))
            }
            _ => (None, None),
        };
        // The kind follows once the p-values are adjusted.
        Difference { name, parameters, change: Change::Same, a, b, test, untested }
    }

    fn kind(&self, alpha: f64) -> Change {
        let (a, b) = match (&self.a, &self.b) {
            (Some(a), Some(b)) => (a, b),
            (Some(_), None) => return Change::OnlyA,
            _ => return Change::OnlyB,
        };
        let computed = a.estimated == Estimated::Computed && b.estimated == Estimated::Computed;
        match self.test {
            _ if a.verdict != b.verdict => Change::Verdict,
            _ if a.evidence == b.evidence => Change::Equal,
            _ if a.repeats(b) => Change::Unrepeated,
            Some(test) if test.adjusted <= alpha => Change::Estimate,
            Some(_) => Change::Same,
            None if a.estimates_the_same(b) => Change::Same,
            None if computed => Change::Estimate,
            None => Change::Untested,
        }
    }

    /// Says the result of the test, or why there is none; empty for a verdict of one side.
    pub fn tested(&self) -> String {
        match (&self.test, self.untested) {
            (Some(test), _) => {
                let [p, adjusted] = [test.p_value, test.adjusted].map(|p| significant(p, 2));
                format!("{}: p = {p}, by Holm {adjusted}", test.method.name())
            }
            (None, Some(why)) => format!("no test: {why}"),
            (None, None) => String::new(),
        }
    }
}

impl JudgedItem {
    /// Says verdict, estimate, interval and number of trials.
    pub fn shown(&self) -> String {
        let estimate = self.estimate.map_or(String::new(), |e| match e.low < e.high {
            true => format!(" {} [{}, {}]", number(e.value), number(e.low), number(e.high)),
            false => format!(" {}", number(e.value)),
        });
        format!("{}{estimate}, trials {}", self.verdict.name(), self.trials)
    }
}

/// Two runs compared.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// First side.
    pub a: JudgedRun,
    /// Second side.
    pub b: JudgedRun,
    /// Confidence level of all tests together.
    pub level: f64,
    /// Number of tests, for which the p-values are adjusted.
    pub tests: usize,
    /// The verdicts, the most important changes first.
    pub items: Vec<Difference>,
}

/// Largest number of rows of one kind in a table of a page.
const MAX_ROWS: usize = 2000;

impl Comparison {
    /// Compares two sides at this confidence level of all tests together.
    ///
    /// # Errors
    /// A level outside (0, 1); sides of different kinds, or without a verdict in common.
    pub fn new(mut a: JudgedRun, mut b: JudgedRun, level: f64) -> Result<Comparison> {
        validate_level(level)?;
        let (path, [kind, other]) = (&a.path, [&a, &b].map(|side| side.kind.name()));
        let same_kind = format!("must hold {kind}, as A = {path} does; it holds {other}. Give two folders of one kind");
        require(a.kind == b.kind, "B", &b.path, same_kind)?;
        let in_common = format!(
            "must have a verdict in common with A = {path}; no claim is in both at the same parameters. Give two runs \
             of the same claims"
        );
        let mut items = paired(std::mem::take(&mut a.items), std::mem::take(&mut b.items));
        require(items.iter().any(|item| item.a.is_some() && item.b.is_some()), "B", &b.path, in_common)?;
        let mut tests: Vec<&mut DifferenceTest> = items.iter_mut().filter_map(|item| item.test.as_mut()).collect();
        let p_values: Vec<f64> = tests.iter().map(|test| test.p_value).collect();
        for (test, adjusted) in tests.iter_mut().zip(holm(&p_values)) {
            test.adjusted = adjusted;
        }
        items.iter_mut().for_each(|item| item.change = item.kind(1.0 - level));
        items.sort_by_key(|item| item.change);
        Ok(Comparison { a, b, level, tests: p_values.len(), items })
    }

    /// Iterates over the verdicts with this kind of difference.
    pub fn of_kind(&self, change: Change) -> impl Iterator<Item = &Difference> {
        self.items.iter().filter(move |item| item.change == change)
    }

    /// Returns `true` if a verdict changed.
    pub fn changed(&self) -> bool {
        self.of_kind(Change::Verdict).next().is_some()
    }

    /// Says what was compared, the outcome, and how it was tested, a sentence or two each.
    pub fn sentences(&self) -> Vec<String> {
        let side = |name: &str, run: &JudgedRun| {
            format!("{name} = {}: {}, seed {}, build {}.", run.path, run.kind.name(), run.seed, run.builds.join(", "))
        };
        let counts = Change::ALL.map(|change| (change, self.of_kind(change).count()));
        let only = |change: Change| [Change::OnlyA, Change::OnlyB].contains(&change);
        let compared: usize = counts.iter().filter(|(change, _)| !only(*change)).map(|(_, count)| count).sum();
        let counted = counts.iter().filter(|(change, count)| *count > 0 || *change == Change::Verdict);
        let outcome: Vec<String> = counted.map(|(change, count)| format!("{}: {count}", change.heading())).collect();
        let mut sentences = vec![
            side("A", &self.a),
            side("B", &self.b),
            format!("{compared} verdicts compared; {}.", outcome.join("; ")),
            format!(
                "{} tests, adjusted by Holm: an estimate counts as changed at an adjusted p-value of at most {}. Shares \
                 of trials: Fisher's exact test; means: Welch's test with the standard errors of their intervals; other \
                 estimates: the normal law with the widths of their intervals, approximately; computed values: exactly.",
                self.tests,
                significant(1.0 - self.level, 2)
            ),
        ];
        if self.a.seed == self.b.seed && self.tests > 0 {
            sentences.push(
                "The seeds are equal, so that trials of both sides may share draws: the tests, which take them for \
                 independent, then find too few differences rather than too many."
                    .into(),
            );
        }
        if self.of_kind(Change::Unrepeated).next().is_some() {
            sentences.push(
                "One build, seed and number of trials must give the same bits on one machine; another machine may round \
                 sums differently. Otherwise this is a fault of attnlab."
                    .into(),
            );
        }
        sentences
    }

    /// Returns the comparison as tables of a report: the sentences, then one table for each kind of difference.
    pub fn tables(&self) -> Vec<Table> {
        let mut text = self.sentences();
        text.extend(self.a.notes.iter().chain(&self.b.notes).cloned());
        let mut tables = vec![Table { title: "Comparison of A with B".into(), text, ..Table::default() }];
        for change in Change::ALL {
            let items: Vec<&Difference> = self.of_kind(change).collect();
            if items.is_empty() {
                continue;
            }
            let shown = |item: &Option<JudgedItem>| item.as_ref().map_or(String::new(), JudgedItem::shown);
            let row = |item: &&Difference| {
                vec![item.name.clone(), pairs(&item.parameters), shown(&item.a), shown(&item.b), item.tested()]
            };
            let left_out = items.len().saturating_sub(MAX_ROWS);
            tables.push(Table {
                title: format!("{}: {}", capitalised(change.heading()), items.len()),
                text: (left_out > 0).then(|| format!("{left_out} more are in the JSON.")).into_iter().collect(),
                header: ["Claim", "Parameters", "A", "B", "Test"].map(String::from).to_vec(),
                rows: items.iter().take(MAX_ROWS).map(row).collect(),
            });
        }
        tables
    }
}

/// Pairs the verdicts of the same name and parameters, in the order of A, then of B.
fn paired(a: Vec<JudgedItem>, b: Vec<JudgedItem>) -> Vec<Difference> {
    let mut places: HashMap<_, usize> = b.iter().enumerate().map(|(place, item)| (item.key(), place)).collect();
    let mut others: Vec<Option<JudgedItem>> = b.into_iter().map(Some).collect();
    let mut items = vec![];
    for item in a {
        let other = places.remove(&item.key()).and_then(|place| others[place].take());
        items.push(Difference::new(Some(item), other));
    }
    items.extend(others.into_iter().flatten().map(|item| Difference::new(None, Some(item))));
    items
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests;
