//! Claims: printed statements that a simulation can support or refute.
//!
//! A [`Claim`] is a [`Sheet`] (what is printed where, and what we expect) and a
//! [`trial`](Claim::trial). Trials give [`Outcome`]s, and [`judge`](verdict::judge) turns them into a
//! [`Verdict`] that always comes with an interval. Each claim ships with [mutants](Mutant): false
//! variants that must come back refuted, or the check would be one that cannot fail.

pub mod docs;
mod outcome;
mod paper;
mod sheet;
pub mod verdict;

pub use attnlab_core::bracket::Bracket;
pub use attnlab_core::params::{self, Domain, Params, Quantity, Schema, Spec, Word};
pub use outcome::{Outcome, Promise, Relation, Witness};
pub use paper::Paper;
pub use sheet::{Discrepancy, Kind, Sheet, Source};
pub use verdict::{Judgement, Verdict, VerdictKind};

use attnlab_core::error::Result;
use attnlab_core::rng::Streams;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// A hypothesis of a claim, evaluated at given parameters.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Hypothesis {
    /// Short name.
    pub name: &'static str,
    /// The printed form.
    pub printed: &'static str,
    /// Signed distance to the boundary in the units of the printed form: negative means that it fails.
    pub margin: f64,
    /// Whether it holds.
    pub holds: bool,
}

impl Hypothesis {
    /// A hypothesis that holds when `margin` ≥ 0.
    pub fn new(name: &'static str, printed: &'static str, margin: f64) -> Self {
        Hypothesis {
            name,
            printed,
            margin,
            holds: margin >= 0.0,
        }
    }
}

/// Closed form for the probability that a statement fails, beside the simulation: exact
/// tails put together by independence, union bound or second moments. Deterministic, and valid
/// whatever the sample; see [`verdict::judge_with`] for how it enters the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Computed {
    /// The failure probability of the whole statement lies in this interval.
    pub failure: Bracket,
    /// How it was derived, in one line.
    pub how: &'static str,
}

/// A false variant of a claim: the same trial with other constants, which must come back refuted. Its
/// sentence stands in the sheet, under "Mutants".
#[derive(Clone)]
pub struct Mutant {
    /// Short name, unique within the claim.
    pub name: &'static str,
    /// The variant.
    pub claim: Arc<dyn Claim>,
    /// Parameters at which its falsehood shows within the default budget.
    pub set: Vec<(&'static str, Value)>,
    /// The id whose streams its trials draw from: the claim's own, unless a mutant is shared by a printed
    /// claim and its corrected form.
    pub drawn_as: &'static str,
}

impl Mutant {
    /// A mutant judged at the claim's default parameters.
    pub fn new(name: &'static str, variant: impl Claim + 'static) -> Self {
        Mutant {
            name,
            drawn_as: &variant.sheet().id,
            claim: Arc::new(variant),
            set: vec![],
        }
    }

    /// The same with the streams of another id: a mutant that a printed claim and its corrected form share
    /// sees the same draws under both.
    pub fn drawn_as(mut self, id: &'static str) -> Self {
        self.drawn_as = id;
        self
    }

    /// The same at another value of a parameter.
    pub fn with<T>(mut self, quantity: Quantity<T>, value: impl Into<Value>) -> Self {
        self.set.push((quantity.name, value.into()));
        self
    }

    /// The sentence of the variant, from the sheet.
    pub fn says(&self) -> &'static str {
        self.claim.sheet().mutant(self.name)
    }
}

/// One printed result.
///
/// # Requirements
/// [`sheet`](Claim::sheet), [`trial`](Claim::trial) and [`mutants`](Claim::mutants) are mandatory.
/// Unless the statement holds in every single trial, [`promise`](Claim::promise) too.
pub trait Claim: Send + Sync {
    /// Where it is printed and what it says: `sheet!("paper.name")` reads `sheets/paper.name.md` of the
    /// package at compile time.
    fn sheet(&self) -> &'static Sheet;

    /// One independent simulation, a pure function of its arguments.
    ///
    /// # Errors
    /// When the parameters cannot be simulated.
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome>;

    /// False variants that must be refuted within the default budget.
    fn mutants(&self) -> Vec<Mutant>;

    /// The parameters it takes.
    fn schema(&self) -> Schema {
        vec![]
    }

    /// Refuses parameters that are each in range but do not fit together.
    ///
    /// # Errors
    /// Names the parameter, its value and what is allowed.
    fn validate(&self, _params: &Params) -> Result<()> {
        Ok(())
    }

    /// The printed hypotheses at these parameters.
    fn hypotheses(&self, _params: &Params) -> Vec<Hypothesis> {
        vec![]
    }

    /// The promise of the statement about the outcomes.
    fn promise(&self, _params: &Params) -> Promise {
        Promise::Always
    }

    /// The closed form for the failure probability of the whole statement, if there is one.
    fn computed(&self, _params: &Params) -> Option<Computed> {
        None
    }

    /// Whether a trial looks at a part of the statement only, some sampled columns say. A trial
    /// that fails then fails the whole statement, but one that holds supports only the part.
    fn partial(&self, _params: &Params) -> bool {
        false
    }

    /// The verdict that we expect at these parameters, inside the hypotheses: what the closed form
    /// foresees where it decides, else the sheet's.
    fn expected(&self, params: &Params) -> VerdictKind {
        verdict::foreseen(self.promise(params), self.computed(params))
            .unwrap_or(self.sheet().expected)
    }

    /// Trials when the user does not say: enough for the expected verdict.
    fn default_trials(&self, _params: &Params) -> u64 {
        40
    }

    /// Bytes that one trial holds at its peak; the runner limits how many run at once by it.
    fn memory(&self, _params: &Params) -> u64 {
        0
    }

    /// Whether the verdict follows from how many trials held, by the default [`judge`](Claim::judge):
    /// then the number of trials may be left to a stopping rule. It must be false where `judge` is not
    /// the default; a test compares the two.
    fn counts_events(&self, params: &Params) -> bool {
        !matches!(self.promise(params), Promise::MeanIn(..))
    }

    /// From outcomes to verdict; the default follows [`Claim::promise`], [`Claim::computed`] and
    /// [`Claim::partial`].
    ///
    /// # Errors
    /// When there are too few or too many outcomes for an exact interval.
    fn judge(&self, params: &Params, outcomes: &[Outcome], level: f64) -> Result<Judgement> {
        let (computed, partial) = (self.computed(params), self.partial(params));
        verdict::judge_with(self.promise(params), computed, partial, outcomes, level)
    }

    /// The least α = 1 - level at which [`Claim::judge`] would reach the same verdict from the same
    /// trials, for the adjustment for multiplicity; None where the verdict does not depend on it.
    ///
    /// # Errors
    /// When a distribution function cannot be evaluated.
    fn least_alpha(
        &self,
        params: &Params,
        judgement: &Judgement,
        trials: u64,
    ) -> Result<Option<f64>> {
        verdict::least_alpha(self.promise(params), judgement, trials)
    }
}

impl std::fmt::Debug for dyn Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "claim {}", self.sheet().id)
    }
}
