//! Claims written in Python: the trial, the hypotheses and the promise are functions of Python, everything else is
//! the library's.

use crate::convert::{Raised, from_python, map_of, object};
use crate::stream::Stream;
use attnlab_core::error::{Error, Result};
use attnlab_core::params::{Domain, Fallback, Params, Schema, Spec};
use attnlab_core::rng::Streams;
use attnlab_lab::claim::{
    Claim, Hypothesis, Judgement, Kind, Mutant, Outcome, Paper, Promise, Relation, Sheet, VerdictKind, Witness, verdict,
};
use attnlab_lab::run::store;
use pyo3::exceptions::{PyArithmeticError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// A function of Python that any thread may clone.
type Function = Arc<Py<PyAny>>;

/// Exception of a function of Python, which the caller of the run raises again.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);

/// Takes the exception that a function of Python has raised during a run, if one has.
pub fn take_raised() -> Option<PyErr> {
    RAISED.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Keeps an exception for the caller of the run, and returns the error that ends the run. A failed computation is none:
/// its trial is uninformative.
fn raised(py: Python<'_>, id: &str, error: PyErr) -> Error {
    let algebra = || {
        let kind = py.import("numpy.linalg")?.getattr("LinAlgError")?;
        Ok::<_, PyErr>(error.matches(py, kind)?)
    };
    if error.is_instance_of::<PyArithmeticError>(py) || algebra().unwrap_or(false) {
        return Error::undefined(error.value(py).to_string());
    }
    let found = Error::invalid(id, &error, "must not raise an exception");
    *RAISED.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    found
}

/// Returns a text for the rest of the process. Sheets, names and papers are of that kind in the library; each text is
/// kept once, so that a cell of a notebook that runs again takes no more memory.
fn kept(text: &str) -> &'static str {
    static ALL: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let all = all.get_or_insert_default();
    if let Some(found) = all.get(text) {
        return found;
    }
    let new: &'static str = Box::leak(text.to_string().into_boxed_str());
    all.insert(new);
    new
}

/// A promise: fixed, or a function of the parameters.
#[derive(Clone)]
enum Told {
    Fixed(Promise),
    Called(Function),
}

/// The parts that a claim and its mutants share.
struct Body {
    sheet: &'static Sheet,
    schema: Schema,
    /// Name, printed form and margin.
    hypotheses: Vec<(&'static str, &'static str, Function)>,
    trials: u64,
    seconds: f64,
    memory: u64,
    /// Returns the identity of the code: only when it is asked for, since it may call functions that are defined later.
    code: Function,
    /// Makes the first argument of the functions from a dict.
    parameters: Function,
    /// Makes a generator from a [`Stream`].
    generator: Function,
    variants: Vec<Variant>,
    /// Number of trials that the function makes at a time; 1 for one that makes a trial.
    block: u64,
}

/// A false variant.
struct Variant {
    name: &'static str,
    trial: Function,
    promise: Told,
    set: Vec<(&'static str, Value)>,
}

/// A claim written in Python.
struct PythonClaim {
    body: Arc<Body>,
    trial: Function,
    promise: Told,
    /// Flag: this is one of the variants.
    variant: bool,
    /// The block made last: the streams of its first trial, and its outcomes.
    made: Mutex<Option<(Streams, Vec<Outcome>)>>,
}

impl PythonClaim {
    fn id(&self) -> &str {
        &self.body.sheet.id
    }

    /// [`outcomes`](Self::outcomes); an exception gets a note with the call that runs the trial alone.
    fn called(&self, params: &Params, streams: &Streams) -> Result<Vec<Outcome>> {
        Python::attach(|py| {
            self.outcomes(py, params, streams).map_err(|error| {
                // Python 3.10 has no notes.
                let _ = self.note(py, &error, params, streams);
                raised(py, self.id(), error)
            })
        })
    }

    fn note(&self, py: Python<'_>, error: &PyErr, params: &Params, streams: &Streams) -> PyResult<()> {
        let (id, number, seed) = (self.id(), streams.trial(), streams.seed());
        let set = object(py, params.as_json(), false)?.repr()?;
        let text = format!("in trial {number} of {id}; alone: attnlab.trial({id:?}, {number}, seed={seed}, set={set})");
        error.value(py).call_method1("add_note", (text,)).map(|_| ())
    }

    fn parameters<'py>(&self, py: Python<'py>, params: &Params) -> PyResult<Bound<'py, PyAny>> {
        let dict = object(py, params.as_json(), false)?;
        self.body.parameters.bind(py).call1((dict,))
    }

    fn margin(&self, py: Python<'_>, margin: &Function, params: &Params) -> PyResult<f64> {
        let found = margin.bind(py).call1((self.parameters(py, params)?,))?;
        let margin: f64 = found.extract()?;
        match margin.is_nan() {
            true => Err(crate::convert::refused(
                "margin of a hypothesis",
                &found,
                "must be a number, negative where it fails",
            )),
            false => Ok(margin),
        }
    }

    fn promised(&self, params: &Params) -> PyResult<Promise> {
        match &self.promise {
            Told::Fixed(promise) => Ok(*promise),
            Told::Called(function) => Python::attach(|py| {
                let found = function.bind(py).call1((self.parameters(py, params)?,))?;
                promise_of(&found)
            }),
        }
    }

    /// Calls the function on the streams of a trial, or of the first one of a block: (p, rng) or (p, rng, trials).
    fn outcomes(&self, py: Python<'_>, params: &Params, streams: &Streams) -> PyResult<Vec<Outcome>> {
        let stream = Bound::new(py, Stream::open(py, streams, "trial", 0)?)?;
        let rng = self.body.generator.bind(py).call1((stream,))?;
        let (p, trial) = (self.parameters(py, params)?, self.trial.bind(py));
        match self.body.block {
            1 => Ok(vec![outcome_of(&trial.call1((p, rng))?)?]),
            block => block_of(&trial.call1((p, rng, block))?),
        }
    }

    /// Makes the block of a trial, whole and from the streams of its first trial, so that an outcome does not depend on
    /// which other trials run.
    fn of_block(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let place = streams.trial() % self.body.block;
        let first = streams.of_trial(streams.trial() - place);
        // Before the interpreter, always: a thread that waits for the one never holds the other.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.as_ref().is_none_or(|(of, _)| *of != first) {
            let outcomes = self.called(params, &first)?;
            *made = Some((first, outcomes));
        }
        let outcome = made.as_ref().and_then(|(_, outcomes)| outcomes.get(place as usize).cloned());
        outcome.ok_or_else(|| Error::undefined("a block without its trials"))
    }
}

