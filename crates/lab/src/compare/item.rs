//! Items of a comparison: a verdict, a cell of a sweep, or a number of an experiment.

use crate::catalogue::Catalogue;
use crate::claim::evidence::Estimated;
use crate::claim::{Params, VerdictKind};
use attnlab_core::format;
use attnlab_core::stats::{Estimate, SampleMean, t_quantile};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Relative distance between a mean and the middle of its interval that rounding explains.
const OFF_CENTRE: f64 = 1e-12;

/// Quantity of an item, with what a test needs to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Measure {
    /// Share of trials that hold.
    Share {
        /// Number of trials that hold.
        held: u64,
        /// Number of informative trials.
        trials: u64,
    },
    /// Mean of values of trials.
    Mean {
        /// Standard error of the mean.
        error: f64,
        /// Number of values.
        trials: u64,
    },
    /// A value that was computed and lies in its interval.
    Computed,
    /// An estimate of another kind, with its interval.
    Interval,
    /// One value without an interval.
    Single,
}

/// One item of a side.
#[derive(Clone, Debug, Serialize)]
pub struct Item {
    /// Claim, claim and mutant, or experiment and number.
    #[serde(skip)]
    pub name: String,
    /// Parameters of the trials.
    #[serde(skip)]
    pub parameters: Map<String, Value>,
    /// Flag: the item may be compared with one of other parameters, as a verdict may and a cell of a sweep may not.
    #[serde(skip)]
    pub single: bool,
    /// Seed of the trials.
    pub seed: u64,
    /// The verdict; None for a number of an experiment.
    pub verdict: Option<VerdictKind>,
    /// The estimate, with numbers that JSON lacks as null; None where nothing was estimated.
    pub estimate: Option<Estimate>,
    /// Quantity that was estimated.
    pub measure: Measure,
}

impl Item {
    /// Returns name and parameters, the latter in alphabetical order.
    pub(super) fn key(&self) -> (String, String) {
        let sorted: BTreeMap<_, _> = self.parameters.iter().collect();
        let text = serde_json::to_string(&sorted).unwrap_or_default();
        (self.name.clone(), text)
    }

    /// Returns mean, error and number of values for a test of means.
    pub(super) fn sample(&self) -> Option<SampleMean> {
        match (self.measure, self.estimate) {
            (Measure::Mean { error, trials }, Some(e)) => Some(SampleMean { mean: e.value, error, count: trials }),
            _ => None,
        }
    }

    /// Returns `true` if the intervals are disjoint.
    pub(super) fn is_apart_from(&self, other: &Item) -> bool {
        match (self.estimate, other.estimate) {
            (Some(a), Some(b)) => a.high < b.low || b.high < a.low,
            _ => false,
        }
    }

    /// Returns `true` if the estimates are the same to the bit, or there is none on either side.
    pub(super) fn is_equal_to(&self, other: &Item) -> bool {
        let bits = |e: Estimate| [e.value, e.low, e.high].map(f64::to_bits);
        self.estimate.map(bits) == other.estimate.map(bits)
    }
}

/// Numbers of a verdict that tell its quantity.
pub(super) struct Judged<'a> {
    /// Id of the claim; a mutant estimates the same quantity.
    pub claim: &'a str,
    pub parameters: &'a Map<String, Value>,
    pub estimate: Estimate,
    pub informative: u64,
    pub failures: u64,
}

impl Judged<'_> {
    /// Finds the quantity of the estimate.
    pub fn measure(&self, catalogue: &Catalogue) -> Measure {
        let e = &self.estimate;
        if e.level >= 1.0 {
            return Measure::Computed;
        }
        let held = self.informative.saturating_sub(self.failures);
        let share = held as f64 / self.informative as f64;
        let half = 0.5 * (e.high - e.low);
        let centred = (0.5 * (e.high + e.low) - e.value).abs() <= OFF_CENTRE * (half + e.value.abs());
        let quantile = || t_quantile(self.informative as f64 - 1.0, 0.5 + e.level / 2.0);
        match self.estimated(catalogue) {
            Estimated::Share if e.value == share => Measure::Share { held, trials: self.informative },
            Estimated::Mean if centred && half.is_finite() && self.informative >= 2 => {
                quantile().map_or(Measure::Interval, |t| Measure::Mean { error: half / t, trials: self.informative })
            }
            _ => Measure::Interval,
        }
    }

    fn estimated(&self, catalogue: &Catalogue) -> Estimated {
        let Ok(claim) = catalogue.claim(self.claim) else {
            return Estimated::Other;
        };
        let params = Params::resolve(&claim.schema(), self.parameters);
        params.map_or(Estimated::Other, |params| Estimated::by(&**claim, &params))
    }
}

/// Returns the parameters whose values differ, with both values.
pub(super) fn settings(a: &Map<String, Value>, b: &Map<String, Value>) -> String {
    let names: BTreeMap<&String, ()> = a.keys().chain(b.keys()).map(|name| (name, ())).collect();
    let shown = |value: Option<&Value>| value.map_or("(not set)".to_string(), format::value);
    let differ = names.into_keys().filter(|name| a.get(*name) != b.get(*name));
    let texts = differ.map(|name| format!("{name}: {}, {}", shown(a.get(name)), shown(b.get(name))));
    texts.collect::<Vec<_>>().join("; ")
}
