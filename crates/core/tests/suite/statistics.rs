//! Tests of the statistics by simulation: intervals cover at their level, Holm controls the family-wise
//! error, and the exact interval refuses the range in which it would not be exact.

use attnlab_core::rng::Streams;
use attnlab_core::stats::{
    PowerLaw, Sequence, binomial, holm, log_log_slope, mean, quantile_interval, trials_for_lower_bound,
};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use std::collections::HashMap;

fn rng(name: &str, trial: u64) -> attnlab_core::rng::Generator {
    Streams::new(7, "tests.statistics", 0, trial).part(name, 0)
}

/// Asserts that `covered` holds in a share of at least `level` of the `runs`, up to chance: with true
/// coverage `level` the test fails for one seed in 10^6.
fn covers(level: f64, runs: u64, mut covered: impl FnMut(u64) -> bool) {
    let hits = (0..runs).filter(|t| covered(*t)).count() as u64;
    let share = binomial(hits, runs, 1.0 - 2e-6).unwrap();
    assert!(share.high >= level, "claimed {level}, seen {share:?}");
}

#[test]
fn binomial_intervals_cover() {
    for q in [0.02, 0.5, 0.97] {
        covers(0.9, 2000, |t| {
            let mut rng = rng("binomial", t);
            let hits = (0..60).filter(|_| rng.random::<f64>() < q).count() as u64;
            binomial(hits, 60, 0.9).unwrap().covers(q)
        });
    }
}

const X: [f64; 5] = [10.0, 30.0, 100.0, 300.0, 1000.0];

/// Values 2 x^-0.7 at [`X`] with log-normal errors of 10 %.
fn noisy_powers(name: &str, trial: u64) -> [f64; 5] {
    let mut rng = rng(name, trial);
    X.map(|x| {
        let error: f64 = StandardNormal.sample(&mut rng);
        2.0 * x.powf(-0.7) * (0.1 * error).exp()
    })
}

#[test]
fn mean_and_slope_intervals_cover() {
    covers(0.95, 2000, |t| {
        let mut rng = rng("mean", t);
        let values: Vec<f64> = StandardNormal.sample_iter(&mut rng).take(5).collect();
        mean(&values, 0.95).unwrap().covers(0.0)
    });
    covers(0.95, 2000, |t| log_log_slope(&X, &noisy_powers("slope", t), 0.95).unwrap().covers(-0.7));
}

/// A function of (held, trials) that is computed once for each: many runs come to the same counts.
fn once<T: Copy>(of: impl Fn(u64, u64) -> T) -> impl FnMut(u64, u64) -> T {
    let mut known = HashMap::new();
    move |held, n| *known.entry((held, n)).or_insert_with(|| of(held, n))
}

/// Counts, among `runs` of up to `most` trials that hold with probability `q`, those in which the
/// interval at some n excludes `q`: the error rate of an observer who looks at every n and stops at will.
fn ever_wrong(q: f64, runs: u64, most: u64, covers: impl Fn(u64, u64) -> bool) -> u64 {
    let mut covers = once(covers);
    let wrong = |t: &u64| {
        let mut rng = rng("optional stopping", *t + (q * 1e4) as u64 * runs);
        let mut held = 0;
        (1..=most).any(|n| {
            held += u64::from(rng.random::<f64>() < q);
            !covers(held, n)
        })
    };
    (0..runs).filter(wrong).count() as u64
}

/// The confidence sequence keeps its error rate under optional stopping; the interval of a fixed number
/// of trials does not, and the same test detects that.
#[test]
fn the_confidence_sequence_survives_optional_stopping() {
    let (level, runs, most) = (0.9, 2000, 400);
    let sequence = Sequence::new(level).unwrap();
    for q in [0.02, 0.5, 0.97] {
        // The interval itself tests whether it contains the true q.
        let covers = |held, n| sequence.interval(held, n).unwrap().covers(q);
        let wrong = binomial(ever_wrong(q, runs, most, covers), runs, 1.0 - 2e-6).unwrap();
        assert!(wrong.low <= 1.0 - level, "q = {q}: {wrong:?}");
        // The sequence is not arbitrarily wide: it errs sometimes.
        assert!(wrong.high > 0.005, "q = {q}: {wrong:?}");
    }
    let fixed = |held, n| binomial(held, n, level).unwrap().covers(0.5);
    let wrong = binomial(ever_wrong(0.5, 300, 200, fixed), 300, 1.0 - 2e-6).unwrap();
    assert!(wrong.low > 1.0 - level, "{wrong:?}");
}

/// Stopping rule of sweeps: the first multiple of `every` at which the interval is narrow.
#[test]
fn stopping_when_the_interval_is_narrow_keeps_its_level() {
    let sequence = Sequence::new(0.9).unwrap();
    let mut interval = once(|held, n| sequence.interval(held, n).unwrap());
    for q in [0.05, 0.5, 0.9] {
        covers(0.9, 2000, |t| {
            let mut rng = rng("narrow", t + (q * 100.0) as u64 * 10_000);
            let (mut held, mut n) = (0, 0);
            loop {
                held += (0..10).filter(|_| rng.random::<f64>() < q).count() as u64;
                n += 10;
                let e = interval(held, n);
                if e.high - e.low <= 0.25 || n == 1000 {
                    return e.covers(q);
                }
            }
        });
    }
}

