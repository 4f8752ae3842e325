//! Claims written in Python: the trial, the hypotheses and the promise are functions of Python, everything else is
//! the library's.

mod outcomes;
mod spec;

pub use spec::of_spec;

use crate::background::locked;
use crate::convert::{object, refused};
use crate::stream::Stream;
use attnlab_core::error::{Error, Result};
use attnlab_core::params::{Params, Schema};
use attnlab_core::rng::Streams;
use attnlab_lab::claim::{Claim, Hypothesis, Judgement, Mutant, Outcome, Promise, Sheet, verdict};
use outcomes::{block_of, outcome_of, promise_of};
use pyo3::exceptions::PyArithmeticError;
use pyo3::prelude::*;
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// A function of Python that any thread may clone.
type Function = Arc<Py<PyAny>>;

/// Exceptions that are kept at most: more than runs end at the same moment on the threads of a machine's executor. Those of
/// runs that Ctrl-C has ended are never taken.
const MOST_RAISED: usize = 16;

/// Exceptions of functions of Python, each with the message of the error that it has ended its run with. Runs on several
/// threads are under way at the same time, and each takes its own.
static RAISED: Mutex<Vec<(String, PyErr)>> = Mutex::new(vec![]);

/// Takes the exception that a function of Python has raised last, if one has.
pub fn take_raised() -> Option<PyErr> {
    locked(&RAISED).pop().map(|(_, raised)| raised)
}

/// Replaces the error of work that called functions of Python by the exception that is behind it, if one is.
pub fn reraised<T>(outcome: PyResult<T>) -> PyResult<T> {
    outcome.map_err(|error| {
        let text = error.to_string();
        let own = {
            let mut kept = locked(&RAISED);
            let own = kept.iter().rposition(|(message, _)| text.contains(message));
            own.map(|own| kept.remove(own).1)
        };
        own.unwrap_or(error)
    })
}

/// [Keeps](kept) an exception of a trial. A failed computation is none: the trial is uninformative.
fn raised(py: Python<'_>, id: &str, error: PyErr) -> Error {
    let algebra = || Ok::<_, PyErr>(error.matches(py, py.import("numpy.linalg")?.getattr("LinAlgError")?)?);
    if error.is_instance_of::<PyArithmeticError>(py) || algebra().unwrap_or(false) {
        return Error::undefined(error.value(py).to_string());
    }
    kept(id, error)
}

/// Keeps an exception for the caller of the run, and returns the error that ends the run.
fn kept(id: &str, error: PyErr) -> Error {
    let refusal = Error::invalid(id, &error, "must not raise an exception");
    // Dropped once the lock is open: an exception that goes may call functions of Python.
    let _oldest = {
        let mut kept = locked(&RAISED);
        kept.push((refusal.to_string(), error));
        (kept.len() > MOST_RAISED).then(|| kept.remove(0))
    };
    refusal
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

struct PythonClaim {
    body: Arc<Body>,
    trial: Function,
    promise: Told,
    /// The false variants; none for a variant itself.
    variants: Vec<Variant>,
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
        self.body.parameters.bind(py).call1((object(py, params.as_json(), false)?,))
    }

    fn margin(&self, py: Python<'_>, margin: &Function, params: &Params) -> PyResult<f64> {
        let returned = margin.bind(py).call1((self.parameters(py, params)?,))?;
        let margin: f64 = returned.extract()?;
        let allowed = "must be a number, negative where it fails";
        if margin.is_nan() { Err(refused("margin of a hypothesis", &returned, allowed)) } else { Ok(margin) }
    }

    fn promised(&self, params: &Params) -> PyResult<Promise> {
        match &self.promise {
            Told::Fixed(promise) => Ok(*promise),
            Told::Called(function) => {
                Python::attach(|py| promise_of(&function.bind(py).call1((self.parameters(py, params)?,))?))
            }
        }
    }

    /// Calls the function on the streams of a trial, or of the first one of a block: (p, rng) or (p, rng, trials).
    fn outcomes(&self, py: Python<'_>, params: &Params, streams: &Streams) -> PyResult<Vec<Outcome>> {
        let rng = self.body.generator.bind(py).call1((Bound::new(py, Stream::open(py, streams, "trial", 0)?)?,))?;
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
        let mut made = locked(&self.made);
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
        let mutant = |v: &Variant| Mutant {
            name: v.name,
            claim: Arc::new(PythonClaim {
                body: self.body.clone(),
                trial: v.trial.clone(),
                promise: v.promise.clone(),
                variants: vec![],
                made: Mutex::default(),
            }),
            set: v.set.clone(),
            drawn_as: &self.body.sheet.id,
        };
        self.variants.iter().map(mutant).collect()
    }

    fn schema(&self) -> Schema {
        self.body.schema.clone()
    }

    /// Calls every function of the parameters once, so that what it raises ends the run before the first trial.
    fn validate(&self, params: &Params) -> Result<()> {
        // The function may have changed what it calls since the last run.
        *locked(&self.made) = None;
        Python::attach(|py| -> PyResult<()> {
            for (_, _, margin) in &self.body.hypotheses {
                self.margin(py, margin, params)?;
            }
            self.promised(params).map(|_| ())
        })
        .map_err(|e| kept(self.id(), e))
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        Python::attach(|py| {
            let hypothesis = |(name, printed, margin): &(&'static str, &'static str, Function)| {
                // `validate` has called it at these parameters; NaN does not hold.
                Hypothesis::new(name, printed, self.margin(py, margin, params).unwrap_or(f64::NAN))
            };
            self.body.hypotheses.iter().map(hypothesis).collect()
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
            let (returned, allowed) = match outcome {
                Outcome::Value { .. } if !about_means => {
                    ("a number", "must be a flag or a gap; only mean_in is about numbers. Write return bool(..)")
                }
                Outcome::Event { .. } | Outcome::Gap { .. } if about_means => {
                    ("a flag or a gap", "must be a number, whose mean mean_in is about. Write return float(..)")
                }
                _ => continue,
            };
            return Err(Error::invalid(format!("what the trial of {} returned", self.id()), returned, allowed));
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
