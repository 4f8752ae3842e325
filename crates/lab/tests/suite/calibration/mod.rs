//! Calibration of every rule of judgement by simulation: coverage, false alarm, p-values and family-wise
//! error at the boundary of what is promised.
//!
//! A rate p out of n simulations has the standard error √(p(1 − p)/n); each test states its n. A test fails
//! where a rate is above its bound by more than chance: for one seed in 10⁶ if the rate is at the bound.

mod computed;

use crate::common::{Statement, event, silent, statement, value};
use attnlab_core::rng::{Generator, Streams};
use attnlab_core::stats::{binomial, holm};
use attnlab_lab::claim::evidence::{LEAST_TRIALS, weigh};
use attnlab_lab::claim::verdict::{judge, least_alpha};
use attnlab_lab::claim::{Outcome, Params, Promise, Side, VerdictKind};
use rand::RngExt;
use rayon::prelude::*;

/// Confidence level of the checks.
const LEVEL: f64 = 0.95;

/// Verdict of a check and its p-value.
#[derive(Clone, Copy, Debug)]
struct WeighedCheck {
    kind: VerdictKind,
    p_value: Option<f64>,
}

impl WeighedCheck {
    fn decided(self) -> bool {
        matches!(self.kind, VerdictKind::Supported | VerdictKind::Refuted)
    }
}

fn weighed(claim: &Statement, outcomes: &[Outcome]) -> WeighedCheck {
    let evidence = weigh(claim, &Params::default(), outcomes, LEVEL).unwrap();
    WeighedCheck { kind: evidence.judgement.verdict.kind(), p_value: evidence.p_value }
}

fn rng(name: &str, run: u64) -> Generator {
    Streams::new(14, "tests.calibration", 0, run).part(name, 0)
}

/// Events that fail with this probability.
fn events(n: u64, fails: f64, rng: &mut Generator) -> Vec<Outcome> {
    (0..n).map(|_| event(rng.random::<f64>() >= fails)).collect()
}

/// A normal number, by Box and Muller.
fn normal(rng: &mut Generator) -> f64 {
    let (a, b): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// Normal values of this mean.
fn values(n: u64, mean: f64, rng: &mut Generator) -> Vec<Outcome> {
    (0..n).map(|_| value(mean + normal(rng))).collect()
}

/// Requires that `wrong` happens in at most a share `bound` of the `runs`, up to chance.
fn assert_rate(name: &str, bound: f64, runs: u64, wrong: impl Fn(u64) -> bool + Sync) {
    assert_count(name, bound, runs, (0..runs).into_par_iter().filter(|run| wrong(*run)).count());
}

fn assert_count(name: &str, bound: f64, runs: u64, hits: usize) {
    let share = binomial(hits as u64, runs, 1.0 - 2e-6).unwrap();
    println!("{name}: {hits} of {runs}, {bound} allowed");
    assert!(share.low <= bound, "{name}: allowed {bound}, seen {share:?}");
}

/// A share of the verdicts, and which of them count.
type Bound<'a> = (f64, &'a dyn Fn(VerdictKind) -> bool);

/// The same bound for each of the two decisions.
fn each(bound: f64) -> [Bound<'static>; 2] {
    [(bound, &|k| k == VerdictKind::Supported), (bound, &|k| k == VerdictKind::Refuted)]
}

/// Judges the outcomes of `draw` in so many runs, and requires of each share that it is at most its bound, up to chance.
fn assert_verdicts(
    name: &str,
    claim: &Statement,
    runs: u64,
    draw: impl Fn(u64) -> Vec<Outcome> + Sync,
    bounds: &[Bound],
) {
    let kinds: Vec<VerdictKind> = (0..runs).into_par_iter().map(|run| weighed(claim, &draw(run)).kind).collect();
    for (bound, wrong) in bounds {
        assert_count(name, *bound, runs, kinds.iter().filter(|kind| wrong(**kind)).count());
    }
}

/// Requires each decision about the outcomes of `draw` in at most a share `bound` of the `runs`, up to chance.
fn assert_each(name: &str, claim: &Statement, bound: f64, runs: u64, draw: impl Fn(u64) -> Vec<Outcome> + Sync) {
    assert_verdicts(name, claim, runs, draw, &each(bound));
}

