//! From outcomes to verdicts. Monte Carlo never verifies: it supports, refutes or is inconclusive.

use super::{Computed, Outcome, Promise, Side, Witness};
use attnlab_core::error::{Error, Result};
use attnlab_core::named;
use attnlab_core::stats::{Estimate, binomial, binomial_cdf, mean, t_quantile, t_tail, trials_for_lower_bound};
use serde::{Deserialize, Serialize};

/// A verdict without its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// The interval lies inside what the statement promises.
    Supported,
    /// A counter-example, or an interval outside what the statement promises.
    Refuted,
    /// The interval reaches both sides.
    Inconclusive,
    /// A hypothesis fails at these parameters: the statement says nothing there.
    OutOfScope,
    /// The statement promises nothing: a probability of at least 0, say.
    Vacuous,
    /// Computations failed in so many trials that too few are left to judge.
    Failed,
}

named!(VerdictKind, "verdict": Supported = "supported", Refuted = "refuted", Inconclusive = "inconclusive",
    OutOfScope = "out-of-scope", Vacuous = "vacuous", Failed = "failed");

impl VerdictKind {
    /// Returns the definition, for the glossary.
    pub fn definition(self) -> &'static str {
        match self {
            VerdictKind::Supported => {
                "no trial contradicts the statement and the interval lies inside what it promises, or a \
                 closed form decides for it; never \"proved\""
            }
            VerdictKind::Refuted => {
                "a counter-example was found, or the interval lies outside what the statement promises, or \
                 a closed form decides against it; the witness shows how"
            }
            VerdictKind::Inconclusive => {
                "the interval reaches both sides of what the statement promises, or too few trials inform \
                 about it: more trials are needed"
            }
            VerdictKind::OutOfScope => {
                "a hypothesis of the statement fails at these parameters, so that it says nothing there; \
                 --beyond-hypotheses judges all the same"
            }
            VerdictKind::Vacuous => {
                "the statement promises nothing at these parameters: a probability of at least 0, say"
            }
            VerdictKind::Failed => {
                "computations failed in so many trials that too few are left to judge: a limit of the \
                 program, which says nothing about the statement"
            }
        }
    }
}

/// A verdict with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// See [`VerdictKind::Supported`].
    Supported,
    /// See [`VerdictKind::Refuted`].
    Refuted {
        /// The counter-example.
        witness: Witness,
    },
    /// See [`VerdictKind::Inconclusive`].
    Inconclusive {
        /// Number of trials after which an answer can be expected; None where no number suffices.
        trials_needed: Option<u64>,
    },
    /// See [`VerdictKind::OutOfScope`].
    OutOfScope {
        /// The hypotheses that fail.
        hypotheses: Vec<&'static str>,
    },
    /// See [`VerdictKind::Vacuous`].
    Vacuous {
        /// Reason why the statement promises nothing.
        why: String,
    },
    /// See [`VerdictKind::Failed`].
    Failed {
        /// Message of the first failed computation.
        why: String,
    },
}

impl Verdict {
    /// Returns the verdict without its evidence.
    pub fn kind(&self) -> VerdictKind {
        match self {
            Verdict::Supported => VerdictKind::Supported,
            Verdict::Refuted { .. } => VerdictKind::Refuted,
            Verdict::Inconclusive { .. } => VerdictKind::Inconclusive,
            Verdict::OutOfScope { .. } => VerdictKind::OutOfScope,
            Verdict::Vacuous { .. } => VerdictKind::Vacuous,
            Verdict::Failed { .. } => VerdictKind::Failed,
        }
    }
}

/// A verdict, the estimate behind it and the number of failed trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Estimate of the probability that a trial holds, or of the mean of the values.
    pub estimate: Estimate,
    /// Number of failed trials.
    pub failures: u64,
}

/// Judges the outcomes by the promise of the statement, without a closed form.
///
/// # Errors
/// When there are too few or too many outcomes for an exact interval.
pub fn judge(promise: Promise, outcomes: &[Outcome], level: f64) -> Result<Judgement> {
    judge_with(promise, None, false, outcomes, level)
}

