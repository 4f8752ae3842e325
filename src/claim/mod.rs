//! Claims: printed statements that a simulation can support or refute.
//!
//! A [`Claim`] has one mandatory piece of work, [`Claim::trial`]; its [`Card`] says where it is
//! printed and what we expect. Trials give [`Outcome`]s, and [`judge`](verdict::judge) turns them
//! into a [`Verdict`] that always comes with an interval. Each claim ships with mutants: false
//! variants that must come back refuted, or the check would be one that cannot fail.

pub mod docs;
mod outcome;
pub mod registry;
pub mod verdict;

pub mod aot_columns;
mod aot_eq35;
mod aot_horizon_law;
mod aot_lemma1;
mod aot_lemma2;
mod aot_lemma2_lengths;
mod aot_lemma2_maximum;
mod aot_lemma2_products;
mod aot_lemma2_weights;
mod aot_lemma3;
mod aot_mssa_is_mhsa;
pub mod aot_setting;
mod aot_softmax_rate;
mod aot_tau_interval;
mod aot_theorem1;
mod aot_theorem1_bounded;
mod denoise_any_beta;
mod denoise_clusters;
mod denoise_energy;
mod denoise_fig3;
mod denoise_fig6;
mod denoise_hopfield;
mod denoise_jacobian;
mod denoise_prop1;
mod denoise_prop2;
mod denoise_prop3;
mod denoise_prop4;
mod denoise_rate;
mod denoise_setting;
mod denoise_small_argument;
mod denoise_theorem3_1;
mod denoise_theorem3_2;
mod joma_embeddings;
mod joma_entropy;
mod joma_eq17;
mod joma_fig2;
mod joma_lemma1;
mod joma_lemma2;
mod joma_lemma3;
mod joma_setting;
mod joma_superposition;
mod joma_theorem1;
mod joma_theorem2;
mod joma_theorem3;
mod joma_theorem4;
mod joma_theorem4_linear;
mod joma_theorem5;
mod joma_tree;
mod lsa_empirical;
mod lsa_invariant;
mod lsa_limit;
mod lsa_local_minimum;
mod lsa_pl;
mod lsa_population_loss;
mod lsa_query_shift;
mod lsa_risk;
mod lsa_setting;
mod lsa_starts;
mod notes_attention;
mod notes_recipe;

pub use crate::params::{self, Domain, Params, Schema, Spec};
pub use outcome::{Outcome, Promise, Relation, Witness};
pub use verdict::{Judgement, Verdict, VerdictKind};

use crate::error::{Error, Result};
use crate::rng::Streams;
pub use crate::theory::Bracket;
use serde::Serialize;
use serde_json::Value;

/// The five papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// Attention-Only Transformers via Unrolled Subspace Denoising, the 2024 text.
    Aot2024,
    /// The same, ICML 2025 version.
    Aot2025,
    /// In-context denoising with one-layer transformers.
    Denoising,
    /// Lecture notes on transformers and linear attention.
    Notes,
    /// JoMA: joint MLP/attention dynamics.
    Joma,
}

impl Paper {
    /// Short citation.
    pub fn cite(self) -> &'static str {
        match self {
            Paper::Aot2024 => "Attention-Only Transformers via Unrolled Subspace Denoising (2024)",
            Paper::Aot2025 => {
                "Attention-Only Transformers via Unrolled Subspace Denoising (ICML 2025)"
            }
            Paper::Denoising => "In-Context Denoising with One-Layer Transformers",
            Paper::Notes => "Lecture notes: transformers and linear attention",
            Paper::Joma => "JoMA: Demystifying Multilayer Transformers via Joint Dynamics",
        }
    }
}

/// What kind of statement it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// "With probability at least q".
    Probability,
    /// Two things are equal.
    Identity,
    /// One thing is at most another.
    Bound,
    /// Something exists.
    Existence,
    /// A quantity has a predicted value or distribution.
    Law,
}

/// Where a claim is printed, what it says, and what we expect to find.
#[derive(Clone, Debug)]
pub struct Card {
    /// Identifier, "paper.name".
    pub id: &'static str,
    /// The paper.
    pub paper: Paper,
    /// Where in it: "Theorem 1, Eq. (8)".
    pub equation: &'static str,
    /// One line for lists.
    pub title: &'static str,
    /// The statement as printed, TeX between dollar signs.
    pub statement: &'static str,
    /// What kind of statement it is.
    pub kind: Kind,
    /// The verdict that we expect inside the hypotheses.
    pub expected: VerdictKind,
    /// The correct form, where the printed one fails or is loose, and why.
    pub corrected: Option<&'static str>,
}

impl Card {
    /// Paper and place in one line.
    pub fn source(&self) -> String {
        format!("{}, {}", self.paper.cite(), self.equation)
    }
}

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

/// What a proof says about the probability that a statement fails, beside the simulation: exact
/// tails put together by independence, union bound or second moments. Deterministic, and valid
/// whatever the sample; see [`verdict::judge_with`] for how it enters the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Computed {
    /// The failure probability of the whole statement lies in this interval.
    pub failure: Bracket,
    /// How it was derived, in one line.
    pub how: &'static str,
}

/// A printed statement that is wrong, meaningless or misprinted, for `docs/DISCREPANCIES.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discrepancy {
    /// What the print gets wrong.
    pub printed: &'static str,
    /// How that shows: numbers that the check prints.
    pub witness: &'static str,
    /// For which parameters it fails, and for which it does not.
    pub range: &'static str,
    /// What holds instead, and why.
    pub correction: &'static str,
}

/// A false variant of a claim, which must come back refuted.
pub struct Mutant {
    /// Short name, unique within the claim.
    pub name: &'static str,
    /// What the variant says.
    pub says: &'static str,
    /// The variant.
    pub claim: Box<dyn Claim>,
    /// Parameters at which its falsehood shows within the default budget.
    pub set: Vec<(&'static str, Value)>,
}

impl Mutant {
    /// A mutant judged at the claim's default parameters.
    pub fn new(name: &'static str, says: &'static str, claim: impl Claim + 'static) -> Self {
        Mutant {
            name,
            says,
            claim: Box::new(claim),
            set: vec![],
        }
    }

    /// The same at other parameters.
    pub fn at(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.set.push((name, value.into()));
        self
    }
}

/// One printed result.
///
/// # Requirements
/// [`card`](Claim::card), [`trial`](Claim::trial) and [`mutants`](Claim::mutants) are mandatory.
/// Unless the statement holds in every single trial, [`promise`](Claim::promise) too.
pub trait Claim: Send + Sync {
    /// Where it is printed and what it says.
    fn card(&self) -> Card;

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

    /// What the statement promises about the outcomes.
    fn promise(&self, _params: &Params) -> Promise {
        Promise::Always
    }

    /// What a proof says about the failure probability of the whole statement, if anything.
    fn computed(&self, _params: &Params) -> Option<Computed> {
        None
    }

    /// Whether a trial looks at a part of the statement only, some sampled columns say. A trial
    /// that fails then fails the whole statement, but one that holds supports only the part.
    fn partial(&self, _params: &Params) -> bool {
        false
    }

    /// What is wrong with the print, where something is.
    fn discrepancy(&self) -> Option<Discrepancy> {
        None
    }

    /// The verdict that we expect at these parameters, inside the hypotheses: what the closed form
    /// foresees where it decides, else the card's.
    fn expected(&self, params: &Params) -> VerdictKind {
        verdict::foreseen(self.promise(params), self.computed(params))
            .unwrap_or(self.card().expected)
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
    /// then the number of trials may be left to a stopping rule. To be false where `judge` is not
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
