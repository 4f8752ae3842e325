//! From outcomes to verdicts. Monte Carlo never verifies: it supports, refutes or is inconclusive.

use super::{Outcome, Promise, Witness};
use crate::error::Result;
use crate::stats::{Estimate, binomial, mean, trials_for_lower_bound};
use serde::{Deserialize, Serialize};

/// A verdict without its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// The interval lies inside what the statement promises.
    Supported,
    /// A counter-example, or an interval outside what the statement promises.
    Refuted,
    /// The interval reaches both sides.
    Inconclusive,
    /// A hypothesis fails at these parameters: the statement says nothing there.
    OutOfScope,
    /// The statement promises nothing: a probability of at least 0, say.
    Vacuous,
}

impl VerdictKind {
    /// In kebab case, as JSON and tables show it.
    pub fn name(self) -> &'static str {
        match self {
            VerdictKind::Supported => "supported",
            VerdictKind::Refuted => "refuted",
            VerdictKind::Inconclusive => "inconclusive",
            VerdictKind::OutOfScope => "out-of-scope",
            VerdictKind::Vacuous => "vacuous",
        }
    }
}

/// A verdict with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// See [`VerdictKind::Supported`].
    Supported,
    /// See [`VerdictKind::Refuted`].
    Refuted {
        /// What was seen.
        witness: Witness,
    },
    /// See [`VerdictKind::Inconclusive`].
    Inconclusive {
        /// Trials after which an answer can be expected, if any number is enough.
        trials_needed: Option<u64>,
    },
    /// See [`VerdictKind::OutOfScope`].
    OutOfScope {
        /// The hypotheses that fail.
        hypotheses: Vec<&'static str>,
    },
    /// See [`VerdictKind::Vacuous`].
    Vacuous {
        /// Why the statement says nothing.
        why: String,
    },
}

impl Verdict {
    /// The verdict without its evidence.
    pub fn kind(&self) -> VerdictKind {
        match self {
            Verdict::Supported => VerdictKind::Supported,
            Verdict::Refuted { .. } => VerdictKind::Refuted,
            Verdict::Inconclusive { .. } => VerdictKind::Inconclusive,
            Verdict::OutOfScope { .. } => VerdictKind::OutOfScope,
            Verdict::Vacuous { .. } => VerdictKind::Vacuous,
        }
    }
}

/// A verdict, the estimate behind it and the number of failed trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// What was estimated: the probability that a trial holds, or the mean of the values.
    pub estimate: Estimate,
    /// Trials that did not hold.
    pub failures: u64,
}

/// Judges the outcomes by what the statement promises.
///
/// # Errors
/// When there are too few or too many outcomes for an exact interval.
pub fn judge(promise: Promise, outcomes: &[Outcome], level: f64) -> Result<Judgement> {
    match promise {
        Promise::MeanIn(low, high) => judge_mean(low, high, outcomes, level),
        Promise::Always => judge_probability(None, outcomes, level),
        Promise::AtLeast(q) => judge_probability(Some(q), outcomes, level),
    }
}

fn judge_probability(q: Option<f64>, outcomes: &[Outcome], level: f64) -> Result<Judgement> {
    let trials = outcomes.len() as u64;
    let failed = |o: &&Outcome| o.holds() != Some(true);
    let failures = outcomes.iter().filter(failed).count() as u64;
    let estimate = binomial(trials - failures, trials, level)?;
    let witness = outcomes
        .iter()
        .find(failed)
        .map(|o| o.witness().clone())
        .unwrap_or_default();
    let verdict = match q {
        None if failures > 0 => Verdict::Refuted { witness },
        None => Verdict::Supported,
        Some(q) if q <= 0.0 => Verdict::Vacuous {
            why: format!("it promises a probability of at least {q:.3}"),
        },
        Some(q) if estimate.high < q => Verdict::Refuted { witness },
        Some(q) if estimate.low >= q => Verdict::Supported,
        Some(q) => Verdict::Inconclusive {
            trials_needed: trials_for_lower_bound(q, level),
        },
    };
    Ok(Judgement {
        verdict,
        estimate,
        failures,
    })
}

fn judge_mean(low: f64, high: f64, outcomes: &[Outcome], level: f64) -> Result<Judgement> {
    let value = |o: &Outcome| match o {
        Outcome::Value { value, .. } => *value,
        _ => f64::NAN,
    };
    let values: Vec<f64> = outcomes.iter().map(value).collect();
    let estimate = mean(&values, level)?;
    let verdict = if estimate.low >= low && estimate.high <= high {
        Verdict::Supported
    } else if estimate.low > high || estimate.high < low {
        Verdict::Refuted {
            witness: crate::witness! { "mean" => estimate.value },
        }
    } else {
        // The half-width shrinks like 1/√n; it must fit between the mean and the nearer boundary.
        let room = (estimate.value - low)
            .abs()
            .min((high - estimate.value).abs());
        let half = (estimate.high - estimate.low) / 2.0;
        let needed = (values.len() as f64 * (half / room).powi(2)).ceil();
        let trials_needed = needed.is_finite().then_some(needed as u64);
        Verdict::Inconclusive { trials_needed }
    };
    Ok(Judgement {
        verdict,
        estimate,
        failures: 0,
    })
}
