//! Ranges and types of parameters.

use serde_json::Value;

/// 2^64: a whole f64 below it is a u64 exactly.
const WHOLE_END: f64 = 18_446_744_073_709_551_616.0;

/// Limits the end of a range to the largest whole number that a size holds: 2^32 - 1 in a browser.
fn held(high: u64) -> u64 {
    usize::try_from(high).map_or(usize::MAX as u64, |_| high)
}

/// Range and type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// A whole number in [low, high].
    Whole(u64, u64),
    /// A finite number in the interval; the flags say whether the ends belong to it.
    Number {
        /// Lower end.
        low: f64,
        /// Flag: `low` itself is allowed.
        low_in: bool,
        /// Upper end.
        high: f64,
        /// Flag: `high` itself is allowed.
        high_in: bool,
    },
    /// One of the listed words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A JSON array of at least one number, each in the given domain.
    Vector(&'static Domain),
    /// A JSON array of rows of equal length, each entry in the given domain.
    Matrix(&'static Domain),
}

impl Domain {
    /// Any finite number.
    pub const FINITE: Domain = Domain::open(f64::NEG_INFINITY, f64::INFINITY);
    /// Any number ≥ 0.
    pub const NON_NEGATIVE: Domain = Domain::right_open(0.0, f64::INFINITY);
    /// Any number > 0.
    pub const POSITIVE: Domain = Domain::open(0.0, f64::INFINITY);
    /// A number in the open interval (0, 1).
    pub const OPEN_UNIT: Domain = Domain::open(0.0, 1.0);
    /// A number in the half-open interval (0, 1].
    pub const LEFT_OPEN_UNIT: Domain = Domain::left_open(0.0, 1.0);

    /// Returns the interval (low, high).
    pub const fn open(low: f64, high: f64) -> Self {
        Domain::Number { low, low_in: false, high, high_in: false }
    }

    /// Returns the interval (low, high].
    pub const fn left_open(low: f64, high: f64) -> Self {
        Domain::Number { low, low_in: false, high, high_in: true }
    }

    /// Returns the interval [low, high).
    pub const fn right_open(low: f64, high: f64) -> Self {
        Domain::Number { low, low_in: true, high, high_in: false }
    }

    /// Returns the interval [low, high].
    pub const fn closed(low: f64, high: f64) -> Self {
        Domain::Number { low, low_in: true, high, high_in: true }
    }

    /// Describes the range in words for an error message and for `--help`.
    pub fn allowed(&self) -> String {
        match *self {
            Domain::Whole(low, high) => match held(high) {
                u64::MAX => format!("a whole number >= {low}"),
                high => format!("a whole number from {low} to {high}"),
            },
            Domain::Number { low, high, .. } if low.is_infinite() && high.is_infinite() => "a finite number".into(),
            Domain::Number { low, low_in, high, .. } if high.is_infinite() => {
                format!("a finite number {} {low}", if low_in { ">=" } else { ">" })
            }
            Domain::Number { low, low_in, high, high_in } => {
                let (open, close) = (if low_in { '[' } else { '(' }, if high_in { ']' } else { ')' });
                format!("a number in {open}{low}, {high}{close}")
            }
            Domain::Choice(words) => format!("one of {}", words.join(", ")),
            Domain::Flag => "true or false".into(),
            Domain::Vector(entry) => format!("an array such as [1, 2], each {}", entry.allowed()),
            Domain::Matrix(entry) => {
                format!("rows of equal length such as [[1, 0], [0, 1]], each entry {}", entry.allowed())
            }
        }
    }

    /// Returns one spelling for equal values, so that `eta=1` and `eta=1.0` are the same cell.
    pub(super) fn canonical(&self, value: Value) -> Value {
        match (self, &value) {
            (Domain::Number { .. }, Value::Number(number)) => number.as_f64().into(),
            // Whole numbers may be written as 1e5.
            (Domain::Whole(..), Value::Number(number)) => match number.as_f64() {
                Some(x) if number.is_f64() && x.fract() == 0.0 && (0.0..WHOLE_END).contains(&x) => (x as u64).into(),
                _ => value,
            },
            (Domain::Vector(entry) | Domain::Matrix(entry), Value::Array(items)) => {
                let inner = if matches!(self, Domain::Matrix(_)) { &Domain::Vector(entry) } else { entry };
                items.iter().map(|v| inner.canonical(v.clone())).collect()
            }
            _ => value,
        }
    }

    pub(super) fn contains(&self, value: &Value) -> bool {
        match *self {
            Domain::Whole(low, high) => value.as_u64().is_some_and(|n| (low..=held(high)).contains(&n)),
            Domain::Number { low, low_in, high, high_in } => value.as_f64().is_some_and(|x| {
                x.is_finite() && (x > low || (low_in && x == low)) && (x < high || (high_in && x == high))
            }),
            Domain::Choice(words) => value.as_str().is_some_and(|s| words.contains(&s)),
            Domain::Flag => value.is_boolean(),
            Domain::Vector(entry) => {
                value.as_array().is_some_and(|v| !v.is_empty() && v.iter().all(|x| entry.contains(x)))
            }
            Domain::Matrix(entry) => {
                let row = Domain::Vector(entry);
                value.as_array().is_some_and(|rows| {
                    let width = |r: &Value| r.as_array().map_or(0, Vec::len);
                    rows.iter().all(|r| row.contains(r) && width(r) == width(&rows[0])) && !rows.is_empty()
                })
            }
        }
    }
}
