//! Tests of the fit: recovery over a grid, the level of its test, its power, invariances, refusals, and tokens with a mean
//! of their own.

use attnlab_core::linalg::{frobenius2, haar_basis, normal_matrix, product};
use attnlab_core::rng::Streams;
use attnlab_core::stats::binomial;
use attnlab_theory::fit::{Fit, Options, Verdict, bytes, fit, fit_known, ticks};
use attnlab_theory::sample::{Bases, Draw, Mixture};
use ndarray::{Array1, Array2, Axis};
use proptest::prelude::*;

pub(super) fn streams(name: &str, trial: u64) -> Streams {
    Streams::new(16, "tests.fit", attnlab_core::rng::hash(name.as_bytes()), trial)
}

fn fitted(tokens: &Array2<f64>) -> Fit {
    fit(tokens.view(), &Options::default(), &streams("halves", 0), &|| {}).unwrap()
}

/// One setting of the grid: N_k, p_k, d, δ.
pub(super) fn mixture(counts: &[usize], dims: &[usize], extra: usize, delta: f64) -> Mixture {
    Mixture {
        counts: counts.to_vec(),
        dims: dims.to_vec(),
        ambient: dims.iter().sum::<usize>() + extra,
        delta,
        bases: Bases::Orthonormal,
    }
}

/// p_k in the fit's order of clusters.
fn ordered(mixture: &Mixture) -> Vec<usize> {
    let mut dims = mixture.dims.clone();
    dims.sort_unstable_by(|a, b| b.cmp(a));
    dims
}

/// Settings on which the fit must be right: balanced and not, equal and unequal dimensions, with room around the
/// subspaces and without, four noise levels.
fn grid() -> Vec<Mixture> {
    let mut mixtures = vec![];
    for delta in [0.01, 0.05, 0.1, 0.2] {
        mixtures.push(mixture(&[200, 200], &[16, 16], 0, delta));
        mixtures.push(mixture(&[300, 150], &[10, 20], 5, delta));
        mixtures.push(mixture(&[150; 4], &[8; 4], 0, delta));
        mixtures.push(mixture(&[240, 200, 160], &[24, 16, 8], 8, delta));
        mixtures.push(mixture(&[120; 6], &[10; 6], 0, delta));
    }
    mixtures
}

/// K and p_k exactly, δ within 5 %, in every draw of the grid; its interval at 95 % covers in most.
#[test]
fn draws_of_definition_1_are_recovered() {
    let (mut covered, mut draws) = (0, 0);
    for (i, mixture) in grid().iter().enumerate() {
        let draw = mixture.draw(&streams("grid", i as u64)).unwrap();
        let fit = fitted(&draw.tokens);
        let name = format!("{mixture:?}: {:?}", fit.goodness);
        assert_eq!(fit.dims, ordered(mixture), "{name}");
        assert_eq!(fit.rank, mixture.dims.iter().sum::<usize>());
        assert!((fit.delta.value / mixture.delta - 1.0).abs() < 0.05, "{name} {:?}", fit.delta);
        assert!((fit.scale.value - 1.0).abs() < 0.05, "{name} {:?}", fit.scale);
        assert!(same_partition(&fit.labels, &draw.labels), "{name}");
        assert!(fit.goodness.p_value.unwrap() > 1e-4, "{name}");
        covered += u64::from(fit.delta.covers(mixture.delta));
        draws += 1;
    }
    assert!(binomial(covered, draws, 0.99).unwrap().high > 0.95, "{covered} of {draws}");
}

