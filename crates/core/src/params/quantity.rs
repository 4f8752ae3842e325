//! Quantities: the name, symbol, unit, meaning and range of a parameter, declared once.

use super::{Domain, Fallback, Params, Spec};
use ndarray::Array2;
use serde_json::Value;
use std::marker::PhantomData;

/// A parameter shared by claims, experiments and closed forms: its name after `--set`, its symbol in the
/// paper, its unit, its range, and its type `T`.
///
/// The crate of a paper declares each of its quantities once, as a constant. [`Params::get`] takes the
/// constant, so that a misspelt name does not compile and a value comes in its own type.
///
/// ```
/// use attnlab_core::params::{Domain, Params, Quantity};
/// const TOKENS: Quantity<usize> = Quantity::whole("tokens", "N", "number of tokens").alias(&["n"]);
/// const DELTA: Quantity<f64> =
///     Quantity::real("delta", "δ", "noise level").unit("standard deviation").within(Domain::POSITIVE);
/// let schema = vec![
///     TOKENS.or(2000),
///     DELTA.or_from("1 / sqrt(tokens)", |p| p.real(TOKENS).sqrt().recip()),
/// ];
/// let set = serde_json::json!({ "n": 400 });
/// let params = Params::resolve(&schema, set.as_object().unwrap())?;
/// assert_eq!((params.get(TOKENS), params.get(DELTA)), (400, 0.05));
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub struct Quantity<T> {
    /// Name, as written after `--set`, in settings and in rows.
    pub name: &'static str,
    /// The symbol in the paper; empty where it has none.
    pub symbol: &'static str,
    /// Meaning in a few words that follow the symbol.
    pub meaning: &'static str,
    /// Unit, or the things counted; empty for pure numbers.
    pub unit: &'static str,
    /// Range and type.
    pub domain: Domain,
    /// Aliases that are accepted instead of the name.
    pub aliases: &'static [&'static str],
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for Quantity<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Quantity<T> {}

impl<T> AsRef<str> for Quantity<T> {
    fn as_ref(&self) -> &str {
        self.name
    }
}

/// Type of a quantity that is one of several words.
pub enum Word {}

/// Types that a quantity may have.
pub trait Kind {
    /// Type of the value that [`Params::get`] returns.
    type Value<'a>;

    /// Reads the value from its JSON form; `None` if the JSON value has another type.
    fn read(value: &Value) -> Option<Self::Value<'_>>;
}

impl Kind for usize {
    type Value<'a> = usize;

    fn read(value: &Value) -> Option<usize> {
        value.as_u64().and_then(|n| usize::try_from(n).ok())
    }
}

impl Kind for f64 {
    type Value<'a> = f64;

    fn read(value: &Value) -> Option<f64> {
        value.as_f64()
    }
}

impl Kind for bool {
    type Value<'a> = bool;

    fn read(value: &Value) -> Option<bool> {
        value.as_bool()
    }
}

impl Kind for Word {
    type Value<'a> = &'a str;

    fn read(value: &Value) -> Option<&str> {
        value.as_str()
    }
}

impl Kind for Vec<f64> {
    type Value<'a> = Vec<f64>;

    fn read(value: &Value) -> Option<Vec<f64>> {
        value.as_array()?.iter().map(Value::as_f64).collect()
    }
}

impl Kind for Array2<f64> {
    type Value<'a> = Array2<f64>;

    fn read(value: &Value) -> Option<Array2<f64>> {
        let rows: Vec<Vec<f64>> = value.as_array()?.iter().map(Vec::read).collect::<Option<_>>()?;
        let width = rows.first().map_or(0, Vec::len);
        Array2::from_shape_vec((rows.len(), width), rows.concat()).ok()
    }
}

impl Quantity<usize> {
    /// Declares a whole number ≥ 1; [`within`](Quantity::within) sets another range.
    pub const fn whole(name: &'static str, symbol: &'static str, meaning: &'static str) -> Self {
        Self::new(name, symbol, meaning, Domain::Whole(1, u64::MAX))
    }
}

impl Quantity<f64> {
    /// Declares a finite number; [`within`](Quantity::within) narrows the range.
    pub const fn real(name: &'static str, symbol: &'static str, meaning: &'static str) -> Self {
        Self::new(name, symbol, meaning, Domain::FINITE)
    }
}

impl Quantity<bool> {
    /// Declares a flag, `true` or `false`.
    pub const fn flag(name: &'static str, symbol: &'static str, meaning: &'static str) -> Self {
        Self::new(name, symbol, meaning, Domain::Flag)
    }
}

impl Quantity<Word> {
    /// Declares one of `words`.
    pub const fn word(
        name: &'static str,
        symbol: &'static str,
        meaning: &'static str,
        words: &'static [&'static str],
    ) -> Self {
        Self::new(name, symbol, meaning, Domain::Choice(words))
    }
}

impl Quantity<Vec<f64>> {
    /// Declares an array of at least one number, each in `entry`.
    pub const fn vector(
        name: &'static str,
        symbol: &'static str,
        meaning: &'static str,
        entry: &'static Domain,
    ) -> Self {
        Self::new(name, symbol, meaning, Domain::Vector(entry))
    }
}

impl Quantity<Array2<f64>> {
    /// Declares a matrix by its rows, each number in `entry`.
    pub const fn matrix(
        name: &'static str,
        symbol: &'static str,
        meaning: &'static str,
        entry: &'static Domain,
    ) -> Self {
        Self::new(name, symbol, meaning, Domain::Matrix(entry))
    }
}

impl<T> Quantity<T> {
    const fn new(name: &'static str, symbol: &'static str, meaning: &'static str, domain: Domain) -> Self {
        Quantity { name, symbol, meaning, unit: "", domain, aliases: &[], kind: PhantomData }
    }

    /// Sets another range, for all claims or for one.
    pub const fn within(mut self, domain: Domain) -> Self {
        self.domain = domain;
        self
    }

    /// Sets the unit.
    pub const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// Sets aliases that are accepted instead of the name.
    pub const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Sets another meaning, in the words of one claim.
    pub const fn meaning(mut self, meaning: &'static str) -> Self {
        self.meaning = meaning;
        self
    }

    /// Makes an entry of a schema with this default.
    pub fn or(self, default: impl Into<Value>) -> Spec {
        self.spec(Fallback::Fixed(default.into()))
    }

    /// Makes an entry of a schema whose default is computed from the entries before it; `formula` states
    /// the computation in words, for `--help`.
    pub fn or_from(self, formula: &'static str, compute: fn(&Params) -> f64) -> Spec {
        self.spec(Fallback::Derived(formula, compute))
    }

    /// Makes an entry of a schema that the user must set.
    pub fn required(self) -> Spec {
        self.spec(Fallback::Required)
    }

    /// Returns name and value, for the cell of an experiment.
    pub fn is(self, value: impl Into<Value>) -> (String, Value) {
        (self.name.to_string(), value.into())
    }

    fn spec(self, default: Fallback) -> Spec {
        Spec {
            name: self.name,
            symbol: self.symbol,
            meaning: self.meaning,
            unit: self.unit,
            domain: self.domain,
            default,
            aliases: self.aliases,
        }
    }
}
