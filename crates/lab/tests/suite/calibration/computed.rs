//! Calibration of the rules that join trials with a closed form, of trials that see a part of a statement, and of
//! cells whose number of trials a stopping rule chose.

use super::{Bound, LEVEL, assert_rate, each, events, rng, weighed};
use crate::common::{Statement, statement};
use attnlab_core::bracket::Bracket;
use attnlab_core::stats::{Sequence, binomial};
use attnlab_lab::claim::evidence::weigh_with;
use attnlab_lab::claim::verdict::judge_events;
use attnlab_lab::claim::{Computed, Params, Promise, VerdictKind};
use attnlab_lab::run::{CheckOptions, Silent, check};
use attnlab_lab::sweep::{Stop, Until};
use attnlab_lab::toy;

/// Simulations of every case: standard error .003 at .025, .004 at .05.
const RUNS: u64 = 3000;

/// One half of α, which each direction of a decision may use.
const HALF: f64 = 0.5 * (1.0 - LEVEL);

/// A promise that at most a share `rate` fails, whose failure probability was computed to lie in [low, high].
fn computed(rate: f64, trials: u64, low: f64, high: f64) -> Statement {
    let failure = Bracket::new(low, high);
    let how = "given by the test";
    Statement { computed: Some(Computed { failure, how }), ..statement(Promise::FailsAtMost(rate), trials) }
}

/// Shares of the verdicts on a claim whose trials fail with probability `fails`.
fn assert_verdicts(name: &str, claim: &Statement, fails: f64, bounds: &[Bound]) {
    let name = format!("{name}, {fails} of {} fail", claim.trials);
    let draw = |run| events(claim.trials, fails, &mut rng(&name, run));
    super::assert_verdicts(&name, claim, RUNS, draw, bounds);
}

/// A bracket that reaches both sides of the promise leaves the decision to the trials, with the level of the trials
/// alone: at the boundary each verdict is given in at most half of α.
#[test]
fn a_bracket_that_does_not_decide_keeps_the_level() {
    for (n, rate) in [(40, 0.2), (200, 0.1), (200, 0.5)] {
        for width in [0.2, 0.9] {
            let claim = computed(rate, n, rate * (1.0 - width), rate * (1.0 + width));
            assert_verdicts("undecided bracket", &claim, rate, &each(HALF));
        }
    }
}

/// A valid bracket that decides is overruled in at most α of the checks, in half of α on each side, and the other
/// verdict is given in at most half of α. The brackets are points, where the trials exclude them most often.
#[test]
fn a_right_bracket_is_rarely_overruled() {
    for (n, fails, rate, right) in [
        (40, 0.1, 0.1, VerdictKind::Supported),
        (200, 0.1, 0.15, VerdictKind::Supported),
        (200, 0.5, 0.500_001, VerdictKind::Supported),
        (40, 0.1, 0.099_999, VerdictKind::Refuted),
        (200, 0.1, 0.05, VerdictKind::Refuted),
    ] {
        let claim = computed(rate, n, fails, fails);
        let opposite = match right {
            VerdictKind::Supported => VerdictKind::Refuted,
            _ => VerdictKind::Supported,
        };
        let bounds: [Bound; 2] = [(2.0 * HALF, &|k| k != right), (HALF, &|k| k == opposite)];
        assert_verdicts("right bracket", &claim, fails, &bounds);
    }
}

/// An error in a derivation: the closed form says "supported" or "refuted" and the truth is far on the other side. The
/// trials are the guard: the wrong verdict is given in at most a thousandth of the checks.
#[test]
fn trials_uncover_a_wrong_bracket() {
    for (n, fails, rate, (low, high), wrong) in [
        (40, 0.4, 0.05, (0.0, 0.01), VerdictKind::Supported),
        (40, 0.02, 0.3, (0.35, 0.4), VerdictKind::Refuted),
        (40, 0.4, 0.6, (0.9, 1.0), VerdictKind::Refuted),
    ] {
        let claim = computed(rate, n, low, high);
        assert_verdicts("wrong bracket", &claim, fails, &[(0.001, &|k| k == wrong)]);
    }
}