/// Each decision at the boundary of a promised probability has at most half of α: 4000 simulations each,
/// standard error 0.0025 at 0.025.
#[test]
fn events_at_the_boundary() {
    for (n, rate) in [(8, 0.5), (40, 0.2), (40, 0.01), (200, 0.1), (200, 0.5)] {
        for promise in [Promise::AtLeast(1.0 - rate), Promise::FailsAtMost(rate)] {
            let claim = statement(promise, n);
            let name = format!("{promise:?} at n = {n}");
            assert_each(&name, &claim, 0.025, 4000, |run| events(n, rate, &mut rng(&name, run)));
        }
    }
}

/// The same for a mean at the upper end of its band, 4000 simulations each: exact for normal values. For the
/// skewed values u² of a uniform u at n = 40 Student's interval is asymptotic only, and one tail was 0.036
/// (standard error 0.003) where 0.025 is nominal: the test holds it to 0.04.
#[test]
fn means_at_the_boundary() {
    for n in [2, 5, 40] {
        let claim = statement(Promise::MeanIn(-50.0, 1.0), n);
        let draw = |run: u64| values(n, 1.0, &mut rng("mean", run + 10_000 * n));
        assert_each(&format!("mean at n = {n}"), &claim, 0.025, 4000, draw);
    }
    let claim = statement(Promise::MeanIn(0.0, 1.0 / 3.0), 40);
    assert_each("skewed mean", &claim, 0.04, 4000, |run| {
        let mut rng = rng("skewed", run);
        (0..40).map(|_| value(rng.random::<f64>().powi(2))).collect()
    });
}

/// Trials that say nothing, mixed in at random. A statement that always holds is never refuted, and is
/// supported by eight informative trials or more only. Of one that fails in a share f of the trials, the
/// interval of the informative ones covers 1 − f. 3000 simulations each, standard error 0.004 at 0.05.
#[test]
fn uninformative_trials_change_neither_level_nor_verdict() {
    let mixed = |n: u64, fails: f64, says_nothing: f64, rng: &mut Generator| -> Vec<Outcome> {
        let trial = |_| if rng.random::<f64>() < says_nothing { silent() } else { event(rng.random::<f64>() >= fails) };
        (0..n).map(trial).collect()
    };
    let always = statement(Promise::Always, 40);
    for says_nothing in [0.3, 0.9] {
        let name = format!("always with {says_nothing} uninformative");
        assert_rate(&name, 0.0, 3000, |run| {
            let drawn = mixed(40, 0.0, says_nothing, &mut rng(&name, run));
            let informative = drawn.iter().filter(|o| o.is_informative()).count() as u64;
            let expected = if informative >= LEAST_TRIALS { VerdictKind::Supported } else { VerdictKind::Inconclusive };
            weighed(&always, &drawn).kind != expected
        });
        let name = format!("coverage with {says_nothing} uninformative");
        assert_rate(&name, 1.0 - LEVEL, 3000, |run| {
            let fails = 0.1;
            let drawn = mixed(40, fails, says_nothing, &mut rng(&name, run));
            let evidence = weigh(&always, &Params::default(), &drawn, LEVEL).unwrap();
            evidence.informative > 0 && !evidence.judgement.estimate.covers(1.0 - fails)
        });
    }
    let rate = statement(Promise::FailsAtMost(0.2), 80);
    let draw = |run: u64| mixed(80, 0.2, 0.5, &mut rng("half", run));
    assert_each("rate with half uninformative", &rate, 0.025, 3000, draw);
}

/// "No counter-example in n draws: at most x % fail (95 %)" is true in 95 % of all checks, whatever the share
/// that fails: 3000 simulations each.
#[test]
fn the_reach_of_a_supported_claim_covers() {
    let always = statement(Promise::Always, 40);
    for fails in [0.01, 0.05, 0.1, 0.2] {
        assert_rate(&format!("reach at {fails}"), 1.0 - LEVEL, 3000, |run| {
            let drawn = events(40, fails, &mut rng("reach", run));
            let evidence = weigh(&always, &Params::default(), &drawn, LEVEL).unwrap();
            let supported = evidence.judgement.verdict.kind() == VerdictKind::Supported;
            supported && fails > 1.0 - evidence.judgement.estimate.low
        });
    }
}

