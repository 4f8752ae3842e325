//! The outcome of one trial, and the promise of a statement about it.

use attnlab_core::error::Error;
use attnlab_core::format::number;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The counter-example of a refuted claim: named values, such as layer, head, column and weight.
pub type Witness = Map<String, Value>;

/// Required relation of the two sides of an [`Outcome::Gap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// |lhs - rhs| ≤ tol.
    Equal,
    /// lhs ≤ rhs + tol.
    AtMost,
}

/// The result of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The event of a "with probability at least" statement.
    Event {
        /// Flag: the event happened.
        holds: bool,
        /// Named values of the trial.
        witness: Witness,
    },
    /// The two sides of an identity or a bound, with a tolerance from an error budget.
    Gap {
        /// Left side.
        lhs: f64,
        /// Right side.
        rhs: f64,
        /// Bound on the rounding error of the computation.
        tol: f64,
        /// Required relation of the sides.
        relation: Relation,
        /// Named values that were seen.
        witness: Witness,
    },
    /// A number whose mean or distribution the statement predicts.
    Value {
        /// The number.
        value: f64,
        /// Named values that were seen.
        witness: Witness,
    },
    /// A trial without information about the statement: nothing moved, there is no critical point, a
    /// computation failed. It is counted and shown, and never for or against the statement.
    Uninformative {
        /// Reason in a few words.
        reason: String,
        /// Flag: a computation failed.
        numerical: bool,
        /// Named values that were seen.
        witness: Witness,
    },
}

impl Outcome {
    /// Creates the outcome of two numbers that should be equal to `tol`.
    pub fn equal(lhs: f64, rhs: f64, tol: f64, witness: Witness) -> Self {
        Outcome::Gap { lhs, rhs, tol, relation: Relation::Equal, witness }
    }

    /// Creates the outcome of one number that should be at most another to `tol`.
    pub fn at_most(lhs: f64, rhs: f64, tol: f64, witness: Witness) -> Self {
        Outcome::Gap { lhs, rhs, tol, relation: Relation::AtMost, witness }
    }

    /// Creates the outcome of a trial without information about the statement.
    pub fn uninformative(reason: impl Into<String>, witness: Witness) -> Self {
        Outcome::Uninformative { reason: reason.into(), numerical: false, witness }
    }

    /// Creates the outcome of a trial whose computation failed.
    pub fn failed(error: &Error) -> Self {
        Outcome::Uninformative { reason: error.to_string(), numerical: true, witness: Witness::new() }
    }

    /// Adds a named value to the witness.
    pub fn noting(mut self, name: &str, value: impl Into<Value>) -> Self {
        let (Outcome::Event { witness, .. }
        | Outcome::Gap { witness, .. }
        | Outcome::Value { witness, .. }
        | Outcome::Uninformative { witness, .. }) = &mut self;
        witness.insert(name.into(), value.into());
        self
    }

    /// Returns `true` unless the trial is [uninformative](Outcome::Uninformative).
    pub fn is_informative(&self) -> bool {
        !matches!(self, Outcome::Uninformative { .. })
    }

    /// Returns the distance by which a gap is over its line, lhs − rhs − tol or |lhs − rhs| − tol; > 0 where
    /// it fails, infinite where a side is NaN. None for other outcomes.
    pub fn excess(&self) -> Option<f64> {
        let Outcome::Gap { lhs, rhs, tol, relation, .. } = self else { return None };
        let apart = match relation {
            Relation::Equal => (lhs - rhs).abs(),
            Relation::AtMost => lhs - rhs,
        };
        let excess = apart - tol;
        Some(if excess.is_nan() { f64::INFINITY } else { excess })
    }