/// Judges the outcomes by the promise of the statement, together with a closed form for its failure probability.
///
/// Many printed probabilities, such as 1 - 4K/N², are far beyond any number of trials. For those a
/// claim computes a bracket of its failure probability, which needs no trials, and the simulation
/// guards against an error in the derivation. With the promise that at most a share ε fails:
///
/// 1. ε ≥ 1 promises nothing: vacuous.
/// 2. The interval of the trials lies below 1 - ε: refuted by simulation, whatever was computed.
///    When trials see only a `partial` statement this is sound too, since the whole fails more often.
/// 3. Trials and bracket exclude each other at this level: inconclusive, and the witness says so.
/// 4. The upper end of the bracket is at most ε: supported. The lower end is above ε: refuted. The
///    estimate is then 1 minus the bracket, with level 1: it is computed, not sampled.
/// 5. The bracket reaches both sides, or there is none: the interval of the trials decides, except
///    that holding on a part never supports the whole.
///
/// # Errors
/// When there are too few or too many outcomes for an exact interval.
pub fn judge_with(
    promise: Promise,
    computed: Option<Computed>,
    partial: bool,
    outcomes: &[Outcome],
    level: f64,
) -> Result<Judgement> {
    let Promise::MeanIn(low, high) = promise else {
        return judge_share(promise, computed, partial, outcomes, &|held, trials| binomial(held, trials, level));
    };
    let value = |o: &Outcome| match o {
        Outcome::Value { value, .. } => *value,
        _ => f64::NAN,
    };
    let values: Vec<f64> = outcomes.iter().map(value).collect();
    Ok(judge_estimate(low, high, mean(&values, level)?, values.len()))
}

/// Function from the number of trials that hold and the number of all trials to the interval of the
/// probability that a trial holds.
pub type Interval<'a> = &'a dyn Fn(u64, u64) -> Result<Estimate>;

/// Judges a claim by another interval than that of a fixed number of trials: a
/// [confidence sequence](attnlab_core::stats::Sequence), where a stopping rule chose the number of trials.
/// The claim must be one that [counts events](super::Claim::counts_events).
///
/// # Errors
/// When there is no interval, or the outcomes are not events.
pub fn judge_events(
    claim: &dyn super::Claim,
    params: &super::Params,
    outcomes: &[Outcome],
    interval: Interval,
) -> Result<Judgement> {
    let promise = claim.promise(params);
    if let Promise::MeanIn(..) = promise {
        return Err(Error::undefined(format!("{} predicts a mean, not a probability", claim.sheet().id)));
    }
    judge_share(promise, claim.computed(params), claim.partial(params), outcomes, interval)
}

/// Returns the verdict of the closed form alone; None where it does not decide.
pub fn foreseen(promise: Promise, computed: Option<Computed>) -> Option<VerdictKind> {
    let rate = promise.failure_rate()?;
    if rate >= 1.0 {
        return Some(VerdictKind::Vacuous);
    }
    match computed?.failure {
        failure if failure.high <= rate => Some(VerdictKind::Supported),
        failure if failure.low > rate => Some(VerdictKind::Refuted),
        _ => None,
    }
}

/// Returns `true` if this interval of the probability that a trial holds, or a closed form, decides a claim that
/// [counts events](super::Claim::counts_events). A promise about every trial is only ever refuted before the last.
pub fn is_decided(claim: &dyn super::Claim, params: &super::Params, interval: Estimate) -> bool {
    let promise = claim.promise(params);
    let apart = |least: f64| interval.high < least || !claim.partial(params) && interval.low >= least;
    let by_trials = match promise {
        Promise::Always => interval.value < 1.0,
        Promise::AtLeast(q) => apart(q),
        Promise::FailsAtMost(rate) => apart(1.0 - rate),
        Promise::MeanIn(..) => false,
    };
    by_trials && claim.side(params) == Side::Exact || foreseen(promise, claim.computed(params)).is_some()
}

/// Computes the p-value of a verdict, not adjusted for multiplicity: the least α = 1 - level at which the same trials
/// give the same verdict, twice the smaller tail as in the intervals. None where the verdict does not depend on the
/// level: it was computed, a single trial decides it, or it is neither supported nor refuted.
///
/// # Errors
/// When a distribution function cannot be evaluated.
pub fn least_alpha(promise: Promise, judgement: &Judgement, trials: u64) -> Result<Option<f64>> {
    let e = &judgement.estimate;
    let supported = match judgement.verdict.kind() {
        VerdictKind::Supported => true,
        VerdictKind::Refuted => false,
        _ => return Ok(None),
    };
    // A level of 1 marks what was computed, not sampled.
    if e.level >= 1.0 {
        return Ok(None);
    }
    let Promise::MeanIn(low, high) = promise else {
        return promise.failure_rate().map(|rate| rate_alpha(rate, judgement, trials, supported)).transpose();
    };
    let inside = (e.value - low).min(high - e.value);
    let far = if supported { inside } else { -inside };
    let half = 0.5 * (e.high - e.low);
    if half == 0.0 {
        return Ok(Some(0.0));
    }
    let freedom = trials.saturating_sub(1) as f64;
    let error = half / t_quantile(freedom, 0.5 + e.level / 2.0)?;
    Ok(Some((2.0 * t_tail(freedom, far / error)?).min(1.0)))
}

