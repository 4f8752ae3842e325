//! What the claims of Lemma 2 share: all but the statement itself.

use super::aot_columns::{columns_spec, default_trials, memory, partial, validate};
use super::aot_setting::{Lemma, hypotheses_11, hypothesis_dim, mixture_schema};
use super::{
    Card, Claim, Computed, Discrepancy, Hypothesis, Mutant, Outcome, Params, Promise, Schema,
};
use crate::error::Result;
use crate::rng::Streams;
use crate::theory::{Bracket, Lemma2};

/// Default N: just above the 177 515 that (11) asks at K = 2.
pub(super) const TOKENS: u64 = 180_000;
/// Default p: above 16(√log N + 1)² = 321.
const DIM: u64 = 330;

/// One of the events of Lemma 2. Whatever implements it is a [`Claim`] under the lemma's
/// hypotheses, about sampled columns.
pub(super) trait Lemma2Event: Send + Sync {
    /// Columns that a trial looks at in each head by default.
    const COLUMNS: u64 = 8;

    /// See [`Claim::card`].
    fn card(&self) -> Card;

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

    /// See [`Claim::discrepancy`].
    fn discrepancy(&self) -> Option<Discrepancy> {
        None
    }
}

impl<E: Lemma2Event> Claim for E {
    fn card(&self) -> Card {
        Lemma2Event::card(self)
    }

    fn schema(&self) -> Schema {
        let mut schema = mixture_schema(TOKENS, 2, DIM);
        schema.push(columns_spec(E::COLUMNS));
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
        Promise::FailsAtMost(self.fails_at_most(params))
    }

    fn computed(&self, params: &Params) -> Option<Computed> {
        let lemma = Lemma2 {
            tokens: params.usize("tokens"),
            clusters: params.usize("clusters"),
            dim: params.usize("dim"),
            delta: params.f64("delta"),
        };
        let (failure, how) = self.failure(&lemma)?;
        Some(Computed { failure, how })
    }

    fn partial(&self, params: &Params) -> bool {
        partial(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        Lemma2Event::trial(self, params, streams)
    }

    fn default_trials(&self, params: &Params) -> u64 {
        default_trials(params)
    }

    fn memory(&self, params: &Params) -> u64 {
        Lemma2Event::memory(self, params)
    }

    fn mutants(&self) -> Vec<Mutant> {
        Lemma2Event::mutants(self)
    }

    fn discrepancy(&self) -> Option<Discrepancy> {
        Lemma2Event::discrepancy(self)
    }
}
