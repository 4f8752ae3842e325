//! Conversion of the outcomes of a claim to the data of rows and back.

use crate::claim::{Outcome, Relation, Witness};
use crate::run::Row;
use crate::run::store::{as_number, number};
use attnlab_core::error::{Error, Result};
use serde_json::{Map, Value, json};

/// Kind of a trial without information, in rows.
const UNINFORMATIVE: &str = "uninformative";

/// Converts an outcome to the data of a row: "kind" (`event`, `gap`, `value` or `uninformative`), "holds"
/// where a trial holds or fails, the numbers, and the "witness".
pub fn data_of(outcome: &Outcome) -> Map<String, Value> {
    let (kind, entries) = match outcome {
        Outcome::Event { .. } => ("event", vec![]),
        Outcome::Gap { lhs, rhs, tol, relation, .. } => {
            let sides = [("lhs", lhs), ("rhs", rhs), ("tol", tol)].map(|(name, side)| (name, number(*side)));
            ("gap", sides.into_iter().chain([("relation", json!(relation))]).collect())
        }
        Outcome::Value { value, .. } => ("value", vec![("value", number(*value))]),
        Outcome::Uninformative { reason, numerical, .. } => {
            (UNINFORMATIVE, vec![("reason", reason.clone().into()), ("numerical", (*numerical).into())])
        }
    };
    let holds = outcome.holds().map(|holds| ("holds", holds.into()));
    let witness = ("witness", Value::Object(outcome.witness().clone()));
    let data = std::iter::once(("kind", kind.into())).chain(entries).chain(holds).chain([witness]);
    data.map(|(name, value)| (name.to_string(), value)).collect()
}

/// Restores the outcome that [`data_of`] wrote.
///
/// # Errors
/// When the row does not hold an outcome of a claim.
pub fn outcome_of(row: &Row) -> Result<Outcome> {
    read(&row.data).ok_or_else(|| row.wrong("it holds no outcome of a claim"))
}

fn read(data: &Map<String, Value>) -> Option<Outcome> {
    let witness: Witness = data.get("witness")?.as_object()?.clone();
    let float = |name: &str| as_number(data.get(name)?);
    Some(match data.get("kind")?.as_str()? {
        "event" => Outcome::Event { holds: data.get("holds")?.as_bool()?, witness },
        "gap" => {
            let relation = serde_json::from_value::<Relation>(data.get("relation")?.clone()).ok()?;
            Outcome::Gap { lhs: float("lhs")?, rhs: float("rhs")?, tol: float("tol")?, relation, witness }
        }
        "value" => Outcome::Value { value: float("value")?, witness },
        UNINFORMATIVE => Outcome::Uninformative {
            reason: data.get("reason")?.as_str()?.to_string(),
            numerical: data.get("numerical")?.as_bool()?,
            witness,
        },
        _ => return None,
    })
}

/// Returns `Some(true)` if the trial of these data held; None if it was uninformative.
///
/// # Errors
/// When the outcome is a value, which is judged by its mean.
pub fn held(data: &Map<String, Value>) -> Result<Option<bool>> {
    if data.get("kind").and_then(Value::as_str) == Some(UNINFORMATIVE) {
        return Ok(None);
    }
    let holds = data.get("holds").and_then(Value::as_bool);
    let problem = "the trials of this claim do not hold or fail. Write the sweep without [stop]";
    holds.map(Some).ok_or_else(|| Error::undefined(problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::store::Manifest;

    #[test]
    fn outcomes_come_back_to_the_bit() {
        let witness = crate::witness! { "layer" => 3, "weight" => 0.1 + 0.2 };
        let gap = |lhs, relation| Outcome::Gap { lhs, rhs: 1.0 / 3.0, tol: 1e-300, relation, witness: witness.clone() };
        let event = |holds| Outcome::Event { holds, witness: Witness::new() };
        let value = Outcome::Value { value: f64::INFINITY, witness: witness.clone() };
        let outcomes = [
            event(true),
            event(false),
            gap(0.5, Relation::Equal),
            gap(f64::NEG_INFINITY, Relation::AtMost),
            value,
            Outcome::uninformative("nothing moved", witness.clone()),
            Outcome::failed(&Error::diverged("too large")),
        ];
        let manifest = Manifest::new("demo", 0, Map::new());
        for outcome in outcomes {
            let row = Row::new(&manifest, 0, 0, Map::new(), data_of(&outcome));
            let text = serde_json::to_string(&row).unwrap();
            let row: Row = serde_json::from_str(&text).unwrap();
            assert_eq!(outcome_of(&row).unwrap(), outcome);
            let expected = match outcome {
                Outcome::Value { .. } => None,
                _ => Some(outcome.holds()),
            };
            assert_eq!(held(&row.data).ok(), expected);
        }
    }
}
