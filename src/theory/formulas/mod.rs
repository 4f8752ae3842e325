//! The closed forms that `attnlab eval` knows, by name. One file per paper, one entry per formula.

mod aot;
mod denoise;
mod joma;
mod lsa;

use crate::error::{Error, Result};
use crate::params::{Params, Schema};
use serde::Serialize;
use serde_json::{Map, Value};

/// A closed form with a name.
pub struct Formula {
    /// Identifier, "paper.name".
    pub id: &'static str,
    /// One line: what the value is.
    pub doc: &'static str,
    /// Paper, equation, and how it follows.
    pub source: &'static str,
    /// The parameters it takes.
    pub schema: fn() -> Schema,
    /// The value: a number or an array of numbers.
    pub value: fn(&Params) -> Result<Value>,
}

/// What `eval --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// Identifier of the formula.
    pub formula: &'static str,
    /// Every parameter, set or default.
    pub parameters: Map<String, Value>,
    /// A number or an array.
    pub value: Value,
    /// Paper, equation, and how it follows.
    pub source: &'static str,
}

/// All formulas, paper by paper.
pub fn formulas() -> Vec<Formula> {
    let mut all = aot::formulas();
    all.extend(denoise::formulas());
    all.extend(joma::formulas());
    all.extend(lsa::formulas());
    all
}

/// The formula with this id.
///
/// # Errors
/// An unknown id, with the nearest known ones.
pub fn find(id: &str) -> Result<Formula> {
    let all = formulas();
    let unknown = Error::unknown("formula", id, all.iter().map(|f| f.id))
        .listed_by("`attnlab list formulas`");
    all.into_iter().find(|f| f.id == id).ok_or(unknown)
}

impl Formula {
    /// The value at the parameters that the user `set`.
    ///
    /// # Errors
    /// Unknown or invalid parameters, or a value that is not a finite number.
    ///
    /// ```
    /// use attnlab::theory::formulas;
    /// let formula = formulas::find("aot.min_tokens")?;
    /// let set = serde_json::json!({ "clusters": 2 });
    /// let found = formula.evaluate(set.as_object().unwrap())?;
    /// assert_eq!(found.value, 177_515);
    /// # Ok::<(), attnlab::Error>(())
    /// ```
    pub fn evaluate(&self, set: &Map<String, Value>) -> Result<Evaluation> {
        let params = Params::resolve(&(self.schema)(), set)?;
        let value = (self.value)(&params)?;
        // serde_json turns what is not finite into null.
        if holds_null(&value) {
            let message = format!("{} has no finite value at these parameters", self.id);
            return Err(Error::Numerical(message));
        }
        Ok(Evaluation {
            formula: self.id,
            parameters: params.as_json().clone(),
            value,
            source: self.source,
        })
    }
}

fn holds_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(entries) => entries.iter().any(holds_null),
        _ => false,
    }
}
