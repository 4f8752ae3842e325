//! Promises and outcomes from the tuples that `attnlab._claims` makes of them.

use crate::convert::{Raised, from_python, refused};
use attnlab_core::error::Error;
use attnlab_lab::claim::{Outcome, Promise, Relation, Witness};
use attnlab_lab::run::store;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Reads ("always",), ("at-least", q), ("fails-at-most", ε) or ("mean-in", low, high).
pub fn promise_of(value: &Bound<'_, PyAny>) -> PyResult<Promise> {
    let parts: &Bound<'_, PyTuple> = value.cast().map_err(|_| wrong_promise(value))?;
    let word = parts.get_item(0)?.to_string();
    let real = |i: usize| -> PyResult<f64> { parts.get_item(i)?.extract() };
    let promise = match (word.as_str(), parts.len()) {
        ("always", 1) => Promise::Always,
        ("at-least", 2) => Promise::AtLeast(real(1)?),
        ("fails-at-most", 2) => Promise::FailsAtMost(real(1)?),
        ("mean-in", 3) => Promise::MeanIn(real(1)?, real(2)?),
        _ => return Err(wrong_promise(value)),
    };
    // Below 0 and above 1 they promise nothing; beyond the other end nothing can keep them.
    let fits = match promise {
        Promise::Always => true,
        Promise::AtLeast(q) => q <= 1.0,
        Promise::FailsAtMost(epsilon) => epsilon >= 0.0,
        Promise::MeanIn(low, high) => low <= high,
    };
    let allowed =
        "must be at_least(q) with q <= 1, fails_at_most(eps) with eps >= 0 or mean_in(low, high) with low <= high";
    if fits { Ok(promise) } else { Err(refused("promise", value, allowed)) }
}

fn wrong_promise(value: &Bound<'_, PyAny>) -> PyErr {
    refused("promise", value, "must be attnlab.always(), at_least(q), fails_at_most(eps) or mean_in(low, high)")
}

/// Reads the tuple that `attnlab._claims` makes of what a trial returns.
pub fn outcome_of(value: &Bound<'_, PyAny>) -> PyResult<Outcome> {
    let parts: &Bound<'_, PyTuple> = value.cast()?;
    let word = parts.get_item(0)?.to_string();
    let real = |i: usize| -> PyResult<f64> { parts.get_item(i)?.extract() };
    let witness = witness_of(&parts.get_item(parts.len() - 1)?)?;
    Ok(match word.as_str() {
        "event" => Outcome::Event { holds: parts.get_item(1)?.extract()?, witness },
        "gap" if real(1)?.is_nan() || real(2)?.is_nan() => not_a_number(),
        "value" if real(1)?.is_nan() => not_a_number(),
        "gap" => Outcome::Gap {
            lhs: real(1)?,
            rhs: real(2)?,
            tol: real(3)?,
            relation: match parts.get_item(4)?.to_string().as_str() {
                "equal" => Relation::Equal,
                "at-most" => Relation::AtMost,
                other => return Err(Error::invalid("relation", other, "must be equal or at-most")).raised(),
            },
            witness,
        },
        "value" => Outcome::Value { value: real(1)?, witness },
        _ => Outcome::uninformative(parts.get_item(1)?.to_string(), witness),
    })
}

/// Returns the outcome of a trial whose number is NaN: a failed computation.
fn not_a_number() -> Outcome {
    Outcome::failed(&Error::undefined("the trial returned NaN"))
}

/// Reads the pair that `attnlab._claims` makes of what a vectorised trial returns.
pub fn block_of(value: &Bound<'_, PyAny>) -> PyResult<Vec<Outcome>> {
    let (word, trials): (String, Bound<'_, PyAny>) = value.extract()?;
    match word.as_str() {
        "events" => {
            let flags: Vec<bool> = trials.extract()?;
            Ok(flags.into_iter().map(|holds| Outcome::Event { holds, witness: Witness::new() }).collect())
        }
        "values" => {
            let numbers: Vec<f64> = trials.extract()?;
            let outcome = |value: f64| match value.is_nan() {
                true => not_a_number(),
                false => Outcome::Value { value, witness: Witness::new() },
            };
            Ok(numbers.into_iter().map(outcome).collect())
        }
        _ => trials.try_iter()?.map(|trial| outcome_of(&trial?)).collect(),
    }
}

fn witness_of(value: &Bound<'_, PyAny>) -> PyResult<Witness> {
    let dict: &Bound<'_, PyDict> = value.cast()?;
    let mut witness = Witness::new();
    for (name, value) in dict.iter() {
        let name = name.to_string();
        let value = match value.extract::<f64>() {
            Ok(x) if !x.is_finite() => store::number(x),
            _ => from_python(&name, &value)?,
        };
        witness.insert(name, value);
    }
    Ok(witness)
}