/// Trials that see a part fail less often than the whole. They never support, and where the part itself fails as often
/// as is promised they refute in at most half of α.
#[test]
fn a_part_refutes_at_its_level_and_never_supports() {
    for (n, rate) in [(40, 0.2), (200, 0.1)] {
        let claim = Statement { partial: true, ..statement(Promise::FailsAtMost(rate), n) };
        for part in [0.0, 0.5 * rate, rate] {
            let bounds: [Bound; 2] = [(HALF, &|k| k == VerdictKind::Refuted), (0.0, &|k| k == VerdictKind::Supported)];
            assert_verdicts("part", &claim, part, &bounds);
        }
        // And they do refute where the part fails much more often.
        assert_verdicts("part", &claim, 3.0 * rate, &[(0.01, &|k| k != VerdictKind::Refuted)]);
    }
}

/// With a closed form for the whole, a part that fails more rarely contradicts nothing: the bracket decides in all but
/// half of α of the checks, also where no trial fails.
#[test]
fn a_part_does_not_overrule_the_whole() {
    let whole = |rate, low, high| Statement { partial: true, ..computed(rate, 60, low, high) };
    for (claim, right) in [(whole(0.5, 0.3, 0.4), VerdictKind::Supported), (whole(0.2, 0.3, 0.4), VerdictKind::Refuted)]
    {
        assert_verdicts("no failure of a part", &claim, 0.0, &[(0.0, &|k| k != right)]);
        for part in [0.1, 0.4] {
            assert_verdicts("part of the whole", &claim, part, &[(HALF, &|k| k != right)]);
        }
    }
}

/// A cell that stops as soon as its interval is short enough, at the boundary of the promise: either verdict, at
/// whatever number of trials, in at most α of the cells. The interval of a fixed number of trials, used after each look
/// instead, gives one in far more: the test would see it.
#[test]
fn stopping_keeps_the_level() {
    const MOST: u64 = 600;
    let rate = 0.1;
    let claim = statement(Promise::FailsAtMost(rate), MOST);
    let stop = Stop { until: Until::Width(0.1), every: 20 };
    let params = Params::default();
    let sequence = Sequence::new(LEVEL).unwrap();
    let by_sequence = |held, trials| sequence.interval(held, trials);
    let decided = |drawn: &[_]| {
        let judge = |some: &[_]| judge_events(&claim, &params, some, &by_sequence);
        let kind = weigh_with(&claim, &params, drawn, &judge).unwrap().judgement.verdict.kind();
        matches!(kind, VerdictKind::Supported | VerdictKind::Refuted)
    };
    let looks = || (stop.every..=MOST).step_by(stop.every as usize);
    assert_rate("stopped cells", 1.0 - LEVEL, 1000, |run| {
        let drawn = events(MOST, rate, &mut rng("stopped", run));
        let enough = |n: &u64| {
            let held = drawn[..*n as usize].iter().filter(|o| o.holds() == Some(true));
            stop.enough(&claim, &params, (held.count() as u64, *n), LEVEL).unwrap()
        };
        let n = looks().find(enough).unwrap_or(MOST);
        decided(&drawn[..n as usize])
    });
    assert_rate("looks at every 20 trials", 1.0 - LEVEL, 1000, |run| {
        let drawn = events(MOST, rate, &mut rng("looks", run));
        looks().any(|n| decided(&drawn[..n as usize]))
    });
    let fixed = (0..300).filter(|run| {
        let drawn = events(MOST, rate, &mut rng("looks", *run));
        looks().any(|n| weighed(&claim, &drawn[..n as usize]).decided())
    });
    let share = fixed.count() as f64 / 300.0;
    assert!(share > 0.1, "fixed intervals at every look: {share}");
}

/// A check that goes on until it decides, of a coin at the boundary of its promise: either verdict, at whatever look,
/// in at most α of the checks. Looks that all have the whole level decide in far more: the test would see it.
#[test]
fn going_on_until_decided_keeps_the_level() {
    const FIRST: u64 = 50;
    let coin = toy::fair_coin();
    let set = serde_json::json!({"heads": 0.55}).as_object().unwrap().clone();
    let decides = |seed: u64, trials: u64, until_decided: bool| {
        let options = CheckOptions { seed, trials: Some(trials), until_decided, ..CheckOptions::default() };
        let kind = check(&*coin, &set, &options, &Silent).unwrap().verdict;
        assert_ne!(kind, VerdictKind::Failed);
        kind != VerdictKind::Inconclusive
    };
    assert_rate("until decided", 1.0 - LEVEL, 300, |run| decides(run, FIRST, true));
    let naive = (0..250).filter(|run| (0..6).any(|look| decides(*run, FIRST << look, false)));
    let share = binomial(naive.count() as u64, 250, 1.0 - 2e-6).unwrap();
    assert!(share.low > 1.0 - LEVEL, "{share:?}");
}
