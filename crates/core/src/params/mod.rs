//! Parameters of claims, experiments and closed forms, with types, symbols, ranges and defaults.
//!
//! A [`Quantity`] is declared once per paper. With a default it becomes a [`Spec`]; a [`Schema`] is the
//! list of the specs that a claim declares. Resolving a schema against the user's settings gives
//! [`Params`], complete and validated, or an error that says what to write instead.

mod domain;
mod quantity;

pub use domain::Domain;
pub use quantity::{Kind, Quantity, Word};

use crate::error::{Error, Result};
use serde_json::{Map, Value};

/// Default of a parameter that the user does not set.
#[derive(Clone)]
pub enum Fallback {
    /// A constant.
    Fixed(Value),
    /// Computed from the parameters declared before it; the text is the formula, for `--help`.
    Derived(&'static str, fn(&Params) -> f64),
    /// No default: the user must set the parameter.
    Required,
}

/// One parameter of a claim or a closed form, made from a [`Quantity`].
#[derive(Clone)]
pub struct Spec {
    /// Name, as written after `--set`.
    pub name: &'static str,
    /// The symbol in the paper; empty where it has none.
    pub symbol: &'static str,
    /// Meaning in words.
    pub meaning: &'static str,
    /// Unit; empty for pure numbers.
    pub unit: &'static str,
    /// Range and type.
    pub domain: Domain,
    /// Default when not set.
    pub default: Fallback,
    /// Aliases that are accepted instead of the name.
    pub aliases: &'static [&'static str],
}

impl Spec {
    /// Returns symbol, meaning and unit in one line.
    pub fn doc(&self) -> String {
        let mut doc = match self.symbol {
            "" => self.meaning.to_string(),
            symbol => format!("{symbol}, {}", self.meaning),
        };
        if !self.unit.is_empty() {
            doc.push_str(&format!(" ({})", self.unit));
        }
        doc
    }

    /// Returns the default: a constant, or the value in `defaults`, the parameters of a schema without settings.
    /// Null where the parameter is required.
    pub fn default_value(&self, defaults: Option<&Params>) -> Value {
        match &self.default {
            Fallback::Fixed(value) => value.clone(),
            _ => defaults.and_then(|p| p.as_json().get(self.name).cloned()).unwrap_or(Value::Null),
        }
    }

    /// Returns `true` if `name` is the name of the parameter or one of its aliases.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// Parameters that a claim, an experiment or a closed form declares, in order.
pub type Schema = Vec<Spec>;

/// A complete, validated set of parameters, in the order of the schema.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Params(Map<String, Value>);

impl Params {
    /// Completes `set` with the defaults of `schema` and validates every value.
    ///
    /// # Errors
    /// If a name is unknown (the message has the nearest ones), a value is outside its domain, or a required
    /// value is missing.
    pub fn resolve(schema: &Schema, set: &Map<String, Value>) -> Result<Params> {
        for name in set.keys() {
            let Some(spec) = schema.iter().find(|s| s.answers_to(name)) else {
                let known = schema.iter().map(|s| s.name);
                return Err(Error::unknown("parameter", name, known));
            };
            if spec.name != name && set.contains_key(spec.name) {
                let why = format!("must be set once; it is another name of {}. Write one of the two", spec.name);
                return Err(Error::invalid(name, &set[name.as_str()], why));
            }
        }
        let given = |spec: &Spec| std::iter::once(&spec.name).chain(spec.aliases).find_map(|name| set.get(*name));
        let missing = |spec: &&Spec| matches!(spec.default, Fallback::Required) && given(spec).is_none();
        let missing: Vec<&Spec> = schema.iter().filter(missing).collect();
        if !missing.is_empty() {
            return Err(Error::Missing {
                names: missing.iter().map(|s| s.name.to_string()).collect(),
                set: missing.iter().map(|s| format!("--set {}=<{}>", s.name, s.domain.allowed())).collect(),
            });
        }
        let mut params = Params::default();
        for spec in schema {
            let value = match (given(spec), &spec.default) {
                (Some(value), _) => value.clone(),
                (None, Fallback::Fixed(value)) => value.clone(),
                (None, Fallback::Derived(_, compute)) => match spec.domain {
                    Domain::Whole(..) => (compute(&params) as u64).into(),
                    _ => compute(&params).into(),
                },
                // The check above has refused this case.
                (None, Fallback::Required) => Value::Null,
            };
            let canonical = spec.domain.canonical(value.clone());
            if !spec.domain.contains(&canonical) {
                return Err(Error::invalid(spec.name, value, format!("must be {}", spec.domain.allowed())));
            }
            params.0.insert(spec.name.to_string(), canonical);
        }
        Ok(params)
    }