/// Recovery, level and power, printed with intervals: the numbers of docs/inspect.md.
#[test]
#[ignore = "minutes; prints a table"]
fn table_of_the_grid() {
    let trials: u64 = std::env::var("FIT_TRIALS").map_or(20, |t| t.parse().unwrap());
    let shown = |name: &str, hits: u64, trials: u64| {
        let e = binomial(hits, trials, 0.95).unwrap();
        format!("{name} {hits}/{trials} [{:.3}, {:.3}]", e.low, e.high)
    };
    let (mut alarms, mut small, mut total) = (0, 0, 0);
    let mut by_test = std::collections::BTreeMap::<&str, [u64; 3]>::new();
    for (i, mixture) in grid().iter().enumerate() {
        let (mut exact, mut close, mut covered, mut rejected, mut five) = (0, 0, 0, 0, 0);
        for trial in 0..trials {
            let draw = mixture.draw(&streams("table", 1000 * i as u64 + trial)).unwrap();
            let halves = streams("table halves", 1000 * i as u64 + trial);
            let fit = fit(draw.tokens.view(), &Options::default(), &halves, &|| {}).unwrap();
            for test in &fit.goodness.tests {
                let (entry, p) = (by_test.entry(test.name).or_default(), test.p_value.unwrap());
                entry[0] += 1;
                entry[1] += u64::from(p <= 0.05);
                entry[2] += u64::from(p <= 0.005);
            }
            exact += u64::from(fit.dims == ordered(mixture));
            close += u64::from((fit.delta.value / mixture.delta - 1.0).abs() < 0.05);
            covered += u64::from(fit.delta.covers(mixture.delta));
            rejected += u64::from(fit.goodness.verdict != Verdict::Consistent);
            five += u64::from(fit.goodness.p_value.is_none_or(|p| p <= 0.05));
            if fit.goodness.verdict != Verdict::Consistent {
                println!("  {:?} {:?}", fit.goodness.reasons, fit.goodness.by_draws);
            }
        }
        let Mixture { counts, dims, ambient, delta, .. } = mixture;
        println!(
            "N_k {counts:?} p_k {dims:?} d {ambient} delta {delta}: {}, {}, {}, {}, {}",
            shown("K and p", exact, trials),
            shown("delta", close, trials),
            shown("covered", covered, trials),
            shown("rejected", rejected, trials),
            shown("p<=.05", five, trials)
        );
        alarms += rejected;
        small += five;
        total += trials;
    }
    println!("all: {}, {}", shown("rejected", alarms, total), shown("p<=.05", small, total));
    for (name, [n, five, half]) in by_test {
        println!("{}, {}", shown(&format!("{name}: p <= .05"), five, n), shown("p <= .005", half, n));
    }
    for (name, draw) in NO_MIXTURES {
        let rejected = (0..trials).filter(|t| fitted(&draw(*t)).goodness.verdict == Verdict::NotSuchAMixture);
        println!("{}", shown(name, rejected.count() as u64, trials));
    }
}

fn same_partition(a: &[usize], b: &[usize]) -> bool {
    let mut names = std::collections::HashMap::new();
    let mut back = std::collections::HashMap::new();
    a.iter().zip(b).all(|(a, b)| *names.entry(a).or_insert(b) == b && *back.entry(b).or_insert(a) == a)
}

/// Laws that are no such mixture.
type Law = fn(u64) -> Array2<f64>;
const NO_MIXTURES: [(&str, Law); 4] =
    [("isotropic", isotropic), ("decaying", decaying), ("coherent", coherent), ("heavy", heavy)];

fn isotropic(trial: u64) -> Array2<f64> {
    0.3 * normal_matrix(32, 600, &mut streams("isotropic", trial).part("tokens", 0))
}

/// A single Gaussian whose variances fall like 1/i.
fn decaying(trial: u64) -> Array2<f64> {
    let streams = streams("decaying", trial);
    let g = normal_matrix(32, 600, &mut streams.part("tokens", 0));
    let root = Array1::from_shape_fn(32, |i| (1.0 + i as f64).powf(-0.5)).insert_axis(Axis(1));
    let turn = haar_basis(32, 32, &mut streams.part("turn", 0)).unwrap();
    product(turn.view(), (g * root).view())
}

/// Bases that are not orthogonal to each other.
fn coherent(trial: u64) -> Array2<f64> {
    let mixture = Mixture { bases: Bases::Coherent(0.3), ..mixture(&[300, 300], &[16, 16], 16, 0.1) };
    mixture.draw(&streams("coherent", trial)).unwrap().tokens
}

