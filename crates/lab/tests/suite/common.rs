//! Statements and outcomes that tests make themselves.

use attnlab_core::error::{Error, Result};
use attnlab_core::rng::Streams;
use attnlab_lab::claim::{Claim, Computed, Mutant, Outcome, Params, Promise, Sheet, Side, Witness};
use attnlab_lab::toy;

/// A statement with this promise, whose trials the tests draw themselves.
pub struct Statement {
    pub promise: Promise,
    pub side: Side,
    pub trials: u64,
    /// Bracket of the failure probability.
    pub computed: Option<Computed>,
    /// Flag: a trial sees a part of the statement.
    pub partial: bool,
}

impl Claim for Statement {
    fn sheet(&self) -> &'static Sheet {
        toy::fair_coin().sheet()
    }

    fn trial(&self, _: &Params, _: &Streams) -> Result<Outcome> {
        Err(Error::undefined("the tests draw the outcomes"))
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![]
    }

    fn promise(&self, _: &Params) -> Promise {
        self.promise
    }

    fn side(&self, _: &Params) -> Side {
        self.side
    }

    fn default_trials(&self, _: &Params) -> u64 {
        self.trials
    }

    fn computed(&self, _: &Params) -> Option<Computed> {
        self.computed
    }

    fn partial(&self, _: &Params) -> bool {
        self.partial
    }
}

pub const fn statement(promise: Promise, trials: u64) -> Statement {
    Statement { promise, side: Side::Exact, trials, computed: None, partial: false }
}

pub fn event(holds: bool) -> Outcome {
    Outcome::Event { holds, witness: Witness::new() }
}

pub fn value(value: f64) -> Outcome {
    Outcome::Value { value, witness: Witness::new() }
}

pub fn silent() -> Outcome {
    Outcome::uninformative("nothing moved", Witness::new())
}
