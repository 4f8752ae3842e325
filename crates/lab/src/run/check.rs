//! Check of one claim at one set of parameters, from hypotheses to verdict.

use super::watch::Watch;
use super::{Progress, decide, memory, schedule, time};
use crate::claim::evidence::{self, Evidence};
use crate::claim::{Claim, Hypothesis, Judgement, Kind, Outcome, Params, Promise, Verdict, VerdictKind, Witness};
use attnlab_core::clock::Instant;
use attnlab_core::error::{Error, Result, require};
use attnlab_core::format::pairs;
use attnlab_core::rng::Streams;
use attnlab_core::stats::{Estimate, MAX_TRIALS, validate_level};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Options of [`check()`].
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Seed of every stream.
    pub seed: u64,
    /// Number of trials, under `until_decided` that of the first look; the claim's own default when None.
    pub trials: Option<u64>,
    /// Confidence level of the interval.
    pub level: f64,
    /// Flag: the claim is judged even if a hypothesis fails.
    pub beyond_hypotheses: bool,
    /// Id whose random streams the trials draw from; the claim's own when None. See
    /// [`Mutant::drawn_as`](crate::claim::Mutant::drawn_as).
    pub drawn_as: Option<&'static str>,
    /// Flag: an inconclusive check goes on with twice the trials, up to 128 times; the levels of its looks share the
    /// error.
    pub until_decided: bool,
}

impl Default for CheckOptions {
    /// Returns seed 0, the claim's default number of trials, level 0.95, inside the hypotheses.
    fn default() -> Self {
        CheckOptions {
            seed: 0,
            trials: None,
            level: 0.95,
            beyond_hypotheses: false,
            drawn_as: None,
            until_decided: false,
        }
    }
}

/// Result of [`check()`]: one JSON object per claim and line.
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
    /// Flag: a failed hypothesis was ignored on request.
    pub beyond_hypotheses: bool,
    /// Kind of statement.
    pub kind: Kind,
    /// Number of trials.
    pub trials: u64,
    /// Trials that did not hold.
    pub failures: u64,
    /// The estimate.
    pub estimate: Estimate,
    /// The verdict.
    pub verdict: VerdictKind,
    /// The verdict that we expected.
    pub expected: VerdictKind,
    /// Evidence, by verdict: counter-example, failed hypotheses, trials needed or reason.
    pub witness: Witness,
    /// Promise of the statement at these parameters, in words.
    pub promise: String,
    /// Reason of the tolerance or band within which it is judged, and its largest value in the trials.
    pub tolerance: Option<String>,
    /// p-value of the verdict: the least 1 − level at which the same trials decide. None where no level is involved.
    pub p_value: Option<f64>,
    /// Number of informative trials.
    pub informative: u64,
    /// Numbers of the other trials, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub uninformative: BTreeMap<String, u64>,
    /// Smallest deviation that the trials could have seen, in words.
    pub reach: String,
    /// Numbers of trials after which it looked, until decided; empty for a number fixed beforehand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<u64>,
    /// Seed of every stream.
    pub seed: u64,
    /// Wall-clock time in seconds.
    pub wall_s: f64,
    /// Version of attnlab.
    pub version: &'static str,
}

impl CheckReport {
    /// Returns `true` if the verdict is the expected one.
    pub fn as_expected(&self) -> bool {
        self.verdict == self.expected
    }

    /// Returns the confidence level that was asked for; 1 for a verdict by a closed form.
    pub fn level(&self) -> f64 {
        match self.looks.len() {
            0 => self.estimate.level,
            k => decide::level_of_check(self.estimate.level, k).min(1.0),
        }
    }

    /// Says in words when a check that goes on until it decides has looked; None for a fixed number of trials.
    pub fn stopping(&self) -> Option<String> {
        let looks: Vec<String> = self.looks.iter().map(u64::to_string).collect();
        let text = format!(
            "until decided: looked after {} trials, look k at the level 1 - α/(k(k+1)), so that all looks together err \
             with probability at most α",
            looks.join(", ")
        );
        (!looks.is_empty()).then_some(text)
    }

    /// Says in words how many trials ran, and how many of them were uninformative, with the reasons.
    pub fn counted(&self) -> String {
        if self.uninformative.is_empty() {
            return self.trials.to_string();
        }
        let reasons = self.uninformative.iter().map(|(reason, count)| format!("{count} × {reason}"));
        let reasons = reasons.collect::<Vec<_>>().join("; ");
        format!("{}, {} of them informative ({reasons})", self.trials, self.informative)
    }
}

