//! Tests of the power: of plenty of tokens, of too few, of a search that ends at its limit, and of what is no mixture.

use attnlab_core::linalg::normal_matrix;
use attnlab_core::rng::Streams;
use attnlab_theory::fit::power::{Plan, Power, Truth, judge, power, unfinished};
use attnlab_theory::fit::{Fit, Options, Verdict, bits, fit, fit_known};
use attnlab_theory::sample::Mixture;
use ndarray::{Array2, array};

const PLAN: Plan = Plan { draws: 12, at_once: 2 };

fn streams(name: &str, trial: u64) -> Streams {
    Streams::new(31, "tests.power", attnlab_core::rng::hash(name.as_bytes()), trial)
}

fn drawn(mixture: &Mixture, name: &str) -> Array2<f64> {
    mixture.draw(&streams(name, 0)).unwrap().tokens
}

fn fitted(tokens: &Array2<f64>, options: &Options) -> Fit {
    fit(tokens.view(), options, &streams("halves", 0), &|| {}).unwrap()
}

fn measured(truth: &Truth, options: &Options) -> Power {
    power(truth, options, PLAN, &streams("power", 0), &|_, _| Ok(())).unwrap().0
}

/// The fit after judgement, with its power.
fn judged(tokens: &Array2<f64>, options: &Options) -> (Fit, Power) {
    let mut fit = fitted(tokens, options);
    let truth = Truth::of_fit(&fit, tokens.view(), false, options).unwrap();
    let power = measured(&truth, options);
    judge(&mut fit, if power.is_enough() { vec![] } else { vec![power.words(&truth)] });
    (fit, power)
}

/// 12 tokens and more a dimension: all draws are called consistent, and six are enough to say so. 1/40^(1/6) = 0.5407.
#[test]
fn plenty_of_tokens_have_power() {
    for (clusters, dim) in [(2, 8), (3, 6)] {
        let mixture = Mixture::balanced(100 * clusters * dim / 4, clusters, dim, 0.1).unwrap();
        let (fit, power) = judged(&drawn(&mixture, "plenty"), &Options::default());
        assert_eq!(fit.goodness.verdict, Verdict::Consistent);
        assert_eq!((power.consistent, power.draws), (6, 6));
        assert!((power.share.low - 0.025_f64.powf(1.0 / 6.0)).abs() < 1e-12);
    }
}

/// 3 tokens a dimension, of which half are held for the tests, are tested and do not refuse a true mixture; 1.8 (the
/// heads of SmolLM2 on 1020 tokens) have no power, for which no draw is needed.
#[test]
fn few_tokens_have_little_power() {
    let mixture = Mixture::balanced(120, 2, 20, 0.1).unwrap();
    let options = Options { most_clusters: 6, ..Options::default() };
    for name in ["few", "few again"] {
        let (fit, power) = judged(&drawn(&mixture, name), &options);
        assert_ne!(fit.goodness.verdict, Verdict::NotSuchAMixture, "{:?} {power:?}", fit.goodness);
        assert!(fit.goodness.p_value.is_some(), "{:?}", fit.goodness);
    }
    let tokens = normal_matrix(576, 1020, &mut streams("heads", 0).part("tokens", 0));
    let single = fitted(&drawn(&mixture, "few"), &options);
    let truth = Truth::of_heads([9, 64], &single, tokens.view(), &options).unwrap();
    assert_eq!((&truth.mixture.dims, truth.mixture.counts[0]), (&vec![64; 9], 114));
    assert!(truth.is_hopeless() && !Power::NONE.is_enough());
    assert!(Power::NONE.words(&truth).contains("true mixtures of K = 9, p = 64, N_k = 113 to 114"));
    assert_eq!(Truth::of_heads([600, 1], &single, tokens.view(), &options), None);
}

/// A mixture of more clusters than are tried is no reason to say that it is none.
#[test]
fn a_search_that_ends_at_its_limit_decides_nothing() {
    for (clusters, limit) in [(8, 4), (6, 5)] {
        let tokens = drawn(&Mixture::balanced(60 * clusters, clusters, 6, 0.1).unwrap(), "limit");
        let short = Options { most_clusters: limit, ..Options::default() };
        let fit = fitted(&tokens, &short);
        assert_eq!(fit.goodness.verdict, Verdict::NotSuchAMixture, "{:?}", fit.goodness);
        assert_eq!(unfinished(&fit, &short), Some(2 * limit));
        let long = Options { most_clusters: 2 * limit, further: None, ..short };
        let complete = fitted(&tokens, &Options { most_clusters: 12, ..long });
        assert_eq!((complete.dims.len(), unfinished(&complete, &Options::default())), (clusters, None));
        // The number of heads is tried wherever the search ends.
        assert_eq!(fitted(&tokens, &Options { further: Some(clusters), ..short }).dims, vec![6; clusters]);
    }
    // A K that is given, and tokens of no more dimensions than clusters tried, leave nothing to search.
    let normal = normal_matrix(4, 200, &mut streams("normal", 0).part("tokens", 0));
    let known = Options { clusters: Some(2), ..Options::default() };
    assert_eq!(unfinished(&fitted(&normal, &known), &known), None);
    let options = Options { most_clusters: 4, ..Options::default() };
    assert_eq!(unfinished(&fitted(&normal, &options), &options), None);
}