    /// Returns the value of a quantity, in its own type.
    ///
    /// # Panics
    /// If the schema that these parameters were resolved against lacks the quantity. That is a defect of
    /// the claim, found by the test that runs every claim once.
    pub fn get<T: Kind>(&self, quantity: Quantity<T>) -> T::Value<'_> {
        self.read::<T>(quantity.name)
    }

    /// Returns the value of a whole-number quantity as `f64`.
    ///
    /// # Panics
    /// As [`Params::get`].
    pub fn real(&self, quantity: Quantity<usize>) -> f64 {
        self.get(quantity) as f64
    }

    /// Returns `true` if the parameters contain this quantity; cells of experiments may differ in theirs.
    pub fn has<T>(&self, quantity: Quantity<T>) -> bool {
        self.0.contains_key(quantity.name)
    }

    /// Returns the parameters as a JSON object, in the order of the schema.
    pub fn as_json(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Returns the id of the cell: a hash of the canonical JSON of the parameters.
    pub fn cell(&self) -> u64 {
        crate::rng::hash(Value::Object(self.0.clone()).to_string().as_bytes())
    }

    fn read<T: Kind>(&self, name: &str) -> T::Value<'_> {
        let value = self.0.get(name).unwrap_or_else(|| undeclared(name));
        T::read(value).unwrap_or_else(|| undeclared(name))
    }
}

impl FromIterator<(String, Value)> for Params {
    /// Collects parameters without a schema, for the cells of experiments, whose values are generated by
    /// the program itself.
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(named: I) -> Self {
        Params(named.into_iter().collect())
    }
}

fn undeclared<T>(name: &str) -> T {
    panic!("the schema declares no parameter '{name}' of this type")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};
    use serde_json::json;

    const X: Quantity<f64> = Quantity::real("x", "x", "a number");

    fn resolve(domain: Domain, value: Value) -> Result<Params> {
        let set = json!({ "x": value });
        let set = set.as_object().cloned().unwrap_or_default();
        Params::resolve(&vec![X.within(domain).required()], &set)
    }

    #[test]
    fn vectors_and_matrices_are_read_and_refused() {
        let vector = Domain::Vector(&Domain::NON_NEGATIVE);
        let x = resolve(vector, json!([1, 2.5])).unwrap();
        assert_eq!(x.read::<Vec<f64>>("x"), [1.0, 2.5]);
        let matrix = Domain::Matrix(&Domain::FINITE);
        let x = resolve(matrix, json!([[1, -2, 3], [4, 5, 6]])).unwrap();
        assert_eq!(x.read::<Array2<f64>>("x"), array![[1.0, -2.0, 3.0], [4.0, 5.0, 6.0]]);
        for bad in [json!([]), json!([1, -1]), json!(1), json!([[1]]), json!(["a"])] {
            assert!(resolve(vector, bad).is_err());
        }
        for bad in [json!([]), json!([[]]), json!([[1], [1, 2]]), json!([1, 2])] {
            assert!(resolve(matrix, bad).is_err());
        }
        let message = resolve(vector, json!([1, -1])).unwrap_err().to_string();
        assert_eq!(message, "x = [1,-1]: must be an array such as [1, 2], each a finite number >= 0");
    }

    #[test]
    fn one_cell_however_a_number_is_spelled() {
        let cell = |v: Value| resolve(Domain::POSITIVE, v).unwrap().cell();
        assert_eq!(cell(json!(1)), cell(json!(1.0)));
        assert_ne!(cell(json!(1)), cell(json!(1.5)));
        let vector = Domain::Vector(&Domain::FINITE);
        assert_eq!(resolve(vector, json!([1, 2])).unwrap().cell(), resolve(vector, json!([1.0, 2.0])).unwrap().cell());
        assert!(resolve(Domain::Whole(1, 9), json!(2.5)).is_err());
        assert_eq!(resolve(Domain::Whole(1, 2000), json!(2e3)).unwrap().as_json()["x"], json!(2000));
        assert!(resolve(Domain::Whole(0, u64::MAX), json!(1e300)).is_err());
    }
}
