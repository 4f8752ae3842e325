//! Closed forms with names, which `attnlab eval` evaluates.

use attnlab_core::error::{Error, Result};
use attnlab_core::format::pairs;
use attnlab_core::params::{Params, Schema};
use serde::Serialize;
use serde_json::{Map, Value};

/// A closed form with a name.
#[derive(Clone, Copy)]
pub struct Formula {
    /// Identifier, "paper.name".
    pub id: &'static str,
    /// Meaning of the value, in one line.
    pub doc: &'static str,
    /// Paper, equation and derivation.
    pub source: &'static str,
    /// Parameters of the closed form.
    pub schema: fn() -> Schema,
    /// Function from the parameters to the value, a number or an array of numbers.
    pub value: fn(&Params) -> Result<Value>,
}

/// Value of a closed form with its parameters, as `attnlab eval --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// Identifier of the formula.
    pub formula: &'static str,
    /// Every parameter, set or default.
    pub parameters: Map<String, Value>,
    /// A number or an array.
    pub value: Value,
    /// Paper, equation and derivation.
    pub source: &'static str,
}

impl Formula {
    /// Evaluates the closed form at the parameters that the user `set`.
    ///
    /// # Errors
    /// Unknown or invalid parameters, or a value that is not a finite number.
    ///
    /// ```
    /// use attnlab_core::params::Quantity;
    /// use attnlab_lab::formula::Formula;
    /// const SIDE: Quantity<f64> = Quantity::real("side", "a", "side of a square");
    /// let area = Formula {
    ///     id: "toy.area",
    ///     doc: "area of a square",
    ///     source: "Elements, I.46",
    ///     schema: || vec![SIDE.required()],
    ///     value: |p| Ok(p.get(SIDE).powi(2).into()),
    /// };
    /// let set = serde_json::json!({ "side": 3 });
    /// assert_eq!(area.evaluate(set.as_object().unwrap())?.value, 9.0);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn evaluate(&self, set: &Map<String, Value>) -> Result<Evaluation> {
        let params = Params::resolve(&(self.schema)(), set)?;
        let value = (self.value)(&params)?;
        // serde_json writes numbers that are not finite as null.
        if holds_null(&value) {
            let (id, place) = (self.id, pairs(params.as_json()));
            return Err(Error::undefined(format!("{id} has no finite value at {place}. Write parameters nearer to 1")));
        }
        Ok(Evaluation { formula: self.id, parameters: params.as_json().clone(), value, source: self.source })
    }
}

fn holds_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(entries) => entries.iter().any(holds_null),
        _ => false,
    }
}