/// Tokens of different lengths: coefficients with a common random factor.
fn heavy(trial: u64) -> Array2<f64> {
    let Draw { mut tokens, .. } = mixture(&[300, 300], &[16, 16], 0, 0.1).draw(&streams("heavy", trial)).unwrap();
    let factors = normal_matrix(1, 600, &mut streams("heavy", trial).part("factors", 0));
    for (mut token, g) in tokens.columns_mut().into_iter().zip(factors.row(0)) {
        token *= (0.3 * g).exp();
    }
    tokens
}

#[test]
fn what_is_no_such_mixture_is_told() {
    for trial in 0..3 {
        for (name, draw) in NO_MIXTURES {
            let goodness = fitted(&draw(trial)).goodness;
            assert_eq!(goodness.verdict, Verdict::NotSuchAMixture, "{name}: {goodness:?}");
            assert!(!goodness.reasons.is_empty());
        }
    }
}

/// 150 draws of two laws: the share of rejections at 5 % is that, within its interval.
#[test]
fn the_test_keeps_its_level() {
    const DRAWS: u64 = 75;
    let laws = [mixture(&[150, 150], &[10, 10], 2, 0.1), mixture(&[120, 180, 100], &[6, 8, 10], 0, 0.2)];
    let mut alarms = 0;
    for (i, law) in laws.iter().enumerate() {
        for trial in 0..DRAWS {
            let draw = law.draw(&streams("level", 1000 * i as u64 + trial)).unwrap();
            let options = Options { clusters: Some(law.clusters()), alpha: 0.05, ..Options::default() };
            let fit = fit(draw.tokens.view(), &options, &streams("level halves", trial), &|| {}).unwrap();
            alarms += u64::from(fit.goodness.verdict != Verdict::Consistent);
        }
    }
    let share = binomial(alarms, 2 * DRAWS, 0.99).unwrap();
    // Bonferroni over eight tests is a little below the level.
    assert!(share.low < 0.05 && share.high > 0.01, "{alarms}: {share:?}");
}

/// Edges of Definition 1: no noise, and a single cluster.
#[test]
fn edges_of_the_law() {
    let noiseless = fitted(&mixture(&[100, 100], &[6, 9], 3, 0.0).draw(&streams("edge", 0)).unwrap().tokens);
    assert_eq!((noiseless.dims, noiseless.delta.value), (vec![9, 6], 0.0));
    let single = fitted(&mixture(&[200], &[6], 4, 0.1).draw(&streams("edge", 1)).unwrap().tokens);
    assert_eq!((single.dims, single.rank), (vec![6], 6));
    assert_eq!(single.goodness.verdict, Verdict::Consistent, "{:?}", single.goodness);
}

/// Noise in all of space is none of Definition 1, which has it in the other subspaces alone.
#[test]
fn noise_outside_the_subspaces_is_noticed() {
    let law = mixture(&[200, 200], &[8, 8], 10, 0.1);
    let mut tokens = law.draw(&streams("outside", 0)).unwrap().tokens;
    tokens += &(0.1 * normal_matrix(26, 400, &mut streams("outside", 0).part("noise", 0)));
    let fit = fitted(&tokens);
    assert_eq!(fit.dims, [8, 8]);
    assert_eq!(fit.goodness.verdict, Verdict::NotSuchAMixture);
    assert!(fit.goodness.reasons[0].contains("no noise outside"), "{:?}", fit.goodness);
}

#[test]
fn the_scale_is_tested_on_request() {
    let tokens = 2.0 * mixture(&[200, 200], &[8, 8], 0, 0.1).draw(&streams("scale", 0)).unwrap().tokens;
    let unit = Options { unit_scale: true, ..Options::default() };
    let free = fit(tokens.view(), &Options::default(), &streams("scale", 1), &|| {}).unwrap();
    let strict = fit(tokens.view(), &unit, &streams("scale", 1), &|| {}).unwrap();
    assert!((free.scale.value - 2.0).abs() < 0.1 && free.delta == strict.delta);
    assert_eq!(free.goodness.verdict, Verdict::Consistent);
    assert_eq!(strict.goodness.verdict, Verdict::NotSuchAMixture);
    assert!(strict.goodness.reasons[0].contains("signal variance 1"));
}