impl Claim for PythonClaim {
    fn sheet(&self) -> &'static Sheet {
        self.body.sheet
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        if self.body.block > 1 {
            return self.of_block(params, streams);
        }
        self.called(params, streams)?.into_iter().next().ok_or_else(|| Error::undefined("a trial without an outcome"))
    }

    fn mutants(&self) -> Vec<Mutant> {
        if self.variant {
            return vec![];
        }
        let mutant = |v: &Variant| Mutant {
            name: v.name,
            claim: Arc::new(PythonClaim {
                body: self.body.clone(),
                trial: v.trial.clone(),
                promise: v.promise.clone(),
                variant: true,
                made: Mutex::default(),
            }),
            set: v.set.clone(),
            drawn_as: &self.body.sheet.id,
        };
        self.body.variants.iter().map(mutant).collect()
    }

    fn schema(&self) -> Schema {
        self.body.schema.clone()
    }

    /// Calls every function of the parameters once, so that what it raises ends the run before the first trial.
    fn validate(&self, params: &Params) -> Result<()> {
        // The function may have changed what it calls since the last run.
        *self.made.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Python::attach(|py| -> PyResult<()> {
            for (_, _, margin) in &self.body.hypotheses {
                self.margin(py, margin, params)?;
            }
            self.promised(params).map(|_| ())
        })
        .map_err(|e| Python::attach(|py| raised(py, self.id(), e)))
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        Python::attach(|py| {
            let one = |(name, printed, margin): &(&'static str, &'static str, Function)| {
                // `validate` has called it at these parameters; NaN does not hold.
                let margin = self.margin(py, margin, params).unwrap_or(f64::NAN);
                Hypothesis::new(name, printed, margin)
            };
            self.body.hypotheses.iter().map(one).collect()
        })
    }

    fn promise(&self, params: &Params) -> Promise {
        // `validate` has called it at these parameters; a probability of at least 0 promises nothing.
        self.promised(params).unwrap_or(Promise::AtLeast(0.0))
    }

    /// Refuses outcomes of another kind than the promise is about.
    fn judge(&self, params: &Params, outcomes: &[Outcome], level: f64) -> Result<Judgement> {
        let promise = self.promise(params);
        let about_means = matches!(promise, Promise::MeanIn(..));
        for outcome in outcomes {
            let (found, allowed) = match outcome {
                Outcome::Value { .. } if !about_means => {
                    ("a number", "must be a flag or a gap; only mean_in is about numbers. Write return bool(..)")
                }
                Outcome::Event { .. } | Outcome::Gap { .. } if about_means => {
                    ("a flag or a gap", "must be a number, whose mean mean_in is about. Write return float(..)")
                }
                _ => continue,
            };
            return Err(Error::invalid(format!("what the trial of {} returned", self.id()), found, allowed));
        }
        verdict::judge_with(promise, None, false, outcomes, level)
    }

    fn default_trials(&self, _: &Params) -> u64 {
        self.body.trials
    }

    fn memory(&self, _: &Params) -> u64 {
        self.body.memory
    }

    fn seconds(&self, _: &Params) -> f64 {
        self.body.seconds
    }

    fn code(&self) -> Option<String> {
        let code = Python::attach(|py| self.body.code.bind(py).call0()?.extract::<String>());
        Some(code.unwrap_or_else(|_| "unknown code".into()))
    }
}

