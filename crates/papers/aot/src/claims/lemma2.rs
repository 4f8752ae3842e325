//! The part that the claims of Lemma 2 share: all but the statement itself.

use super::columns::{Column, Worst, default_trials, memory, partial, seconds, validate};
use super::setting::{Lemma, hypotheses_11, hypothesis_dim, mixture_schema};
use crate::quantities::*;
use crate::theory::Lemma2;
use attnlab_lab::prelude::*;

/// Default N: just above the 177 515 that (11) asks at K = 2.
pub(super) const DEFAULT_TOKENS: u64 = 180_000;
/// Default p: above 16(√log N + 1)² = 321.
const DEFAULT_DIM: u64 = 330;

/// One of the events of Lemma 2; [`Event`] makes a claim of it.
pub(super) trait Lemma2Event: Send + Sync {
    /// Columns that a trial looks at in each head by default.
    fn default_columns(&self) -> u64 {
        8
    }

    /// See [`Claim::sheet`].
    fn sheet(&self) -> &'static Sheet;

    /// The printed bound on the probability that the event fails.
    fn fails_at_most(&self, params: &Params) -> f64;

    /// The same probability from the closed forms, and how; None for a mutant, which has none.
    fn failure(&self, lemma: &Lemma2) -> Option<(Bracket, &'static str)>;

    /// See [`Claim::trial`].
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome>;

    /// See [`Claim::mutants`].
    fn mutants(&self) -> Vec<Mutant>;

    /// See [`Claim::memory`].
    fn memory(&self, params: &Params) -> u64 {
        memory(params)
    }

    /// See [`Claim::seconds`].
    fn seconds(&self, params: &Params) -> f64 {
        seconds(params)
    }
}

/// One of the inequalities (12) to (19), column by column.
pub(super) trait ColumnEvent: Send + Sync {
    /// Number of the equation.
    fn equation(&self) -> &'static str;

    /// Largest value that the inequality allows.
    fn limit(&self, params: &Params) -> f64;

    /// Records what the inequality bounds, in a column of any token; a column that it does not concern is
    /// passed over.
    fn record(&self, params: &Params, column: &Column, worst: &mut Worst);

    /// Returns the closed form of its failure probability.
    fn bracket(&self, lemma: &Lemma2) -> Bracket;
}

/// The claim that an event has its printed probability under the lemma's hypotheses, about sampled
/// columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event<E>(pub(super) E);

impl<E: Lemma2Event> Claim for Event<E> {
    fn sheet(&self) -> &'static Sheet {
        self.0.sheet()
    }

    fn schema(&self) -> Schema {
        let mut schema = mixture_schema(DEFAULT_TOKENS, 2, DEFAULT_DIM);
        schema.push(COLUMNS.or(self.0.default_columns()));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let mut all = hypotheses_11(params);
        all.push(hypothesis_dim(params, Lemma::Two));
        all
    }

    fn promise(&self, params: &Params) -> Promise {
        Promise::FailsAtMost(self.0.fails_at_most(params))
    }

    fn computed(&self, params: &Params) -> Option<Computed> {
        let lemma = Lemma2 {
            tokens: params.get(TOKENS),
            clusters: params.get(CLUSTERS),
            dim: params.get(DIM),
            delta: params.get(DELTA),
        };
        let (failure, how) = self.0.failure(&lemma)?;
        Some(Computed { failure, how })
    }

    fn partial(&self, params: &Params) -> bool {
        partial(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        self.0.trial(params, streams)
    }

    fn default_trials(&self, params: &Params) -> u64 {
        default_trials(params)
    }

    fn memory(&self, params: &Params) -> u64 {
        self.0.memory(params)
    }

    fn seconds(&self, params: &Params) -> f64 {
        self.0.seconds(params)
    }

    fn mutants(&self) -> Vec<Mutant> {
        self.0.mutants()
    }
}