#[test]
fn known_bases_and_labels_are_taken_as_they_are() {
    let law = mixture(&[80, 120], &[10, 6], 2, 0.1);
    let draw = law.draw(&streams("known", 0)).unwrap();
    let known = fit_known(draw.tokens.view(), &draw.bases, &draw.labels, &Options::default()).unwrap();
    assert_eq!((&known.dims, &known.counts), (&law.dims, &law.counts));
    assert_eq!(known.labels, draw.labels);
    assert!(known.delta.low < 0.1 && 0.1 < known.delta.high, "{:?}", known.delta);
    assert_eq!(known.goodness.verdict, Verdict::Consistent, "{:?}", known.goodness);
    // Labels of other tokens are no labels of these.
    let shuffled: Vec<usize> = (0..200).map(|i| i % 2).collect();
    let wrong = fit_known(draw.tokens.view(), &draw.bases, &shuffled, &Options::default()).unwrap();
    assert_eq!(wrong.goodness.verdict, Verdict::NotSuchAMixture);
    let bad = fit_known(draw.tokens.view(), &[2.0 * &draw.bases[0]], &draw.labels, &Options::default());
    assert!(bad.unwrap_err().to_string().contains("jointly orthonormal"));
    let bad = fit_known(draw.tokens.view(), &draw.bases, &[3; 200], &Options::default());
    assert!(bad.is_err());
}

#[test]
fn bad_input_is_refused() {
    let refused = |tokens: Array2<f64>, options: Options| {
        fit(tokens.view(), &options, &streams("bad", 0), &|| {}).unwrap_err().to_string()
    };
    let plain = Options::default();
    let normal = || normal_matrix(4, 40, &mut streams("bad", 0).part("tokens", 0));
    let mut nan = normal();
    nan[[2, 7]] = f64::NAN;
    assert_eq!(refused(nan, plain), "tokens[2, 7] = NaN: must be a finite number");
    assert!(refused(Array2::zeros((4, 40)), plain).contains("must not all be zero"));
    assert!(refused(Array2::zeros((4, 3)), plain).contains("at least 4 tokens"));
    for options in [
        Options { clusters: Some(0), ..plain },
        Options { most_clusters: 21, ..plain },
        Options { alpha: 0.0, ..plain },
        Options { level: 1.0, ..plain },
    ] {
        assert!(refused(normal(), options).contains("must be"));
    }
    assert_eq!(ticks(&plain), 18);
    assert!(bytes(1 << 40, 1 << 40, 16) == u64::MAX && bytes(1000, 20_000, 16) < 2 << 30);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// A rotation of the space and another order of the tokens change neither K, p_k nor the labels; δ only by the
    /// order of sums.
    #[test]
    fn the_fit_is_invariant(seed in 0_u64..1000, shift in 1_usize..200) {
        let draw = mixture(&[110, 90], &[9, 6], 3, 0.1).draw(&streams("invariant", seed)).unwrap();
        let turn = haar_basis(18, 18, &mut streams("turn", seed).part("basis", 0)).unwrap();
        let plain = fitted(&draw.tokens);
        let turned = fitted(&product(turn.view(), draw.tokens.view()));
        prop_assert_eq!(&plain.labels, &turned.labels);
        prop_assert_eq!(&plain.dims, &turned.dims);
        prop_assert!((plain.delta.value / turned.delta.value - 1.0).abs() < 1e-7);
        let order: Vec<usize> = (0..200).map(|i| (i + shift) % 200).collect();
        let moved = fitted(&draw.tokens.select(Axis(1), &order));
        prop_assert_eq!(&plain.dims, &moved.dims);
        let labels: Vec<usize> = order.iter().map(|i| plain.labels[*i]).collect();
        prop_assert_eq!(&labels, &moved.labels);
        prop_assert!((plain.delta.value / moved.delta.value - 1.0).abs() < 1e-7);
    }
}