/// Reads ("always",), ("at-least", q), ("fails-at-most", ε) or ("mean-in", low, high).
fn promise_of(value: &Bound<'_, PyAny>) -> PyResult<Promise> {
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
    if fits { Ok(promise) } else { Err(crate::convert::refused("promise", value, allowed)) }
}

fn wrong_promise(value: &Bound<'_, PyAny>) -> PyErr {
    let allowed = "must be attnlab.always(), at_least(q), fails_at_most(eps) or mean_in(low, high)";
    crate::convert::refused("promise", value, allowed)
}

/// Reads the tuple that `attnlab._claims` makes of what a trial returns.
fn outcome_of(value: &Bound<'_, PyAny>) -> PyResult<Outcome> {
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
                other => {
                    let error = Error::invalid("relation", other, "must be equal or at-most");
                    return Err(error).raised();
                }
            },
            witness,
        },
        "value" => Outcome::Value { value: real(1)?, witness },
        _ => Outcome::uninformative(parts.get_item(1)?.to_string(), witness),
    })
}

/// The outcome of a trial whose number is NaN: a failed computation.
fn not_a_number() -> Outcome {
    Outcome::failed(&Error::undefined("the trial returned NaN"))
}

/// Reads the pair that `attnlab._claims` makes of what a vectorised trial returns.
fn block_of(value: &Bound<'_, PyAny>) -> PyResult<Vec<Outcome>> {
    let (word, all): (String, Bound<'_, PyAny>) = value.extract()?;
    match word.as_str() {
        "events" => {
            let flags: Vec<bool> = all.extract()?;
            Ok(flags.into_iter().map(|holds| Outcome::Event { holds, witness: Witness::new() }).collect())
        }
        "values" => {
            let numbers: Vec<f64> = all.extract()?;
            let outcome = |value: f64| match value.is_nan() {
                true => not_a_number(),
                false => Outcome::Value { value, witness: Witness::new() },
            };
            Ok(numbers.into_iter().map(outcome).collect())
        }
        _ => all.try_iter()?.map(|found| outcome_of(&found?)).collect(),
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

/// Makes a claim from the dict that `attnlab.claim` writes.
///
/// # Errors
/// An entry that is missing or of another type; words that the library does not know.
pub fn of_spec(spec: &Bound<'_, PyDict>) -> PyResult<Arc<dyn Claim>> {
    let get = |name| needed(spec, name);
    let text = |name| get(name)?.extract::<String>();
    let maybe = |name| get(name)?.extract::<Option<String>>();
    let function = |value: Bound<'_, PyAny>| Arc::new(value.unbind());
    let mut described = vec![];
    let mut variants = vec![];
    for variant in get("mutants")?.try_iter()? {
        let variant = variant?;
        let part = |name: &str| variant.get_item(name);
        let name: String = part("name")?.extract()?;
        let set = map_of(part("set")?.cast()?)?;
        let says = part("says")?.extract()?;
        described.push(attnlab_lab::claim::Variant {
            name: name.clone(),
            constants: Map::new(),
            set: set.clone(),
            says,
        });
        variants.push(Variant {
            name: kept(&name),
            trial: function(part("trial")?),
            promise: told(&part("promise")?)?,
            set: set.into_iter().map(|(name, v)| (kept(&name), v)).collect(),
        });
    }
    let sheet = Sheet {
        id: text("id")?,
        title: text("title")?,
        paper: paper_of(&get("paper")?)?,
        place: text("place")?,
        kind: word("kind", &text("kind")?)?,
        expected: verdict_of(&text("expected")?)?,
        own: get("own")?.extract()?,
        statement: text("statement")?,
        holds: None,
        class: None,
        print: None,
        witness: None,
        range: None,
        tolerance: maybe("tolerance")?,
        checked: vec![],
        mutants: described,
    };
    let mut hypotheses = vec![];
    for entry in get("hypotheses")?.try_iter()? {
        let (name, printed, margin): (String, String, Py<PyAny>) = entry?.extract()?;
        hypotheses.push((kept(&name), kept(&printed), Arc::new(margin)));
    }
    let params = get("params")?.try_iter()?;
    let schema = params.map(|spec| spec_of(&spec?)).collect::<PyResult<_>>()?;
    let body = Body {
        sheet: Box::leak(Box::new(sheet)),
        schema,
        hypotheses,
        trials: crate::convert::whole("trials", &get("trials")?, 1)?,
        seconds: get("seconds")?.extract()?,
        memory: get("memory")?.extract()?,
        code: function(get("code")?),
        parameters: function(get("parameters")?),
        generator: function(get("generator")?),
        variants,
        block: crate::convert::whole("block", &get("block")?, 1)?,
    };
    Ok(Arc::new(PythonClaim {
        body: Arc::new(body),
        trial: function(get("trial")?),
        promise: told(&get("promise")?)?,
        variant: false,
        made: Mutex::default(),
    }))
}

fn needed<'py>(spec: &Bound<'py, PyDict>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let missing = || PyValueError::new_err(format!("{name} is required"));
    spec.get_item(name)?.ok_or_else(missing)
}

fn told(value: &Bound<'_, PyAny>) -> PyResult<Told> {
    match value.is_callable() {
        true => Ok(Told::Called(Arc::new(value.clone().unbind()))),
        false => promise_of(value).map(Told::Fixed),
    }
}

fn paper_of(value: &Bound<'_, PyAny>) -> PyResult<&'static Paper> {
    let text = |name: &str| -> PyResult<&'static str> { Ok(kept(&value.get_item(name)?.extract::<String>()?)) };
    static ALL: Mutex<Vec<&'static Paper>> = Mutex::new(vec![]);
    let paper = Paper {
        key: text("key")?,
        title: text("title")?,
        authors: text("authors")?,
        venue: text("venue")?,
        year: value.get_item("year")?.extract()?,
        link: text("link")?,
    };
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |p: &&&Paper| p.cite() == paper.cite() && p.key == paper.key;
    if let Some(found) = all.iter().find(same) {
        return Ok(found);
    }
    let new: &'static Paper = Box::leak(Box::new(paper));
    all.push(new);
    Ok(new)
}

fn word(name: &'static str, text: &str) -> PyResult<Kind> {
    const ALL: [(&str, Kind); 5] = [
        ("probability", Kind::Probability),
        ("identity", Kind::Identity),
        ("bound", Kind::Bound),
        ("existence", Kind::Existence),
        ("law", Kind::Law),
    ];
    let found = ALL.iter().find(|(word, _)| *word == text);
    let unknown = || Error::unknown(name, text, ALL.iter().map(|(word, _)| *word));
    found.map(|(_, kind)| *kind).ok_or_else(unknown).raised()
}

fn verdict_of(text: &str) -> PyResult<VerdictKind> {
    let found = VerdictKind::ALL.into_iter().find(|v| v.name() == text);
    let unknown = || Error::unknown("verdict", text, VerdictKind::ALL.iter().map(|v| v.name()));
    found.ok_or_else(unknown).raised()
}

/// Makes an entry of a schema from a dict.
fn spec_of(value: &Bound<'_, PyAny>) -> PyResult<Spec> {
    let entry = map_of(value.cast()?)?;
    let text = |name: &str| kept(entry.get(name).and_then(Value::as_str).unwrap_or_default());
    let real = |name: &str, default: f64| entry.get(name).and_then(Value::as_f64).unwrap_or(default);
    let whole = |name: &str, default: u64| entry.get(name).and_then(Value::as_u64).unwrap_or(default);
    let flag = |name: &str| entry.get(name).and_then(Value::as_bool).unwrap_or(false);
    let domain = match text("kind") {
        "whole" => Domain::Whole(whole("low", 1), whole("high", u64::MAX)),
        "flag" => Domain::Flag,
        "choice" => Domain::Choice(words_of(&entry)),
        "vector" => Domain::Vector(&Domain::FINITE),
        "matrix" => Domain::Matrix(&Domain::FINITE),
        _ => Domain::Number {
            low: real("low", f64::NEG_INFINITY),
            low_in: flag("low_in"),
            high: real("high", f64::INFINITY),
            high_in: flag("high_in"),
        },
    };
    Ok(Spec {
        name: text("name"),
        symbol: text("symbol"),
        meaning: text("meaning"),
        unit: text("unit"),
        domain,
        default: match entry.get("default") {
            Some(value) => Fallback::Fixed(value.clone()),
            None => Fallback::Required,
        },
        aliases: &[],
    })
}

fn words_of(entry: &Map<String, Value>) -> &'static [&'static str] {
    let words = entry.get("words").and_then(Value::as_array);
    let words = words.into_iter().flatten().filter_map(Value::as_str);
    let words: Vec<&'static str> = words.map(kept).collect();
    Box::leak(words.into_boxed_slice())
}