/// Computes twice the tail beyond the promised failure rate.
fn rate_alpha(rate: f64, judgement: &Judgement, trials: u64, supported: bool) -> Result<f64> {
    let failures = judgement.failures.min(trials);
    let tail = if supported {
        binomial_cdf(failures, trials, rate)?
    } else if failures == 0 {
        1.0
    } else {
        // P(at least as many failures), by the successes so that small tails keep their digits.
        binomial_cdf(trials - failures, trials, 1.0 - rate)?
    };
    Ok((2.0 * tail).min(1.0))
}

fn failed(outcome: &&Outcome) -> bool {
    outcome.holds() != Some(true)
}

/// Returns the witness of the failed gap that is farthest over its line, with the distance; that of the first failed
/// outcome where none is a gap.
fn worst(outcomes: &[Outcome]) -> Witness {
    let mut farthest: Option<(&Outcome, f64)> = None;
    for outcome in outcomes.iter().filter(failed) {
        let excess = outcome.excess().unwrap_or(f64::NEG_INFINITY);
        if farthest.is_none_or(|(_, most)| excess > most) {
            farthest = Some((outcome, excess));
        }
    }
    let Some((outcome, excess)) = farthest else { return Witness::new() };
    let mut witness = outcome.witness().clone();
    if excess.is_finite() {
        witness.insert("over_by".into(), excess.into());
    }
    witness
}

/// Judges a promise about the share of trials that hold, of all of them too.
fn judge_share(
    promise: Promise,
    computed: Option<Computed>,
    partial: bool,
    outcomes: &[Outcome],
    interval: Interval,
) -> Result<Judgement> {
    let trials = outcomes.len() as u64;
    let failures = outcomes.iter().filter(failed).count() as u64;
    let sampled = interval(trials - failures, trials)?;
    let with = |verdict, estimate| Ok(Judgement { verdict, estimate, failures });
    let Some(rate) = promise.failure_rate() else {
        let refuted = || Verdict::Refuted { witness: worst(outcomes) };
        return with(if failures > 0 { refuted() } else { Verdict::Supported }, sampled);
    };
    if rate >= 1.0 {
        let why = format!("it promises a probability of at least {:.3}", 1.0 - rate);
        return with(Verdict::Vacuous { why }, sampled);
    }
    if sampled.high < 1.0 - rate {
        return with(Verdict::Refuted { witness: worst(outcomes) }, sampled);
    }
    if let Some(failure) = computed.map(|c| c.failure) {
        let more = sampled.high < 1.0 - failure.high;
        let fewer = !partial && sampled.low > 1.0 - failure.low;
        let value = 1.0 - 0.5 * (failure.low + failure.high);
        let exact = Estimate { value, low: 1.0 - failure.high, high: 1.0 - failure.low, level: 1.0 };
        match foreseen(promise, computed) {
            // Either a rare fluctuation or a mistake in the closed form: neither verdict is justified.
            _ if more || fewer => return with(Verdict::Inconclusive { trials_needed: None }, sampled),
            Some(VerdictKind::Supported) => return with(Verdict::Supported, exact),
            Some(VerdictKind::Refuted) => {
                let mut witness = worst(outcomes);
                witness.insert("failure_probability_at_least".into(), failure.low.into());
                witness.insert("promised_at_most".into(), rate.into());
                return with(Verdict::Refuted { witness }, exact);
            }
            _ => (),
        }
    }
    let verdict = if !partial && sampled.low >= 1.0 - rate {
        Verdict::Supported
    } else {
        let trials_needed = if partial { None } else { trials_for_lower_bound(1.0 - rate, sampled.level) };
        Verdict::Inconclusive { trials_needed }
    };
    with(verdict, sampled)
}

/// Judges an estimate from `trials` trials whose true value is promised to lie in [low, high]. The number of
/// trials needed for an answer assumes that the interval shrinks as 1/√trials.
pub fn judge_estimate(low: f64, high: f64, estimate: Estimate, trials: usize) -> Judgement {
    let verdict = if estimate.low >= low && estimate.high <= high {
        Verdict::Supported
    } else if estimate.low > high || estimate.high < low {
        Verdict::Refuted { witness: crate::witness! { "mean" => estimate.value } }
    } else {
        // The half-width must fit between the estimate and the nearer boundary.
        let room = (estimate.value - low).abs().min((high - estimate.value).abs());
        let half = (estimate.high - estimate.low) / 2.0;
        let needed = (trials as f64 * (half / room).powi(2)).ceil();
        let trials_needed = needed.is_finite().then_some(needed as u64);
        Verdict::Inconclusive { trials_needed }
    };
    Judgement { verdict, estimate, failures: 0 }
}

#[cfg(test)]
mod tests;
