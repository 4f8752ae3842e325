//! Evidence of trials: informative, uninformative and failed ones.

use crate::common::{Statement, event, silent, statement, value};
use attnlab_core::error::Error;
use attnlab_lab::claim::evidence::{LEAST_TRIALS, reach, weigh};
use attnlab_lab::claim::{Claim, Outcome, Params, Promise, Side, Verdict, VerdictKind};
use attnlab_lab::witness;

/// A statement about every trial, with the default number of trials of a claim.
const ALWAYS: Statement = statement(Promise::Always, 40);

fn broken() -> Outcome {
    Outcome::failed(&Error::diverged("the flow diverges"))
}

fn verdict(claim: &Statement, outcomes: &[Outcome]) -> VerdictKind {
    weigh(claim, &Params::default(), outcomes, 0.95).unwrap().judgement.verdict.kind()
}

#[test]
fn uninformative_trials_are_counted_and_never_for_or_against() {
    let outcomes = [vec![event(true); 20], vec![silent(); 30]].concat();
    let evidence = weigh(&ALWAYS, &Params::default(), &outcomes, 0.95).unwrap();
    assert_eq!(evidence.informative, 20);
    assert_eq!(evidence.uninformative["nothing moved"], 30);
    assert_eq!(evidence.judgement, weigh(&ALWAYS, &Params::default(), &outcomes[..20], 0.95).unwrap().judgement);
    // 1 - .025^(1/20)
    assert_eq!(reach(Some(Promise::Always), &evidence), "no counter-example in 20 draws: at most 17 % fail (95 %)");
}

#[test]
fn too_few_informative_trials_decide_nothing() {
    let mut outcomes = vec![event(true); LEAST_TRIALS as usize - 1];
    assert_eq!(verdict(&ALWAYS, &outcomes), VerdictKind::Inconclusive);
    outcomes.push(silent());
    assert_eq!(verdict(&ALWAYS, &outcomes), VerdictKind::Inconclusive);
    outcomes.push(broken());
    assert_eq!(verdict(&ALWAYS, &outcomes), VerdictKind::Failed);
    outcomes.push(event(true));
    assert_eq!(verdict(&ALWAYS, &outcomes), VerdictKind::Supported);
    // One counter-example is enough.
    assert_eq!(verdict(&ALWAYS, &[event(false), broken()]), VerdictKind::Refuted);
    assert_eq!(verdict(&ALWAYS, &[silent()]), VerdictKind::Inconclusive);
    let mean = Statement { promise: Promise::MeanIn(0.0, 1.0), ..ALWAYS };
    assert_eq!(verdict(&mean, &[value(0.5), silent()]), VerdictKind::Inconclusive);
}

#[test]
fn a_bound_decides_in_one_direction() {
    let at_most = |side| Statement { side, ..statement(Promise::MeanIn(f64::NEG_INFINITY, 1.0), 40) };
    let around = |x: f64| vec![value(x - 0.01), value(x), value(x + 0.01)];
    for (side, low, high) in [
        (Side::Exact, VerdictKind::Supported, VerdictKind::Refuted),
        (Side::UpperBound, VerdictKind::Supported, VerdictKind::Inconclusive),
        (Side::LowerBound, VerdictKind::Inconclusive, VerdictKind::Refuted),
    ] {
        assert_eq!(verdict(&at_most(side), &around(0.5)), low, "{side:?}");
        assert_eq!(verdict(&at_most(side), &around(2.0)), high, "{side:?}");
    }
}

#[test]
fn the_witness_is_the_worst_one() {
    let gap = |lhs: f64, name: &str| Outcome::at_most(lhs, 1.0, 0.5, witness! { "name" => name });
    let outcomes = [gap(1.6, "a hair over"), gap(4.0, "far over"), gap(0.0, "holds")];
    let evidence = weigh(&ALWAYS, &Params::default(), &outcomes, 0.95).unwrap();
    let Verdict::Refuted { witness } = evidence.judgement.verdict else {
        panic!("it is refuted");
    };
    assert_eq!(witness["name"], "far over");
    assert_eq!(witness["over_by"], 2.5);
}

/// By bisection and in closed form: binomial tails for shares, Student's for means.
#[test]
fn p_values_are_the_least_levels_at_which_the_trials_decide() {
    let share = Statement { promise: Promise::AtLeast(0.5), ..ALWAYS };
    let mean = Statement { promise: Promise::MeanIn(-1.0, 1.0), ..ALWAYS };
    let held_30 = [vec![event(true); 30], vec![event(false); 12]].concat();
    let values: Vec<Outcome> = (0..40).map(|i| value(0.7 + 0.05 * f64::from(i % 7))).collect();
    for (claim, outcomes) in [(&share, held_30), (&mean, values)] {
        let p = weigh(claim, &Params::default(), &outcomes, 0.95).unwrap().p_value.unwrap();
        let kind = |level: f64| claim.judge(&Params::default(), &outcomes, level).unwrap().verdict.kind();
        let (above, below) = (kind(1.0 - 1.01 * p), kind(1.0 - 0.99 * p));
        assert_ne!(above, VerdictKind::Inconclusive, "p = {p}");
        assert_eq!(below, VerdictKind::Inconclusive, "p = {p}");
    }
}