#[test]
fn intervals_of_the_confidence_sequence() {
    let sequence = Sequence::new(0.95).unwrap();
    // mpmath.findroot on ln B(s + 1/2, n - s + 1/2) - ln B(1/2, 1/2) - ln(q^s (1-q)^(n-s)) + ln .05
    for (s, n, low, high) in [
        (18, 20, 0.591_270_244_168_080_6, 0.996_266_370_392_715_9),
        (300, 1000, 0.248_983_388_549_399_4, 0.354_562_347_382_293_1),
    ] {
        let e = sequence.interval(s, n).unwrap();
        assert!((e.low - low).abs() < 1e-11 && (e.high - high).abs() < 1e-11, "{e:?}");
        // By symmetry.
        assert!((sequence.interval(n - s, n).unwrap().low + e.high - 1.0).abs() < 1e-11);
    }
    let none = sequence.interval(0, 10).unwrap();
    assert!(none.low == 0.0 && none.high < 0.5);
    // The interval is wide after one trial and narrow after many.
    assert!(sequence.interval(1, 1).unwrap().low < 0.03);
    let many = sequence.interval(500_000, 1_000_000).unwrap();
    assert!(many.high - many.low < 0.005);
    assert!(sequence.interval(0, 0).is_err() && sequence.interval(3, 2).is_err());
    assert!(Sequence::new(1.0).is_err());
}

#[test]
fn bands_of_fits_and_intervals_of_quantiles_cover() {
    covers(0.95, 2000, |t| {
        let law = PowerLaw::fit(&X, &noisy_powers("band", t), 0.95).unwrap();
        law.evaluate(700.0).covers(2.0 * 700_f64.powf(-0.7))
    });
    // A law with ties and a heavy tail; its upper quartile is 4.
    for n in [6, 15, 40] {
        covers(0.9, 2000, |t| {
            let mut rng = rng("quantile", t);
            let values: Vec<f64> = (0..n).map(|_| (1.0 / (1.0 - rng.random::<f64>())).min(4.0)).collect();
            quantile_interval(&values, 0.75, 0.9).unwrap().covers(4.0)
        });
    }
    assert!(attnlab_core::stats::quantile(&[1.0, 2.0], f64::NAN).is_nan());
    let few = quantile_interval(&[1.0, 2.0, 3.0], 0.5, 0.95).unwrap();
    assert_eq!((few.low, few.high), (f64::NEG_INFINITY, f64::INFINITY));
    assert!(quantile_interval(&[], 0.5, 0.95).is_err());
    assert!(quantile_interval(&[1.0], 1.0, 0.95).is_err());
}

/// Six true null hypotheses, two of them the same test twice: dependence must not matter.
#[test]
fn holm_controls_the_family_wise_error() {
    let (runs, alpha) = (4000, 0.1);
    let false_alarm = |adjust: &dyn Fn(&[f64]) -> Vec<f64>| {
        let alarm = |t: &u64| {
            let mut rng = rng("holm", *t);
            let mut p: Vec<f64> = (0..5).map(|_| rng.random()).collect();
            p.push(p[0]);
            adjust(&p).iter().any(|p| *p <= alpha)
        };
        binomial((0..runs).filter(alarm).count() as u64, runs, 1.0 - 2e-6).unwrap()
    };
    assert!(false_alarm(&holm).low <= alpha);
    // The same test must detect that raw p-values do not control the error.
    assert!(false_alarm(&|p| p.to_vec()).low > alpha);
}

#[test]
fn exact_intervals_at_the_ends_and_beyond_their_range() {
    let none = binomial(0, 20, 0.95).unwrap();
    // 1 - 0.025^(1/20), by hand.
    assert_eq!(none.low, 0.0);
    assert!((none.high - (1.0 - 0.025_f64.powf(0.05))).abs() < 1e-12);
    assert_eq!(binomial(20, 20, 0.95).unwrap().high, 1.0);
    // scipy.stats.binomtest(49876, 100000).proportion_ci(.95, 'exact')
    let large = binomial(49_876, 100_000, 0.95).unwrap();
    assert!((large.low - 0.4956561079872105).abs() < 1e-9 && (large.high - 0.5018639639441216).abs() < 1e-9);
    assert_eq!(
        binomial(1, 100_001, 0.95).unwrap_err().to_string(),
        "trials = 100001: must be a whole number from 1 to 100000; beyond that the incomplete beta function \
         behind exact binomial intervals is not accurate"
    );
    assert_eq!(binomial(1, 10, 2.0).unwrap_err().to_string(), "level = 2: must be a number in (0, 1), such as 0.95");
    // 0.9^36 = 0.0225 < 0.025 < 0.9^35.
    assert_eq!(trials_for_lower_bound(0.9, 0.95), Some(36));
    assert!(binomial(36, 36, 0.95).unwrap().low >= 0.9);
    assert!(binomial(35, 35, 0.95).unwrap().low < 0.9);
    assert_eq!(trials_for_lower_bound(1.0, 0.95), None);
}
