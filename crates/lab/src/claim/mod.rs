//! Claims: printed statements that a simulation can support or refute.
//!
//! A [`Claim`] is a [`Sheet`] (statement, source and expected verdict) and a
//! [`trial`](Claim::trial). Trials give [`Outcome`]s, and [`judge`](verdict::judge) turns them into a
//! [`Verdict`] that always comes with an interval. Each claim ships with [mutants](Mutant): false
//! variants that the check must refute, as evidence that the check can fail.

mod arrays;
mod checked;
pub mod docs;
pub mod evidence;
mod outcome;
mod paper;
mod sheet;
mod variants;
pub mod verdict;

pub use arrays::{ArraySpec, Arrays, Case, OnArrays};
pub use attnlab_core::bracket::Bracket;
pub use attnlab_core::params::{self, Domain, Params, Quantity, Schema, Spec, Word};
pub use checked::CheckedAt;
pub use outcome::{Outcome, Promise, Relation, Side, Witness};
pub use paper::Paper;
pub use sheet::{Discrepancy, Kind, Sheet, Source, Variant};
pub use variants::variants;
pub use verdict::{Judgement, Verdict, VerdictKind};

use attnlab_core::error::{Error, Result};
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
    /// Flag: the hypothesis holds, that is, `margin` ≥ 0.
    pub holds: bool,
}

impl Hypothesis {
    /// Creates a hypothesis that holds when `margin` ≥ 0.
    pub fn new(name: &'static str, printed: &'static str, margin: f64) -> Self {
        Hypothesis { name, printed, margin, holds: margin >= 0.0 }
    }
}

/// Bracket of the probability that a statement fails, from exact tails that are combined by independence,
/// a union bound or second moments. It is deterministic and does not depend on the trials;
/// [`verdict::judge_with`] defines its part in the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Computed {
    /// Interval that contains the failure probability of the whole statement.
    pub failure: Bracket,
    /// Derivation in one line.
    pub how: &'static str,
}

/// A false variant of a claim: the same trial with other constants, which the check must refute. Its
/// sentence stands in the sheet, under "Mutants".
#[derive(Clone)]
pub struct Mutant {
    /// Short name, unique within the claim.
    pub name: &'static str,
    /// The variant.
    pub claim: Arc<dyn Claim>,
    /// Parameters at which the default number of trials refutes it.
    pub set: Vec<(&'static str, Value)>,
    /// Id whose random streams the trials draw from: that of the claim, or the [`draws`](Sheet::draws) of its sheet.
    pub drawn_as: &'static str,
}

impl Mutant {
    /// Creates a mutant that is judged at the claim's default parameters.
    pub fn new(name: &'static str, variant: impl Claim + 'static) -> Self {
        Mutant::of(name, Arc::new(variant))
    }

    fn of(name: &'static str, claim: Arc<dyn Claim>) -> Self {
        let sheet = claim.sheet();
        Mutant { name, drawn_as: sheet.draws.as_deref().unwrap_or(&sheet.id), claim, set: vec![] }
    }

    /// Sets the id whose random streams the trials draw from, so that a mutant that a printed claim and its
    /// corrected form share sees the same draws under both.
    pub fn drawn_as(mut self, id: &'static str) -> Self {
        self.drawn_as = id;
        self
    }

    /// Sets a parameter at which the mutant is judged.
    pub fn with<T>(mut self, quantity: Quantity<T>, value: impl Into<Value>) -> Self {
        self.set.push((quantity.name, value.into()));
        self
    }

    /// Returns the sentence of the variant, from the sheet.
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
    /// Returns source and statement: `sheet!("paper.name")` reads `sheets/paper.name.md` of the package at
    /// compile time; [`from_sheet!`](crate::from_sheet) defines this method and [`mutants`](Claim::mutants).
    fn sheet(&self) -> &'static Sheet;

    /// Runs one independent simulation. It must be a pure function of its arguments.
    ///
    /// # Errors
    /// When the parameters cannot be simulated.
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome>;

    /// Returns the false variants that the default number of trials must refute: [`variants(self)`](variants()) where
    /// the sheet gives their constants.
    fn mutants(&self) -> Vec<Mutant>;

    /// Returns the parameters that the claim takes.
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

    /// Returns the printed hypotheses at these parameters.
    fn hypotheses(&self, _params: &Params) -> Vec<Hypothesis> {
        vec![]
    }

    /// Returns the promise of the statement about the outcomes.
    fn promise(&self, _params: &Params) -> Promise {
        Promise::Always
    }

    /// Returns the closed form for the failure probability of the whole statement, if there is one.
    fn computed(&self, _params: &Params) -> Option<Computed> {
        None
    }

