//! Evidence of a check: the judgement of its informative trials, its p-value, and what it could have seen.

use super::{Claim, Judgement, Outcome, Params, Promise, Verdict, VerdictKind};
use attnlab_core::error::Result;
use attnlab_core::format::number;
use attnlab_core::stats::Estimate;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Informative trials without which no claim is supported, unless its own default is fewer: with 8 that hold,
/// the 95 % interval excludes that more than 37 % fail.
pub const LEAST_TRIALS: u64 = 8;

/// Smallest α that is tried for a p-value where there is no closed form for it.
const SMALLEST_ALPHA: f64 = 1e-12;

/// Quantity that the trials of a claim estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimated {
    /// Share of the trials that hold.
    Share,
    /// Mean of the values of the trials.
    Mean,
    /// A quantity of the claim's own judgement.
    Other,
}

impl Estimated {
    /// Returns the quantity that the trials of `claim` estimate.
    pub fn by(claim: &dyn Claim, params: &Params) -> Self {
        match claim.promise(params) {
            Promise::MeanIn(..) => Estimated::Mean,
            _ if claim.counts_events(params) => Estimated::Share,
            _ => Estimated::Other,
        }
    }
}

/// Judgement of a check, with the numbers that a reader needs to weigh it.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The judgement of the informative trials.
    pub judgement: Judgement,
    /// Number of informative trials.
    pub informative: u64,
    /// Numbers of the other trials, by reason.
    pub uninformative: BTreeMap<String, u64>,
    /// p-value of the verdict: the least α = 1 − level at which the same trials decide. None where no level
    /// is involved: a computed verdict, or a promise about every trial.
    pub p_value: Option<f64>,
}

/// Judges the informative ones of the `outcomes` at this confidence `level`.
///
/// Too few of them to support the claim ([`Claim::least_trials`]), or so few that are all equal, give an inconclusive
/// verdict, or a failed one where computations failed.
///
/// # Errors
/// As [`Claim::judge`], numerical failures aside, which give the verdict failed.
pub fn weigh(claim: &dyn Claim, params: &Params, outcomes: &[Outcome], level: f64) -> Result<Evidence> {
    let informative = informative(outcomes);
    let judge = |outcomes: &[Outcome]| claim.judge(params, outcomes, level);
    let mut evidence = weigh_informative(claim, params, outcomes, &informative, &judge)?;
    if evidence.informative > 0 {
        evidence.p_value = p_value(claim, params, &evidence.judgement, &informative, level)?;
    }
    Ok(evidence)
}

/// The same with another rule of judgement, and without a p-value: for trials whose number was not fixed beforehand.
///
/// # Errors
/// As `judge`, numerical failures aside.
pub fn weigh_with(
    claim: &dyn Claim,
    params: &Params,
    outcomes: &[Outcome],
    judge: &dyn Fn(&[Outcome]) -> Result<Judgement>,
) -> Result<Evidence> {
    weigh_informative(claim, params, outcomes, &informative(outcomes), judge)
}

/// [`weigh_with`], given the informative ones of the outcomes too.
fn weigh_informative(
    claim: &dyn Claim,
    params: &Params,
    outcomes: &[Outcome],
    informative: &[Outcome],
    judge: &dyn Fn(&[Outcome]) -> Result<Judgement>,
) -> Result<Evidence> {
    let (mut reasons, mut broken) = (BTreeMap::new(), None);
    for outcome in outcomes {
        if let Outcome::Uninformative { reason, numerical, .. } = outcome {
            *reasons.entry(reason.clone()).or_insert(0) += 1;
            broken = broken.or(numerical.then(|| reason.clone()));
        }
    }
    let trials = informative.len() as u64;
    let judged = if informative.is_empty() { Ok(undecided()) } else { judge(informative) };
    let mut judgement = match judged {
        Err(e) if e.is_numerical() => Judgement { verdict: Verdict::Failed { why: e.to_string() }, ..undecided() },
        // One value has no interval.
        Err(_) if trials < 2 && outcomes.len() >= 2 => undecided(),
        judgement => judgement?,
    };
    let least = claim.least_trials(params);
    let sampled = judgement.estimate.level < 1.0;
    let promised = claim.promise(params);
    let always = matches!(judgement.verdict, Verdict::Supported) && promised == Promise::Always;
    if sampled && trials < least && (always || has_no_spread(claim, params, &judgement)) {
        judgement.verdict = Verdict::Inconclusive { trials_needed: Some(least) };
    }
    let supports = matches!(judgement.verdict, Verdict::Supported);
    let decided = supports || matches!(judgement.verdict, Verdict::Refuted { .. });
    if decided && sampled && !claim.side(params).decides(supports, promised) {
        judgement.verdict = Verdict::Inconclusive { trials_needed: None };
    }
    let open = matches!(judgement.verdict, Verdict::Inconclusive { .. });
    if let Some(why) = broken.filter(|_| open && trials < least) {
        judgement.verdict = Verdict::Failed { why };
    }
    Ok(Evidence { judgement, informative: trials, uninformative: reasons, p_value: None })
}