    /// Returns `Some(true)` if the trial agrees with the statement; None for a value, which is judged by
    /// its mean, and for an uninformative trial.
    pub fn holds(&self) -> Option<bool> {
        match self {
            Outcome::Event { holds, .. } => Some(*holds),
            Outcome::Gap { lhs, rhs, tol, relation, .. } => Some(match relation {
                // Written so that NaN on any side fails.
                Relation::Equal => (lhs - rhs).abs() <= *tol,
                Relation::AtMost => *lhs <= rhs + tol,
            }),
            Outcome::Value { .. } | Outcome::Uninformative { .. } => None,
        }
    }

    /// Named values that were seen.
    pub fn witness(&self) -> &Witness {
        match self {
            Outcome::Event { witness, .. }
            | Outcome::Gap { witness, .. }
            | Outcome::Value { witness, .. }
            | Outcome::Uninformative { witness, .. } => witness,
        }
    }
}

/// Promise that a statement makes about the outcomes of its trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Promise {
    /// Every trial holds.
    Always,
    /// A trial holds with at least this probability; 0 or less promises nothing.
    AtLeast(f64),
    /// A trial fails with at most this probability ε; 1 or more promises nothing. Equal to `AtLeast(1 - ε)`,
    /// also for an ε so small that 1 - ε rounds to 1.
    FailsAtMost(f64),
    /// The mean of the values lies in [low, high].
    MeanIn(f64, f64),
}

impl Promise {
    /// Returns the largest promised probability that a trial fails; None for a promise about every trial or a mean.
    pub(super) fn failure_rate(self) -> Option<f64> {
        match self {
            Promise::AtLeast(q) => Some(1.0 - q),
            Promise::FailsAtMost(rate) => Some(rate),
            Promise::Always | Promise::MeanIn(..) => None,
        }
    }
}

/// Relation of what the trials estimate to the quantity that the statement bounds. A bound on it can decide in
/// one direction only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// The trials estimate the quantity itself.
    #[default]
    Exact,
    /// The trials estimate an upper bound of it: they support "at most" and refute only "at least".
    UpperBound,
    /// The trials estimate a lower bound of it: they refute "at most" and support only "at least".
    LowerBound,
}

impl Side {
    /// Returns `true` if trials on this side can give a verdict that `supports` a promised mean.
    pub(super) fn decides(self, supports: bool, promise: Promise) -> bool {
        let Promise::MeanIn(low, high) = promise else { return self == Side::Exact };
        match self {
            Side::Exact => true,
            // An upper bound below the band refutes; one that is "at most" the upper end supports.
            Side::UpperBound if supports => low == f64::NEG_INFINITY,
            Side::UpperBound => high == f64::INFINITY,
            Side::LowerBound if supports => high == f64::INFINITY,
            Side::LowerBound => low == f64::NEG_INFINITY,
        }
    }
}

impl std::fmt::Display for Promise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Promise::Always => write!(f, "every trial holds"),
            Promise::AtLeast(q) if q <= 0.0 => write!(f, "nothing: a probability of at least {}", number(q)),
            Promise::AtLeast(q) => write!(f, "a trial holds with probability at least {}", number(q)),
            Promise::FailsAtMost(e) if e >= 1.0 => write!(f, "nothing: a failure probability of at most {}", number(e)),
            Promise::FailsAtMost(e) => write!(f, "a trial fails with probability at most {}", number(e)),
            Promise::MeanIn(low, high) if low == f64::NEG_INFINITY => write!(f, "the mean is at most {}", number(high)),
            Promise::MeanIn(low, high) if high == f64::INFINITY => write!(f, "the mean is at least {}", number(low)),
            Promise::MeanIn(low, high) => write!(f, "the mean lies in [{}, {}]", number(low), number(high)),
        }
    }
}

/// Builds a [`Witness`] in one line: `witness! { "layer" => 7, "weight" => 0.61 }`.
#[macro_export]
macro_rules! witness {
    ($($name:expr => $value:expr),* $(,)?) => {{
        #[allow(unused_mut)]
        let mut witness = $crate::claim::Witness::new();
        $(witness.insert($name.to_string(), $crate::json!($value));)*
        witness
    }};
}