/// Checks one claim at the parameters that the user `set`.
///
/// # Errors
/// Unknown or invalid parameters, zero trials, or parameters that cannot be simulated.
///
/// ```
/// use attnlab_lab::{claim::VerdictKind, run::{check, CheckOptions, Silent}, toy};
/// let report = check(&*toy::fair_coin(), &Default::default(), &CheckOptions::default(), &Silent)?;
/// assert_eq!(report.verdict, VerdictKind::Supported);
/// let few = CheckOptions { trials: Some(50), until_decided: true, ..CheckOptions::default() };
/// let report = check(&*toy::fair_coin(), &Default::default(), &few, &Silent)?;
/// assert_eq!(report.verdict, VerdictKind::Supported);
/// assert!(report.trials > 50);
/// # Ok::<(), attnlab_core::Error>(())
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
    let trials = options.trials.unwrap_or_else(|| claim.default_trials(&params));
    // Refused before the work begins: beyond this number there is no exact interval.
    let allowed = format!("must be a whole number from 1 to {MAX_TRIALS}");
    require((1..=MAX_TRIALS).contains(&trials), "trials", trials, allowed)?;
    let seconds = claim.seconds(&params);
    time::ensure(trials, seconds)?;
    time::announce(&claim.sheet().id, trials, seconds, progress);
    let (outcomes, assessment, looks) = match options.until_decided {
        false => {
            let outcomes = outcomes(claim, &params, options, 0..trials, progress)?;
            let weighed = evidence::weigh(claim, &params, &outcomes, options.level)?;
            let assessment = assess(claim, &params, &outcomes, weighed, options.beyond_hypotheses);
            (outcomes, assessment, vec![])
        }
        true => decided(claim, &params, options, trials, progress)?,
    };
    let sheet = claim.sheet();
    Ok(CheckReport {
        claim: sheet.id.clone(),
        source: sheet.source(),
        parameters: params.as_json().clone(),
        hypotheses: assessment.hypotheses,
        beyond_hypotheses: options.beyond_hypotheses,
        kind: sheet.kind,
        trials: outcomes.len() as u64,
        failures: assessment.failures,
        estimate: assessment.estimate,
        verdict: assessment.verdict,
        expected: assessment.expected,
        witness: assessment.witness,
        promise: claim.promised(&params),
        tolerance: tolerance(sheet.tolerance.as_deref(), &outcomes),
        p_value: assessment.p_value,
        informative: assessment.informative,
        uninformative: assessment.uninformative,
        reach: assessment.reach,
        looks,
        seed: options.seed,
        wall_s: started.elapsed().as_secs_f64(),
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// Runs trials until they decide, at first `first` of them, and returns them with the judgement and the looks.
fn decided(
    claim: &dyn Claim,
    params: &Params,
    options: &CheckOptions,
    first: u64,
    progress: &dyn Progress,
) -> Result<(Vec<Outcome>, Assessment, Vec<u64>)> {
    let mut looks = decide::looks(first);
    let (mut drawn, mut k) = (vec![], 0);
    loop {
        k += 1;
        drawn.extend(outcomes(claim, params, options, drawn.len() as u64..looks[k - 1], progress)?);
        let judge = |outcomes: &[Outcome]| claim.judge(params, outcomes, decide::level_of_look(options.level, k));
        let weighed = evidence::weigh_with(claim, params, &drawn, &judge)?;
        let assessment = assess(claim, params, &drawn, weighed, options.beyond_hypotheses);
        if k == looks.len() || assessment.verdict != VerdictKind::Inconclusive {
            looks.truncate(k);
            return Ok((drawn, assessment, looks));
        }
    }
}

/// Judgement together with the hypotheses and the closed form.
#[derive(Clone, Debug, Serialize)]
pub struct Assessment {
    /// The printed hypotheses with their margins.
    pub hypotheses: Vec<Hypothesis>,
    /// Trials that did not hold.
    pub failures: u64,
    /// The estimate.
    pub estimate: Estimate,
    /// The verdict.
    pub verdict: VerdictKind,
    /// The verdict that we expected.
    pub expected: VerdictKind,
    /// Counter-example, failed hypotheses, trials needed or reason, by verdict.
    pub witness: Witness,
    /// p-value of the verdict; see [`CheckReport::p_value`].
    pub p_value: Option<f64>,
    /// Number of informative trials.
    pub informative: u64,
    /// Numbers of the other trials, by reason.
    pub uninformative: BTreeMap<String, u64>,
    /// Smallest deviation that the trials could have seen, in words.
    pub reach: String,
}

/// Combines the hypotheses with the evidence of `outcomes`: the verdict is out-of-scope if a hypothesis
/// fails and `beyond_hypotheses` is not set.
pub fn assess(
    claim: &dyn Claim,
    params: &Params,
    outcomes: &[Outcome],
    weighed: Evidence,
    beyond_hypotheses: bool,
) -> Assessment {
    let promise = claim.promise(params);
    let by_own_rule = !matches!(promise, Promise::MeanIn(..)) && !claim.counts_events(params);
    let reach = evidence::reach((!by_own_rule).then_some(promise), &weighed);
    let Evidence { judgement: Judgement { verdict, estimate, failures }, informative, uninformative, p_value } =
        weighed;
    let hypotheses = claim.hypotheses(params);
    let failed: Vec<_> = hypotheses.iter().filter(|h| !h.holds).map(|h| h.name).collect();
    let (verdict, expected) = if failed.is_empty() || beyond_hypotheses {
        (verdict, claim.expected(params))
    } else {
        (Verdict::OutOfScope { hypotheses: failed }, VerdictKind::OutOfScope)
    };
    let (verdict, mut witness) = (verdict.kind(), witness(verdict, outcomes));
    if let Some(computed) = claim.computed(params) {
        witness.insert("computed_failure_probability".into(), json!([computed.failure.low, computed.failure.high]));
        witness.insert("computed_by".into(), computed.how.into());
    }
    Assessment {
        hypotheses,
        failures,
        estimate,
        verdict,
        expected,
        witness,
        p_value,
        informative,
        uninformative,
        reach,
    }
}

/// Runs one trial. A computation that fails gives an uninformative outcome.
///
/// # Errors
/// Those of [`Claim::trial`] that are not numerical.
pub fn trial(claim: &dyn Claim, params: &Params, streams: &Streams) -> Result<Outcome> {
    match claim.trial(params, streams) {
        Err(e) if e.is_numerical() => Ok(Outcome::failed(&e)),
        outcome => outcome,
    }
}

/// Adds the settings to an error that names none of them but a value that the trial has computed, such as a time that has
/// overflowed. One that names the claim has said where it happened.
fn with_settings(error: Error, id: &str, params: &Params) -> Error {
    match &error {
        Error::Invalid { name, .. }
            if name != id && !params.as_json().contains_key(name.split('[').next().unwrap_or(name)) =>
        {
            Error::undefined(format!("{id} ({}): {error}", pairs(params.as_json())))
        }
        _ => error,
    }
}

/// Says within what the trials are judged: the largest tolerance among them, and its reason.
fn tolerance(reason: Option<&str>, outcomes: &[Outcome]) -> Option<String> {
    let tolerance = |o: &Outcome| match o {
        Outcome::Gap { tol, .. } => Some(*tol),
        _ => None,
    };
    let largest = outcomes.iter().filter_map(tolerance).fold(0.0, f64::max);
    match (largest, reason) {
        (0.0, reason) => reason.map(String::from),
        (largest, None) => Some(format!("at most {largest:.1e}")),
        (largest, Some(reason)) => Some(format!("at most {largest:.1e}: {reason}")),
    }
}

/// Runs the trials of these numbers. The outcomes are in their order, independently of the threads.
///
/// # Errors
/// The first error of a trial; [`Error::Stopped`] when the user has asked to stop.
pub fn outcomes(
    claim: &dyn Claim,
    params: &Params,
    options: &CheckOptions,
    numbers: Range<u64>,
    progress: &dyn Progress,
) -> Result<Vec<Outcome>> {
    let id = claim.sheet().id.as_str();
    let (first, trials) = (numbers.start, numbers.end - numbers.start);
    let slots: Vec<OnceLock<Outcome>> = (0..trials).map(|_| OnceLock::new()).collect();
    let drawn_as = options.drawn_as.unwrap_or(id);
    let (cell, bytes) = (params.cell(), claim.memory(params));
    progress.start(id, trials);
    let done_so_far = AtomicU64::new(0);
    let (watch, settings) = (Watch::new(id, trials, progress), pairs(params.as_json()));
    let done = schedule::for_each(
        &numbers.collect::<Vec<u64>>(),
        |_| bytes,
        |number| {
            if progress.stopped() {
                let done = done_so_far.load(Ordering::Relaxed);
                return Err(Error::Stopped { done, all: trials, what: "trials", kept: false });
            }
            let streams = Streams::new(options.seed, drawn_as, cell, *number);
            let outcome = watch.trial(*number, &settings, || trial(claim, params, &streams));
            let outcome = outcome.map_err(|e| with_settings(e, id, params))?;
            // Every trial is done once, so the slot is empty.
            let _ = slots[(*number - first) as usize].set(outcome);
            done_so_far.fetch_add(1, Ordering::Relaxed);
            progress.advance(1);
            Ok(())
        },
    );
    progress.finish();
    done?;
    Ok(slots.into_iter().filter_map(OnceLock::into_inner).collect())
}

/// Returns the named values behind a verdict; out of scope, those of a trial.
fn witness(verdict: Verdict, outcomes: &[Outcome]) -> Witness {
    let of_trial = || {
        let failing = outcomes.iter().find(|o| o.holds() == Some(false));
        failing.or(outcomes.first()).map(|o| o.witness().clone()).unwrap_or_default()
    };
    let of_trial_with = |name: &str, value: Value| {
        let mut witness = of_trial();
        witness.insert(name.into(), value);
        witness
    };
    match verdict {
        Verdict::Refuted { witness } => witness,
        Verdict::OutOfScope { hypotheses } => of_trial_with("failed_hypotheses", hypotheses.into()),
        Verdict::Inconclusive { trials_needed } => of_trial_with("trials_needed", trials_needed.into()),
        Verdict::Vacuous { why } | Verdict::Failed { why } => crate::witness! { "why" => why },
        Verdict::Supported => of_trial(),
    }
}