/// Trials of a bound decide in one direction only, there with half of α. The bound is at the boundary, where either
/// verdict is unwarranted, and then beyond it, where the forbidden verdict would be certain. 3000 simulations each.
#[test]
fn a_bound_decides_on_its_side_only() {
    let (low, high) = (Promise::MeanIn(0.0, f64::INFINITY), Promise::MeanIn(f64::NEG_INFINITY, 0.0));
    for (side, promise, allowed) in [
        (Side::UpperBound, high, VerdictKind::Supported),
        (Side::UpperBound, low, VerdictKind::Refuted),
        (Side::LowerBound, high, VerdictKind::Refuted),
        (Side::LowerBound, low, VerdictKind::Supported),
    ] {
        let claim = Statement { side, ..statement(promise, 10) };
        let name = format!("{side:?} of {promise:?}");
        let draw = |mean: f64, run: u64| weighed(&claim, &values(10, mean, &mut rng(&name, run)));
        assert_rate(&name, 0.025, 3000, |run| draw(0.0, run).decided());
        for mean in [-3.0, 3.0] {
            assert_rate(&name, 0.0, 300, |run| {
                let verdict = draw(mean, run);
                verdict.decided() && verdict.kind != allowed
            });
        }
        // The other direction is decided.
        let mean = if promise == high { -3.0 } else { 3.0 };
        let mean = if allowed == VerdictKind::Supported { mean } else { -mean };
        assert_eq!(draw(mean, 0).kind, allowed, "{name}");
    }
}

/// p-values at the boundary, of decided and of open verdicts: P(p ≤ t) ≤ t, and for the mean of normal values
/// in a wide band P(p ≤ t) = t. 2000 simulations each, standard error 0.005 at t = 0.05.
#[test]
fn p_values_are_uniform_or_conservative() {
    type Draw = fn(&mut Generator) -> Vec<Outcome>;
    let rules: [(&str, Promise, Draw, bool); 4] = [
        ("events", Promise::FailsAtMost(0.2), |r| events(40, 0.2, r), false),
        ("rare events", Promise::AtLeast(0.98), |r| events(100, 0.02, r), false),
        ("mean", Promise::MeanIn(-50.0, 1.0), |r| values(10, 1.0, r), true),
        ("mean of a side", Promise::MeanIn(f64::NEG_INFINITY, 1.0), |r| values(10, 1.0, r), true),
    ];
    let runs = 2000;
    for (name, promise, draw, exact) in rules {
        let claim = statement(promise, 10);
        let p_value = |run: u64| weighed(&claim, &draw(&mut rng(name, run))).p_value;
        let p: Vec<f64> = (0..runs).into_par_iter().filter_map(p_value).collect();
        assert_eq!(p.len(), runs as usize, "{name}: every verdict has a p-value");
        for t in [0.001, 0.01, 0.05, 0.2, 0.5, 0.9] {
            // Bisection finds p to three digits.
            let share = binomial(p.iter().filter(|p| **p <= t).count() as u64, runs, 1.0 - 2e-6).unwrap();
            assert!(share.low <= 1.001 * t, "{name}: P(p <= {t}) is {share:?}");
            let uniform = share.high >= t / 1.001;
            assert!(uniform || !exact, "{name}: P(p <= {t}) is {share:?}");
        }
    }
}

