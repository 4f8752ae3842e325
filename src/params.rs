//! Parameters: what a claim, an experiment or a closed form takes, with types, ranges and defaults.
//!
//! A [`Spec`] documents one parameter; a [`Schema`] is the list that a claim declares. Resolving a
//! schema against what the user set gives [`Params`], complete and validated, or an error that says
//! what to write instead.

use crate::error::{Error, Result};
use ndarray::Array2;
use serde_json::{Map, Value};

/// 2^64: a whole f64 below it is a u64 exactly.
const WHOLE_END: f64 = 18_446_744_073_709_551_616.0;

/// What a parameter may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// A whole number in [low, high].
    Whole(u64, u64),
    /// A finite number in the interval; the flags say whether the ends belong to it.
    Number {
        /// Lower end.
        low: f64,
        /// Whether `low` itself is allowed.
        low_in: bool,
        /// Upper end.
        high: f64,
        /// Whether `high` itself is allowed.
        high_in: bool,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// true or false.
    Flag,
    /// A JSON array of at least one number, each in the given domain.
    Vector(&'static Domain),
    /// A JSON array of rows of equal length, each entry in the given domain.
    Matrix(&'static Domain),
}

impl Domain {
    /// Any finite number.
    pub const FINITE: Domain = Domain::Number {
        low: f64::NEG_INFINITY,
        low_in: false,
        high: f64::INFINITY,
        high_in: false,
    };
    /// Any number ≥ 0.
    pub const NON_NEGATIVE: Domain = Domain::Number {
        low: 0.0,
        low_in: true,
        high: f64::INFINITY,
        high_in: false,
    };
    /// Any number > 0.
    pub const POSITIVE: Domain = Domain::Number {
        low: 0.0,
        low_in: false,
        high: f64::INFINITY,
        high_in: false,
    };
    /// (0, 1).
    pub const OPEN_UNIT: Domain = Domain::Number {
        low: 0.0,
        low_in: false,
        high: 1.0,
        high_in: false,
    };
    /// (0, 1].
    pub const LEFT_OPEN_UNIT: Domain = Domain::Number {
        low: 0.0,
        low_in: false,
        high: 1.0,
        high_in: true,
    };

    /// What is allowed, in words for an error message and for `--help`.
    pub fn allowed(&self) -> String {
        match *self {
            Domain::Whole(low, u64::MAX) => format!("a whole number >= {low}"),
            Domain::Whole(low, high) => format!("a whole number from {low} to {high}"),
            Domain::Number { low, high, .. } if low.is_infinite() && high.is_infinite() => {
                "a finite number".into()
            }
            Domain::Number {
                low, low_in, high, ..
            } if high.is_infinite() => {
                format!("a finite number {} {low}", if low_in { ">=" } else { ">" })
            }
            Domain::Number {
                low,
                low_in,
                high,
                high_in,
            } => {
                let (open, close) = (
                    if low_in { '[' } else { '(' },
                    if high_in { ']' } else { ')' },
                );
                format!("a number in {open}{low}, {high}{close}")
            }
            Domain::Choice(words) => format!("one of {}", words.join(", ")),
            Domain::Flag => "true or false".into(),
            Domain::Vector(entry) => format!("an array such as [1, 2], each {}", entry.allowed()),
            Domain::Matrix(entry) => format!(
                "rows of equal length such as [[1, 0], [0, 1]], each entry {}",
                entry.allowed()
            ),
        }
    }

    /// One spelling for equal values, so that `eta=1` and `eta=1.0` are the same cell.
    fn canonical(&self, value: Value) -> Value {
        match (self, &value) {
            (Domain::Number { .. }, Value::Number(number)) => number.as_f64().into(),
            // People write N as 1e5.
            (Domain::Whole(..), Value::Number(number)) => match number.as_f64() {
                Some(x) if number.is_f64() && x.fract() == 0.0 && (0.0..WHOLE_END).contains(&x) => {
                    (x as u64).into()
                }
                _ => value,
            },
            (Domain::Vector(entry) | Domain::Matrix(entry), Value::Array(items)) => {
                let inner = if matches!(self, Domain::Matrix(_)) {
                    &Domain::Vector(entry)
                } else {
                    entry
                };
                items.iter().map(|v| inner.canonical(v.clone())).collect()
            }
            _ => value,
        }
    }

    fn contains(&self, value: &Value) -> bool {
        match *self {
            Domain::Whole(low, high) => value.as_u64().is_some_and(|n| (low..=high).contains(&n)),
            Domain::Number {
                low,
                low_in,
                high,
                high_in,
            } => value.as_f64().is_some_and(|x| {
                x.is_finite()
                    && (x > low || (low_in && x == low))
                    && (x < high || (high_in && x == high))
            }),
            Domain::Choice(words) => value.as_str().is_some_and(|s| words.contains(&s)),
            Domain::Flag => value.is_boolean(),
            Domain::Vector(entry) => value
                .as_array()
                .is_some_and(|v| !v.is_empty() && v.iter().all(|x| entry.contains(x))),
            Domain::Matrix(entry) => {
                let row = Domain::Vector(entry);
                value.as_array().is_some_and(|rows| {
                    let width = |r: &Value| r.as_array().map_or(0, Vec::len);
                    rows.iter()
                        .all(|r| row.contains(r) && width(r) == width(&rows[0]))
                        && !rows.is_empty()
                })
            }
        }
    }
}

/// The value of a parameter that the user does not set.
#[derive(Clone)]
pub enum Fallback {
    /// Always the same.
    Fixed(Value),
    /// Computed from the parameters declared before it; the text is the formula, for `--help`.
    Derived(&'static str, fn(&Params) -> f64),
    /// Must be set.
    Required,
}

/// One parameter of a claim, an experiment or a closed form.
#[derive(Clone)]
pub struct Spec {
    /// The name after `--set`.
    pub name: &'static str,
    /// What it may be.
    pub domain: Domain,
    /// Its value when not set.
    pub default: Fallback,
    /// One line: the symbol in the paper and what it means.
    pub doc: &'static str,
}

impl Spec {
    /// A parameter with a fixed default.
    pub fn new(
        name: &'static str,
        domain: Domain,
        default: impl Into<Value>,
        doc: &'static str,
    ) -> Self {
        Spec {
            name,
            domain,
            default: Fallback::Fixed(default.into()),
            doc,
        }
    }

    /// A parameter whose default follows from the ones before it.
    pub fn derived(
        name: &'static str,
        domain: Domain,
        formula: &'static str,
        compute: fn(&Params) -> f64,
        doc: &'static str,
    ) -> Self {
        Spec {
            name,
            domain,
            default: Fallback::Derived(formula, compute),
            doc,
        }
    }

    /// A parameter without default.
    pub fn required(name: &'static str, domain: Domain, doc: &'static str) -> Self {
        Spec {
            name,
            domain,
            default: Fallback::Required,
            doc,
        }
    }
}

/// The parameters that something declares, in order.
pub type Schema = Vec<Spec>;

/// A complete, validated set of parameters, in the order of the schema.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Params(Map<String, Value>);

impl Params {
    /// Fills `set` up with the defaults of `schema` and validates everything.
    ///
    /// # Errors
    /// An unknown name (with the nearest ones), a value outside its domain, a missing one.
    pub fn resolve(schema: &Schema, set: &Map<String, Value>) -> Result<Params> {
        for name in set.keys() {
            if !schema.iter().any(|s| s.name == name) {
                return Err(Error::unknown(
                    "parameter",
                    name,
                    schema.iter().map(|s| s.name),
                ));
            }
        }
        let mut params = Params::default();
        for spec in schema {
            let value = match (set.get(spec.name), &spec.default) {
                (Some(value), _) => value.clone(),
                (None, Fallback::Fixed(value)) => value.clone(),
                (None, Fallback::Derived(_, compute)) => match spec.domain {
                    Domain::Whole(..) => (compute(&params) as u64).into(),
                    _ => compute(&params).into(),
                },
                (None, Fallback::Required) => {
                    let allowed = format!("write --set {}=<{}>", spec.name, spec.domain.allowed());
                    return Err(Error::invalid(spec.name, "(not set)", allowed));
                }
            };
            let canonical = spec.domain.canonical(value.clone());
            if !spec.domain.contains(&canonical) {
                return Err(Error::invalid(spec.name, value, spec.domain.allowed()));
            }
            params.0.insert(spec.name.to_string(), canonical);
        }
        Ok(params)
    }

    /// A number.
    ///
    /// # Panics
    /// When the schema declares no such number: a mistake in the claim, found by the registry test
    /// that runs every claim once.
    pub fn f64(&self, name: &str) -> f64 {
        self.get(name).as_f64().unwrap_or_else(|| undeclared(name))
    }

    /// A whole number.
    ///
    /// # Panics
    /// As [`Params::f64`].
    pub fn usize(&self, name: &str) -> usize {
        self.get(name).as_u64().unwrap_or_else(|| undeclared(name)) as usize
    }

    /// A word.
    ///
    /// # Panics
    /// As [`Params::f64`].
    pub fn text(&self, name: &str) -> &str {
        self.get(name).as_str().unwrap_or_else(|| undeclared(name))
    }

    /// A flag.
    ///
    /// # Panics
    /// As [`Params::f64`].
    pub fn flag(&self, name: &str) -> bool {
        self.get(name).as_bool().unwrap_or_else(|| undeclared(name))
    }

    /// A vector.
    ///
    /// # Panics
    /// As [`Params::f64`].
    pub fn vector(&self, name: &str) -> Vec<f64> {
        numbers(self.get(name)).unwrap_or_else(|| undeclared(name))
    }

    /// A matrix, given by its rows.
    ///
    /// # Panics
    /// As [`Params::f64`].
    pub fn matrix(&self, name: &str) -> Array2<f64> {
        let rows = self.get(name).as_array().map(|rows| {
            let all: Option<Vec<_>> = rows.iter().map(numbers).collect();
            all.unwrap_or_else(|| undeclared(name))
        });
        let rows = rows.unwrap_or_else(|| undeclared(name));
        let width = rows.first().map_or(0, Vec::len);
        Array2::from_shape_vec((rows.len(), width), rows.concat())
            .unwrap_or_else(|_| undeclared(name))
    }

    /// As a JSON object, in the order of the schema.
    pub fn as_json(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The cell that these parameters are: a hash of their canonical JSON.
    pub fn cell(&self) -> u64 {
        crate::rng::hash(Value::Object(self.0.clone()).to_string().as_bytes())
    }

    fn get(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or_else(|| undeclared(name))
    }
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

impl FromIterator<(String, Value)> for Params {
    /// Parameters that need no schema because the program itself made them: a cell of an experiment.
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
    use serde_json::json;

    fn resolve(domain: Domain, value: Value) -> Result<Params> {
        let set = json!({ "x": value });
        let set = set.as_object().cloned().unwrap_or_default();
        Params::resolve(&vec![Spec::required("x", domain, "")], &set)
    }

    #[test]
    fn vectors_and_matrices_are_read_and_refused() {
        let vector = Domain::Vector(&Domain::NON_NEGATIVE);
        let x = resolve(vector, json!([1, 2.5])).unwrap();
        assert_eq!(x.vector("x"), [1.0, 2.5]);
        let matrix = Domain::Matrix(&Domain::FINITE);
        let x = resolve(matrix, json!([[1, -2, 3], [4, 5, 6]])).unwrap();
        assert_eq!(x.matrix("x").dim(), (2, 3));
        assert_eq!(x.matrix("x")[[0, 1]], -2.0);
        for bad in [
            json!([]),
            json!([1, -1]),
            json!(1),
            json!([[1]]),
            json!(["a"]),
        ] {
            assert!(resolve(vector, bad).is_err());
        }
        for bad in [json!([]), json!([[]]), json!([[1], [1, 2]]), json!([1, 2])] {
            assert!(resolve(matrix, bad).is_err());
        }
        let message = resolve(vector, json!([1, -1])).unwrap_err().to_string();
        assert_eq!(
            message,
            "x = [1,-1] is not allowed: an array such as [1, 2], each a finite number >= 0"
        );
    }

    #[test]
    fn one_cell_however_a_number_is_spelled() {
        let cell = |v: Value| resolve(Domain::POSITIVE, v).unwrap().cell();
        assert_eq!(cell(json!(1)), cell(json!(1.0)));
        assert_ne!(cell(json!(1)), cell(json!(1.5)));
        let vector = Domain::Vector(&Domain::FINITE);
        assert_eq!(
            resolve(vector, json!([1, 2])).unwrap().cell(),
            resolve(vector, json!([1.0, 2.0])).unwrap().cell()
        );
        assert!(resolve(Domain::Whole(1, 9), json!(2.5)).is_err());
        let whole = resolve(Domain::Whole(1, 2000), json!(2e3)).unwrap();
        assert_eq!(whole.as_json()["x"], json!(2000));
        assert!(resolve(Domain::Whole(0, u64::MAX), json!(1e300)).is_err());
    }
}
