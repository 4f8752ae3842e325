//! Tests of the fit to tokens with a mean of their own.

use super::fit::{mixture, streams};
use attnlab_core::linalg::normal_matrix;
use attnlab_core::stats::binomial;
use attnlab_theory::fit::{Options, Verdict, fit, fit_known};
use ndarray::Axis;

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
                let off = attnlab_core::linalg::frobenius2(off.view()).sqrt();
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
    const DRAWS: u64 = 8;
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
