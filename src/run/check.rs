//! `check`: one claim at one set of parameters, from hypotheses to verdict.

use super::{Progress, memory};
use crate::claim::{Claim, Hypothesis, Kind, Outcome, Params, Verdict, VerdictKind, Witness};
use crate::error::{Error, Result};
use crate::rng::Streams;
use crate::stats::{Estimate, MAX_TRIALS, validate_level};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::time::Instant;

/// Trials that together hold more than this run one after the other, so that a check at the
/// theorem's own scale stays under 3 GB.
const PARALLEL_MEMORY: u64 = 1 << 30;

/// How to check.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Seed of every stream.
    pub seed: u64,
    /// Number of trials; the claim's own default when None.
    pub trials: Option<u64>,
    /// Confidence level of the interval.
    pub level: f64,
    /// Judge even where a hypothesis fails.
    pub beyond_hypotheses: bool,
}

impl Default for CheckOptions {
    /// Seed 0, the claim's own budget, 95 %, inside the hypotheses.
    fn default() -> Self {
        CheckOptions {
            seed: 0,
            trials: None,
            level: 0.95,
            beyond_hypotheses: false,
        }
    }
}

/// What `check` found: one JSON object per claim and line.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// Identifier of the claim.
    pub claim: String,
    /// Paper and place.
    pub source: String,
    /// Every parameter, set or default.
    pub parameters: Map<String, Value>,
    /// The printed hypotheses with their margins.
    pub hypotheses: Vec<Hypothesis>,
    /// Whether a failed hypothesis was ignored on request.
    pub beyond_hypotheses: bool,
    /// Kind of statement.
    pub kind: Kind,
    /// Number of trials.
    pub trials: u64,
    /// Trials that did not hold.
    pub failures: u64,
    /// What was estimated.
    pub estimate: Estimate,
    /// The verdict.
    pub verdict: VerdictKind,
    /// The verdict that we expected.
    pub expected: VerdictKind,
    /// Counter-example, failed hypotheses, trials needed or reason, by verdict.
    pub witness: Witness,
    /// Seed of every stream.
    pub seed: u64,
    /// Wall-clock time in seconds.
    pub wall_s: f64,
    /// Version of attnlab.
    pub version: &'static str,
}

impl CheckReport {
    /// Whether the verdict is the expected one.
    pub fn as_expected(&self) -> bool {
        self.verdict == self.expected
    }
}

/// Checks one claim at the parameters that the user `set`.
///
/// # Errors
/// Unknown or invalid parameters, zero trials, or parameters that cannot be simulated.
///
/// ```
/// use attnlab::{claim::{registry, VerdictKind}, run::{check, CheckOptions, Silent}};
/// let claim = registry::find("aot.mssa_is_mhsa")?;
/// let report = check(&*claim, &Default::default(), &CheckOptions::default(), &Silent)?;
/// assert_eq!(report.verdict, VerdictKind::Supported);
/// # Ok::<(), attnlab::Error>(())
/// ```
pub fn check(
    claim: &dyn Claim,
    set: &Map<String, Value>,
    options: &CheckOptions,
    progress: &dyn Progress,
) -> Result<CheckReport> {
    let started = Instant::now();
    validate_level(options.level)?;
    let params = Params::resolve(&claim.schema(), set)?;
    memory::ensure("one trial", claim.memory(&params))?;
    claim.validate(&params)?;
    let trials = options
        .trials
        .unwrap_or_else(|| claim.default_trials(&params));
    if trials == 0 || trials > MAX_TRIALS {
        // Refused before the work, not after it: no exact interval exists beyond.
        let allowed = format!("a whole number from 1 to {MAX_TRIALS}");
        return Err(Error::invalid("trials", trials, allowed));
    }
    let outcomes = outcomes(claim, &params, options.seed, trials, progress)?;
    let judgement = claim.judge(&params, &outcomes, options.level)?;

    let hypotheses = claim.hypotheses(&params);
    let failed: Vec<_> = hypotheses
        .iter()
        .filter(|h| !h.holds)
        .map(|h| h.name)
        .collect();
    let out = !failed.is_empty() && !options.beyond_hypotheses;
    let verdict = if out {
        Verdict::OutOfScope { hypotheses: failed }
    } else {
        judgement.verdict
    };
    let expected = if out {
        VerdictKind::OutOfScope
    } else {
        claim.expected(&params)
    };
    let card = claim.card();
    let mut witness = evidence(verdict.clone(), &outcomes);
    if let Some(computed) = claim.computed(&params) {
        witness.insert(
            "computed_failure_probability".into(),
            json!([computed.failure.low, computed.failure.high]),
        );
        witness.insert("computed_by".into(), computed.how.into());
    }
    Ok(CheckReport {
        claim: card.id.to_string(),
        source: card.source(),
        parameters: params.as_json().clone(),
        hypotheses,
        beyond_hypotheses: options.beyond_hypotheses,
        kind: card.kind,
        trials,
        failures: judgement.failures,
        estimate: judgement.estimate,
        verdict: verdict.kind(),
        expected,
        witness,
        seed: options.seed,
        wall_s: started.elapsed().as_secs_f64(),
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// Runs trials 0..trials; the order of the outcomes is that of the trials, whatever the threads.
///
/// # Errors
/// The first error of a trial.
pub fn outcomes(
    claim: &dyn Claim,
    params: &Params,
    seed: u64,
    trials: u64,
    progress: &dyn Progress,
) -> Result<Vec<Outcome>> {
    let id = claim.card().id;
    let one = |trial: u64| {
        let outcome = claim.trial(params, &Streams::new(seed, id, params.cell(), trial));
        progress.advance(1);
        outcome
    };
    progress.start(id, trials);
    let together = claim
        .memory(params)
        .saturating_mul(rayon::current_num_threads() as u64);
    let outcomes = if together > PARALLEL_MEMORY {
        (0..trials).map(one).collect()
    } else {
        (0..trials).into_par_iter().map(one).collect()
    };
    progress.finish();
    outcomes
}

/// What stands behind a verdict, as named values. Out of scope, still what was seen.
fn evidence(verdict: Verdict, outcomes: &[Outcome]) -> Witness {
    let seen = || {
        let failing = outcomes.iter().find(|o| o.holds() == Some(false));
        failing
            .or(outcomes.first())
            .map(|o| o.witness().clone())
            .unwrap_or_default()
    };
    match verdict {
        Verdict::Refuted { witness } => witness,
        Verdict::OutOfScope { hypotheses } => {
            let mut witness = seen();
            witness.insert("failed_hypotheses".into(), hypotheses.into());
            witness
        }
        Verdict::Inconclusive { trials_needed } => {
            let mut witness = seen();
            witness.insert("trials_needed".into(), trials_needed.into());
            witness
        }
        Verdict::Vacuous { why } => crate::witness! { "why" => why },
        Verdict::Supported => seen(),
    }
}
