//! The outcome of one trial, and the promise of a statement about it.

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
}

impl Outcome {
    /// Returns `Some(true)` if the trial agrees with the statement; None for a value, which is judged by
    /// its mean.
    pub fn holds(&self) -> Option<bool> {
        match self {
            Outcome::Event { holds, .. } => Some(*holds),
            Outcome::Gap {
                lhs,
                rhs,
                tol,
                relation,
                ..
            } => Some(match relation {
                // Written so that NaN on any side fails.
                Relation::Equal => (lhs - rhs).abs() <= *tol,
                Relation::AtMost => *lhs <= rhs + tol,
            }),
            Outcome::Value { .. } => None,
        }
    }

    /// Named values that were seen.
    pub fn witness(&self) -> &Witness {
        match self {
            Outcome::Event { witness, .. }
            | Outcome::Gap { witness, .. }
            | Outcome::Value { witness, .. } => witness,
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
