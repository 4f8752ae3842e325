//! Tests of the rules of judgement.

use super::*;
use attnlab_core::bracket::Bracket;

fn outcomes(held: usize, failed: usize) -> Vec<Outcome> {
    let event = |holds| Outcome::Event { holds, witness: Witness::new() };
    [vec![event(true); held], vec![event(false); failed]].concat()
}

fn verdict(rate: f64, bracket: Option<(f64, f64)>, partial: bool, held: usize, failed: usize) -> VerdictKind {
    let computed = bracket.map(|(low, high)| Computed { failure: Bracket { low, high }, how: "test" });
    judge_with(Promise::FailsAtMost(rate), computed, partial, &outcomes(held, failed), 0.95).unwrap().verdict.kind()
}

#[test]
fn a_closed_form_decides_what_trials_cannot() {
    use VerdictKind::*;
    assert_eq!(verdict(1e-9, None, false, 40, 0), Inconclusive);
    assert_eq!(verdict(1e-9, Some((0.0, 1e-10)), true, 40, 0), Supported);
    assert_eq!(verdict(1e-9, Some((2e-9, 3e-9)), true, 40, 0), Refuted);
    assert_eq!(verdict(1e-9, Some((0.0, 1e-3)), true, 40, 0), Inconclusive);
    assert_eq!(verdict(1.0, Some((0.0, 1e-10)), true, 40, 0), Vacuous);
}

#[test]
fn trials_that_contradict_the_closed_form_are_not_overruled() {
    use VerdictKind::*;
    // Half of the trials fail: that refutes 1e-9 whatever the closed form says.
    assert_eq!(verdict(1e-9, Some((0.0, 1e-10)), true, 20, 20), Refuted);
    // They do not exclude the promised .6, but they do exclude the computed 1e-3.
    assert_eq!(verdict(0.6, Some((0.0, 1e-3)), false, 20, 20), Inconclusive);
    // A whole trial that never fails excludes a computed failure probability of .5 ...
    assert_eq!(verdict(0.1, Some((0.5, 0.6)), false, 40, 0), Inconclusive);
    // ... a partial one does not: the part may well hold.
    assert_eq!(verdict(0.1, Some((0.5, 0.6)), true, 40, 0), Refuted);
}

#[test]
fn holding_on_a_part_does_not_support_the_whole() {
    use VerdictKind::*;
    assert_eq!(verdict(0.2, None, false, 40, 0), Supported);
    assert_eq!(verdict(0.2, None, true, 40, 0), Inconclusive);
    assert_eq!(verdict(0.2, None, true, 0, 40), Refuted);
}

/// The least α is where the verdict flips: a little above it stands, a little below it does not.
#[test]
fn the_least_alpha_is_where_the_verdict_flips() {
    let values = |mean: f64| -> Vec<Outcome> {
        let outcome = |i: i32| Outcome::Value { value: mean + 0.1 * f64::from(i % 7 - 3), witness: Witness::new() };
        (0..30).map(outcome).collect()
    };
    let cases = [
        (Promise::AtLeast(0.8), outcomes(40, 0)),
        (Promise::AtLeast(0.7), outcomes(38, 2)),
        (Promise::FailsAtMost(0.1), outcomes(20, 9)),
        (Promise::MeanIn(0.0, 1.0), values(0.9)),
        (Promise::MeanIn(0.0, 1.0), values(1.2)),
    ];
    for (promise, outcomes) in cases {
        let judged = |level: f64| judge(promise, &outcomes, level).unwrap();
        let judgement = judged(0.9);
        let alpha = least_alpha(promise, &judgement, outcomes.len() as u64).unwrap().unwrap();
        assert!(alpha > 0.0 && alpha < 0.1, "{promise:?}: {alpha}");
        let kind = |level| judged(level).verdict.kind();
        assert_eq!(kind(1.0 - 1.001 * alpha), judgement.verdict.kind(), "{promise:?}");
        assert_eq!(kind(1.0 - 0.999 * alpha), VerdictKind::Inconclusive, "{promise:?}");
    }
    let judgement = judge(Promise::Always, &outcomes(3, 0), 0.95).unwrap();
    assert_eq!(least_alpha(Promise::Always, &judgement, 3).unwrap(), None);
}

#[test]
fn a_computed_estimate_says_that_it_is_computed() {
    let computed = Some(Computed { failure: Bracket { low: 0.0, high: 0.25 }, how: "test" });
    let e = judge_with(Promise::AtLeast(0.5), computed, true, &outcomes(9, 0), 0.95).unwrap().estimate;
    assert_eq!((e.low, e.high, e.level), (0.75, 1.0, 1.0));
}