/// A mixture with a common offset: the fit with `centre` finds offset, p_k and δ, and its test keeps its level, with
/// labels or without. The mean of all tokens alone leaves signal where other clusters have noise.
#[test]
fn a_common_mean_is_taken_away() {
    const DRAWS: u64 = 40;
    let options = Options { centre: true, unit_scale: true, ..Options::default() };
    let (mut rejected, mut covered, mut all) = (0, 0, 0);
    for mixture in [
        mixture(&[200, 200], &[12, 12], 0, 0.1),
        mixture(&[300, 150], &[10, 20], 0, 0.01),
        mixture(&[150; 4], &[8; 4], 0, 0.3),
        mixture(&[150; 3], &[8; 3], 0, 0.0),
    ] {
        for trial in 0..DRAWS / 4 {
            let draw = mixture.draw(&streams("centre", trial)).unwrap();
            let offset = normal_matrix(mixture.ambient, 1, &mut streams("offset", trial).part("x", 0));
            let tokens = &draw.tokens + &(&offset * 3.0);
            let free = fit(tokens.view(), &options, &streams("halves of centre", trial), &|| {}).unwrap();
            let known = fit_known(tokens.view(), &draw.bases, &draw.labels, &options).unwrap();
            for fit in [&free, &known] {
                assert_eq!(fit.dims.iter().sum::<usize>(), mixture.dims.iter().sum::<usize>());
                rejected += u64::from(fit.goodness.verdict == Verdict::NotSuchAMixture);
                covered += u64::from(fit.delta.low <= mixture.delta && mixture.delta <= fit.delta.high);
                all += 1;
                // Off by the noise over √N in every direction, and by the signal over √N nowhere.
                let mean = fit.mean.clone().unwrap();
                let off = &mean.insert_axis(Axis(1)) - &(&offset * 3.0);
                let off = frobenius2(off.view()).sqrt();
                let ambient = mixture.ambient as f64;
                assert!(off <= 4.0 * mixture.delta * (ambient / 150.0).sqrt() + 1e-8, "{off}");
            }
        }
    }
    // The test is at 1 % and the interval at 95 %; free fits without noise compute δ = 0.
    assert!(binomial(rejected, all, 0.999).unwrap().low <= 0.01, "{rejected} of {all}");
    assert!(binomial(covered, all, 0.999).unwrap().high >= 0.95, "{covered} of {all}");
}

/// Tokens sorted by cluster, as those of draws and of many files: the first of them are of few clusters, and the search
/// for the offset must see all clusters.
#[test]
fn sorted_tokens_are_a_mixture_too() {
    const DRAWS: u64 = 4;
    let mixture = mixture(&[250; 9], &[8; 9], 0, 0.1);
    let options = Options { centre: true, unit_scale: true, clusters: Some(9), ..Options::default() };
    let mut rejected = 0;
    for trial in 0..DRAWS {
        let draw = mixture.draw(&streams("sorted", trial)).unwrap();
        assert!(draw.labels.is_sorted());
        let fit = fit(draw.tokens.view(), &options, &streams("halves of sorted", trial), &|| {}).unwrap();
        assert_eq!(fit.dims, [8; 9], "{trial}");
        rejected += u64::from(fit.goodness.verdict == Verdict::NotSuchAMixture);
    }
    // The test is at 1 %.
    assert!(binomial(rejected, DRAWS, 0.999).unwrap().low <= 0.01, "{rejected} of {DRAWS}");
}

/// Clusters that have different means are no mixture of Definition 1 with an offset.
#[test]
fn means_of_clusters_are_not_taken_away() {
    let options = Options { centre: true, ..Options::default() };
    let mixture = mixture(&[200, 200, 200], &[12, 12, 12], 0, 0.1);
    for trial in 0..5 {
        let draw = mixture.draw(&streams("means", trial)).unwrap();
        let mut tokens = draw.tokens.clone();
        for (mut token, label) in tokens.columns_mut().into_iter().zip(&draw.labels) {
            if *label == 1 {
                token += &(&draw.bases[1].column(0) * 0.7);
            }
        }
        let known = fit_known(tokens.view(), &draw.bases, &draw.labels, &options).unwrap();
        assert_eq!(known.goodness.verdict, Verdict::NotSuchAMixture);
        assert!(known.goodness.reasons[0].contains("mean zero"), "{:?}", known.goodness.reasons);
    }
}