/// Returns the informative outcomes, in their order; a copy only where there are others.
fn informative(outcomes: &[Outcome]) -> Cow<'_, [Outcome]> {
    if outcomes.iter().all(Outcome::is_informative) {
        return outcomes.into();
    }
    outcomes.iter().filter(|o| o.is_informative()).cloned().collect()
}

/// Returns the judgement of no informative trial.
fn undecided() -> Judgement {
    Judgement {
        verdict: Verdict::Inconclusive { trials_needed: None },
        estimate: Estimate { value: f64::NAN, low: f64::NAN, high: f64::NAN, level: 0.0 },
        failures: 0,
    }
}

/// Computes the p-value of a judgement: in closed form where the claim has one, otherwise by bisection over
/// the level. For an inconclusive verdict it is the least α at which the trials would decide.
///
/// # Errors
/// As [`Claim::judge`].
fn p_value(
    claim: &dyn Claim,
    params: &Params,
    judgement: &Judgement,
    outcomes: &[Outcome],
    level: f64,
) -> Result<Option<f64>> {
    let kind = judgement.verdict.kind();
    let decided = matches!(kind, VerdictKind::Supported | VerdictKind::Refuted);
    let open = kind == VerdictKind::Inconclusive;
    let levelled = claim.promise(params) != Promise::Always || !claim.counts_events(params);
    let sampled = judgement.estimate.level > 0.0 && judgement.estimate.level < 1.0;
    if !(decided || open) || !sampled || !levelled || open && has_no_spread(claim, params, judgement) {
        return Ok(None);
    }
    if let Some(p) = claim.least_alpha(params, judgement, outcomes.len() as u64)? {
        return Ok(Some(p));
    }
    let decides = |alpha: f64| -> Result<bool> {
        let verdict = claim.judge(params, outcomes, 1.0 - alpha)?.verdict.kind();
        // Trials on one side decide in one direction only. Open, they have a p-value all the same: an
        // adjustment for multiplicity that counts the decided ones alone keeps no level.
        let may = |supports| claim.side(params).decides(supports, claim.promise(params));
        Ok(match verdict {
            _ if decided => verdict == kind,
            VerdictKind::Supported => may(true),
            VerdictKind::Refuted => may(false),
            _ => false,
        })
    };
    least_alpha(decides, decided, 1.0 - level).map(Some)
}

/// Returns `true` if all measured values are equal. A few equal ones, as two counts often are, say nothing of how others
/// would scatter: their interval is a point.
fn has_no_spread(claim: &dyn Claim, params: &Params, judgement: &Judgement) -> bool {
    let Estimate { low, high, .. } = judgement.estimate;
    !claim.counts_events(params) && low == high
}

/// Finds the least α at which `decides`, to three digits; `now` says whether α = `start` does.
fn least_alpha(decides: impl Fn(f64) -> Result<bool>, now: bool, start: f64) -> Result<f64> {
    // The intervals are nested: what decides at one α decides at every larger one.
    const LARGEST_ALPHA: f64 = 1.0 - 1e-9;
    let (mut low, mut high) = if now { (SMALLEST_ALPHA, start) } else { (start, LARGEST_ALPHA) };
    if now && decides(low)? {
        return Ok(low);
    }
    if !now && !decides(high)? {
        return Ok(1.0);
    }
    while high / low > 1.001 {
        let middle = (low * high).sqrt();
        if decides(middle)? { high = middle } else { low = middle }
    }
    Ok(high)
}

/// Says what the check could have seen, in one sentence; empty for a verdict that rests on no trial. The promise is
/// None for a claim that is judged by another estimate than a share or a mean.
pub fn reach(promise: Option<Promise>, evidence: &Evidence) -> String {
    let Evidence { judgement: Judgement { verdict, estimate: e, failures }, informative, .. } = evidence;
    let percent = |share: f64| format!("{} %", number(rounded(100.0 * share)));
    let level = percent(e.level);
    let failing = || format!("{} to {} of all draws", percent(1.0 - e.high), percent(1.0 - e.low));
    match (verdict.kind(), promise) {
        _ if *informative == 0 => String::new(),
        (VerdictKind::Supported | VerdictKind::Refuted, _) if e.level >= 1.0 => {
            "computed: no number of trials enters".into()
        }
        (_, Some(Promise::MeanIn(..))) => {
            format!("the mean is known to within {} ({level})", number(rounded(0.5 * (e.high - e.low))))
        }
        (_, None) => format!(
            "the estimate is known to within {} ({level})",
            // An end may be cut off at that of the range.
            number(rounded((e.high - e.value).max(e.value - e.low)))
        ),
        (_, Some(Promise::Always)) if *failures == 0 => {
            format!("no counter-example in {informative} draws: at most {} fail ({level})", percent(1.0 - e.low))
        }
        (_, Some(Promise::Always)) => {
            format!("{failures} of {informative} draws are counter-examples: {} ({level})", failing())
        }
        _ => format!("{failures} of {informative} draws failed: {} do ({level})", failing()),
    }
}

/// Rounds to two significant digits.
fn rounded(x: f64) -> f64 {
    format!("{x:.1e}").parse().unwrap_or(x)
}