/// p-values of decided verdicts in closed form against the level at which the rule of judgement flips, found
/// by bisection: 400 random checks, to 1e-6.
#[test]
fn analytic_p_values_are_those_of_bisection() {
    let compared = (0..400_u64).into_par_iter().filter(|run| {
        let mut rng = rng("bisection", *run);
        let n = rng.random_range(3..120);
        let (promise, outcomes) = match run % 3 {
            0 => {
                let (rate, fails) = (rng.random::<f64>(), rng.random::<f64>());
                (Promise::FailsAtMost(rate), events(n, fails, &mut rng))
            }
            1 => {
                let (q, fails) = (rng.random::<f64>(), rng.random::<f64>());
                (Promise::AtLeast(q), events(n, fails, &mut rng))
            }
            _ => {
                let (low, mean) = (normal(&mut rng), normal(&mut rng));
                let band = Promise::MeanIn(low, low + 3.0 * rng.random::<f64>());
                (band, values(n, mean, &mut rng))
            }
        };
        let judged_at = |alpha: f64| judge(promise, &outcomes, 1.0 - alpha).unwrap();
        let decided = judged_at(0.5);
        let kind = decided.verdict.kind();
        let Some(p) = least_alpha(promise, &decided, n).unwrap() else { return false };
        // Below, 1 − α rounds by more than the digits compared.
        if p < 1e-8 {
            return false;
        }
        let (mut low, mut high) = (0.0, 0.5);
        while high - low > 1e-8 * high {
            let middle: f64 = 0.5 * (low + high);
            if judged_at(middle).verdict.kind() == kind { high = middle } else { low = middle }
        }
        let off = (p / high - 1.0).abs();
        assert!(off < 1e-6, "{promise:?}, n = {n}, {kind:?}: {p:e} and {high:e}");
        true
    });
    assert!(compared.count() > 150);
}

/// The same where all 100 are bounds, which decide in one direction: the open ones count too. 400 families,
/// standard error 0.011.
#[test]
fn families_of_bounds_keep_their_level() {
    let claim = Statement { side: Side::UpperBound, ..statement(Promise::MeanIn(f64::NEG_INFINITY, 0.0), 20) };
    assert_rate("family of bounds", 1.0 - LEVEL, 400, |run| {
        let verdict = |number| weighed(&claim, &values(20, 0.0, &mut rng("bounds", 1000 * run + number)));
        let p: Vec<f64> = (0..100).filter_map(|number| verdict(number).p_value).collect();
        assert_eq!(p.len(), 100);
        holm(&p).iter().any(|p| *p <= 1.0 - LEVEL)
    });
}

/// One claim of a family at its boundary, where no verdict is warranted.
fn at_boundary(number: u64, run: u64) -> WeighedCheck {
    let mut rng = rng("family", 1000 * run + number);
    let bounded = |side, promise| Statement { side, ..statement(promise, 20) };
    let (claim, outcomes) = match number % 5 {
        0 => (statement(Promise::FailsAtMost(0.1), 60), events(60, 0.1, &mut rng)),
        1 => (statement(Promise::AtLeast(0.6), 40), events(40, 0.4, &mut rng)),
        2 => (statement(Promise::MeanIn(0.0, 50.0), 12), values(12, 0.0, &mut rng)),
        3 => {
            let high = Promise::MeanIn(f64::NEG_INFINITY, 0.0);
            (bounded(Side::UpperBound, high), values(20, 0.0, &mut rng))
        }
        _ => {
            let mut drawn = events(30, 0.5, &mut rng);
            drawn.extend((0..10).map(|_| silent()));
            (statement(Promise::AtLeast(0.5), 40), drawn)
        }
    };
    weighed(&claim, &outcomes)
}

/// Holm over all checks with a p-value, open ones too: of 100 claims at their boundary some verdict stands at
/// .05 in at most a share .05 of the families. 1000 families, standard error 0.007. Adjusted for the decided
/// ones alone, as it once was, one stands in most families: the test would see it.
#[test]
fn some_unwarranted_verdict_stands_in_at_most_a_share_of_alpha() {
    let of_run = |run: u64| -> Vec<WeighedCheck> { (0..100).map(|number| at_boundary(number, run)).collect() };
    let families: Vec<_> = (0..1000).into_par_iter().map(of_run).collect();
    let alarms = |adjusted_for_open: bool| {
        let stands = |verdicts: &&Vec<WeighedCheck>| {
            let counted = verdicts.iter().filter(|f| adjusted_for_open || f.decided());
            let p: Vec<f64> = counted.filter_map(|f| f.p_value).collect();
            holm(&p).iter().any(|p| *p <= 1.0 - LEVEL)
        };
        binomial(families.iter().filter(stands).count() as u64, 1000, 1.0 - 2e-6).unwrap()
    };
    let (of_all_checks, decided) = (alarms(true), alarms(false));
    println!("over all checks {}, over decided ones {}", of_all_checks.value, decided.value);
    assert!(of_all_checks.low <= 1.0 - LEVEL, "over all checks: {of_all_checks:?}");
    assert!(decided.low > 0.2, "over decided checks alone: {decided:?}");
}