/// What is no mixture stays so where the test has power: against two equal clusters for isotropic tokens, which have no
/// mixture of their own, and against scale 1 where the scale must be 1.
#[test]
fn rejections_with_power_stay() {
    let isotropic = normal_matrix(12, 300, &mut streams("isotropic", 0).part("tokens", 0));
    let (fit, power) = judged(&isotropic, &Options::default());
    assert_eq!((fit.goodness.verdict, power.is_enough()), (Verdict::NotSuchAMixture, true), "{:?}", fit.goodness);
    let truth = Truth::of_fit(&fit, isotropic.view(), false, &Options::default()).unwrap();
    assert_eq!((truth.mixture.dims, truth.mixture.counts), (vec![6, 6], vec![150, 150]));
    let unit = Options { unit_scale: true, ..Options::default() };
    let double = 2.0 * drawn(&Mixture::balanced(300, 2, 6, 0.1).unwrap(), "double");
    assert_eq!(judged(&double, &unit).0.goodness.verdict, Verdict::NotSuchAMixture);
    let shifted = 2.0 * drawn(&Mixture::balanced(400, 2, 40, 0.05).unwrap(), "shifted") + 1.0;
    let (fit, power) = judged(&shifted, &unit);
    assert_eq!((fit.goodness.verdict, power.is_enough()), (Verdict::NotSuchAMixture, true), "{:?}", fit.goodness);
}

/// A true mixture of K equal clusters, p and N, with `limit` as the largest K that is tried: consistent, or undecided.
fn is_not_refused(([clusters, dim, tokens], limit): ([usize; 3], usize)) {
    let mixture = Mixture::balanced(tokens / clusters * clusters, clusters, dim, 0.1).unwrap();
    let options = Options { most_clusters: limit, ..Options::default() };
    let tokens = drawn(&mixture, "heads");
    let mut fit = fitted(&tokens, &options);
    let truth = Truth::of_fit(&fit, tokens.view(), false, &options).unwrap();
    let power = measured(&truth, &options);
    let doubts = unfinished(&fit, &options).map(|k| format!("try {k}"));
    let doubts = doubts.into_iter().chain((!power.is_enough()).then(|| power.words(&truth)));
    judge(&mut fit, doubts.collect());
    assert_ne!(fit.goodness.verdict, Verdict::NotSuchAMixture, "{:?} {power:?}", fit.goodness);
    // The test has power where there are six tokens a dimension, and the search goes on to K.
    let expected = tokens.ncols() >= 6 * tokens.nrows() && limit >= clusters;
    assert_eq!(fit.goodness.verdict == Verdict::Consistent, expected, "{:?}", fit.goodness);
}

#[test]
fn small_mixtures_are_not_refused() {
    let sizes = [([6, 8, 300], 4), ([6, 8, 300], 16), ([6, 8, 96], 4), ([6, 8, 192], 16)];
    sizes.into_iter().for_each(is_not_refused);
}

/// K and p of the heads of the networks of docs/real-networks.md: that of MSSA layers, MiniLM and SmolLM2.
#[test]
#[ignore = "seven minutes: .ci/full --only budgets"]
fn mixtures_of_the_size_of_networks_heads_are_not_refused() {
    let trained = [([8, 16, 768], 4), ([8, 16, 768], 16)];
    let large = [([12, 32, 768], 4), ([12, 32, 768], 16), ([9, 64, 1020], 4)];
    trained.into_iter().chain(large).for_each(is_not_refused);
}

/// Draws do not depend on how many are fitted at a time; they have the mean, the scale and the type of the tokens.
#[test]
fn draws_are_as_the_tokens_are() {
    let options = Options { clusters: Some(2), centre: true, ..Options::default() };
    let tokens = 3.0 * drawn(&Mixture::balanced(160, 2, 4, 0.1).unwrap(), "as") + 7.0;
    let tokens = tokens.mapv(|x| f64::from(x as f32));
    let fit = fitted(&tokens, &options);
    let truth = Truth::of_fit(&fit, tokens.view(), false, &options).unwrap();
    assert!((truth.scale / 3.0 - 1.0).abs() < 0.1 && truth.bits == 24);
    let draw = truth.draw(&streams("draw", 0)).unwrap().tokens;
    assert_eq!(bits(draw.view()), 24);
    assert!((draw.mean().unwrap() - 7.0).abs() < 0.3);
    let runs = [1, 3].map(|at_once| {
        let delta = |_: &_, fit: &Fit| Ok(fit.delta.value);
        power(&truth, &options, Plan { at_once, ..PLAN }, &streams("power", 0), &delta).unwrap()
    });
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn types_of_numbers_are_seen() {
    for (exponent, expected) in [(7, 8), (8, 11), (10, 11), (23, 24), (24, 53), (52, 53)] {
        assert_eq!(bits(array![[1.0 + 0.5_f64.powi(exponent), -3.0]].view()), expected, "{exponent}");
    }
}

#[test]
fn known_subspaces_have_a_power_too() {
    let draw = Mixture::balanced(160, 2, 4, 0.1).unwrap().draw(&streams("known", 0)).unwrap();
    let options = Options::default();
    let fit = fit_known(draw.tokens.view(), &draw.bases, &draw.labels, &options).unwrap();
    assert!(measured(&Truth::of_fit(&fit, draw.tokens.view(), true, &options).unwrap(), &options).is_enough());
}

#[test]
fn too_few_draws_are_refused() {
    let refused = |draws, level| Plan { draws, at_once: 1 }.validate(level).unwrap_err().to_string();
    assert!(refused(5, 0.95).contains("power-draws = 5: must be 0, which measures no power, or at least 6"));
    assert!(refused(6, 0.99).contains("at least 8"));
    assert!(Plan { draws: 6, at_once: 1 }.validate(0.95).is_ok());
}