    /// Returns `true` if a trial checks only a part of the statement, such as some sampled columns. A trial
    /// that fails then refutes the whole statement; a trial that holds supports only the part.
    fn partial(&self, _params: &Params) -> bool {
        false
    }

    /// Returns the expected verdict at these parameters, inside the hypotheses: that of the closed form where
    /// it decides, otherwise that of the sheet.
    fn expected(&self, params: &Params) -> VerdictKind {
        verdict::foreseen(self.promise(params), self.computed(params)).unwrap_or(self.sheet().expected)
    }

    /// Returns the default number of trials: enough for the expected verdict.
    fn default_trials(&self, _params: &Params) -> u64 {
        40
    }

    /// Returns the number of informative trials without which the claim is not supported.
    fn least_trials(&self, params: &Params) -> u64 {
        self.default_trials(params).min(evidence::LEAST_TRIALS)
    }

    /// Returns the relation of what the trials estimate to the quantity that [`promise`](Claim::promise)
    /// bounds.
    fn side(&self, _params: &Params) -> Side {
        Side::Exact
    }

    /// Returns the promise in words, for a claim whose own [`judge`](Claim::judge) goes by something else than
    /// [`promise`](Claim::promise).
    fn promised(&self, params: &Params) -> String {
        self.promise(params).to_string()
    }

    /// Returns the peak memory of one trial in bytes, which limits the number of trials run in parallel.
    fn memory(&self, _params: &Params) -> u64 {
        0
    }

    /// Estimates the processor time of one trial on one core, in seconds; 0 if it is short at every setting.
    ///
    /// Within a factor of three is enough: an audit draws settings whose check is short, `attnlab check` says
    /// beforehand that one is long, and what would take a month is refused.
    fn seconds(&self, _params: &Params) -> f64 {
        0.0
    }

    /// Returns `true` if the default [`judge`](Claim::judge) decides by the share of trials that hold, so
    /// that a stopping rule may choose the number of trials. It must be `false` if `judge` is not the
    /// default; a test compares the two.
    fn counts_events(&self, params: &Params) -> bool {
        !matches!(self.promise(params), Promise::MeanIn(..))
    }

    /// Returns the identity of the trial's code, for a claim that is made while the program runs and is no part of its
    /// [build](crate::build). Rows of other code are then refused as those of another build.
    fn code(&self) -> Option<String> {
        None
    }

    /// Returns the arrays on which the statement can be judged in place of draws, for a claim about a layer; none for a
    /// statement about a law.
    fn takes(&self) -> &'static [ArraySpec] {
        &[]
    }

    /// Judges the statement on arrays of a user, those of [`takes`](Claim::takes): one outcome for each case, such as a
    /// query. Of the parameters those count that no array takes the place of. A hypothesis that fails on the arrays is
    /// an [uninformative](Outcome::Uninformative) case.
    ///
    /// # Errors
    /// Arrays whose shapes do not fit together, or on which the statement cannot be computed.
    fn on(&self, _params: &Params, _arrays: &Arrays) -> Result<Vec<Outcome>> {
        Err(Error::undefined(format!("{} takes arrays but does not judge them", self.sheet().id)))
    }

    /// Judges the outcomes. The default uses [`Claim::promise`], [`Claim::computed`] and [`Claim::partial`].
    ///
    /// # Errors
    /// When there are too few or too many outcomes for an exact interval.
    fn judge(&self, params: &Params, outcomes: &[Outcome], level: f64) -> Result<Judgement> {
        let (computed, partial) = (self.computed(params), self.partial(params));
        verdict::judge_with(self.promise(params), computed, partial, outcomes, level)
    }

    /// Returns the p-value of the verdict in closed form: the least α = 1 - level at which [`Claim::judge`] reaches
    /// the same verdict from the same trials or, where it is inconclusive, a verdict. None where the verdict does not
    /// depend on the level, or where there is no closed form: it is then found by bisection.
    ///
    /// # Errors
    /// When a distribution function cannot be evaluated.
    fn least_alpha(&self, params: &Params, judgement: &Judgement, trials: u64) -> Result<Option<f64>> {
        verdict::least_alpha(self.promise(params), judgement, trials)
    }
}

/// The claims of one type, for [`Room::claims`](crate::catalogue::Room::claims): `family([Lemma1::PRINTED, Lemma1::CORRECTED])`.
pub fn family<const N: usize>(claims: [impl Claim + 'static; N]) -> Vec<Arc<dyn Claim>> {
    claims.into_iter().map(|claim| Arc::new(claim) as Arc<dyn Claim>).collect()
}

impl std::fmt::Debug for dyn Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "claim {}", self.sheet().id)
    }
}
