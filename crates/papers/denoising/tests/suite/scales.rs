//! The loss over (α, β) against its definition, and attention over infinitely many tokens.

use attnlab_core::rng::Streams;
use attnlab_core::stats::mean;
use attnlab_denoising::prompts::{Denoising, Dimension, Family, Prompt, draw_tokens};
use attnlab_denoising::scales::ScaleLandscape;
use attnlab_denoising::theory::Prior;
use attnlab_theory::attention::softmax_attention;
use ndarray::{Array2, ArrayView1, array};

fn streams(trial: u64) -> Streams {
    Streams::new(7, "tests.memory", 0, trial)
}

fn clusters() -> Denoising {
    Denoising {
        family: Family::Clusters { weights: vec![0.3, 0.7], variances: vec![0.05, 0.3], radius: 1.0 },
        ambient: 3,
        context: 60,
        sigma_z2: 0.4,
    }
}

/// The landscape against the plain layer, and its lowest point against all of a fine grid.
#[test]
fn the_landscape_is_the_loss_of_the_plain_layer() {
    let problem = clusters();
    let prompts: Vec<_> = (0..50).map(|i| problem.draw(&streams(i)).unwrap()).collect();
    let landscape = ScaleLandscape::new(prompts.clone()).unwrap();
    for (alpha, beta) in [(1.0, 2.5), (-0.4, 1.0), (1.7, -3.0), (0.9, 200.0)] {
        let (w_pv, w_kq) = (Array2::eye(3) * alpha, Array2::eye(3) * beta);
        let loss = |p: &Prompt| {
            let output = softmax_attention(p.context.view(), w_pv.view(), w_kq.view(), p.query.view());
            (output - &p.target).mapv(|v| v * v).sum()
        };
        let plain = prompts.iter().map(loss).sum::<f64>() / 50.0;
        let formula = landscape.moments(beta).unwrap().loss(alpha);
        assert!((formula / plain - 1.0).abs() < 1e-12, "{alpha} {beta}: {formula} {plain}");
        let losses = landscape.losses(alpha, beta).unwrap();
        assert!((losses.iter().sum::<f64>() / 50.0 / plain - 1.0).abs() < 1e-12);
    }
    let lowest = landscape.minimum(0.05, 50.0).unwrap();
    for i in 0..400 {
        let moments = landscape.moments(0.05 * 1000_f64.powf(f64::from(i) / 399.0)).unwrap();
        assert!(moments.loss(moments.best_alpha()) >= lowest.loss - 1e-9);
    }
}

/// Attention over very many tokens tends to its limit, for every law and either sign of β.
#[test]
fn attention_tends_to_its_limit() {
    let families = [
        Family::Subspace { dim: Dimension::Fixed(2), sigma0_2: 0.7 },
        Family::Sphere { dim: Dimension::Fixed(1), radius: 1.2 },
        clusters().family,
        Family::SphericalClusters { weights: vec![0.4, 0.6], concentrations: vec![2.0, 8.0], radius: 1.0 },
    ];
    let query = array![0.5, -0.8, 0.3];
    for family in families {
        let problem = Denoising { family, ..clusters() };
        let prior = problem.draw_prior(&streams(9)).unwrap();
        let tokens = draw_tokens(&prior, 40_000, &mut streams(9).part("tokens", 0)).unwrap();
        for beta in [-1.5, 0.0, 0.8] {
            let limit = prior.attention_limit(query.view(), beta).unwrap();
            // Importance weights: E[w (X - limit)] = 0 for the true tilted mean.
            for i in 0..3 {
                let weighted = |x: ArrayView1<f64>| (beta * x.dot(&query)).exp() * (x[i] - limit[i]);
                let values: Vec<f64> = tokens.columns().into_iter().map(weighted).collect();
                // 36 comparisons at 99.99 %.
                let estimate = mean(&values, 0.9999).unwrap();
                assert!(estimate.covers(0.0), "{:?} {beta} {i}: {estimate:?}", problem.family);
            }
        }
    }
}

#[test]
fn bad_scales_are_refused() {
    assert!(ScaleLandscape::new(vec![]).is_err());
    let problem = clusters();
    let landscape = ScaleLandscape::new(vec![problem.draw(&streams(0)).unwrap()]).unwrap();
    assert!(landscape.moments(f64::NAN).is_err());
    for (low, high) in [(0.0, 1.0), (2.0, 1.0), (1.0, f64::INFINITY), (f64::NAN, 1.0)] {
        assert!(landscape.minimum(low, high).is_err());
    }
    let prior: Prior = problem.draw_prior(&streams(0)).unwrap();
    assert!(prior.attention_limit(array![1.0, 2.0, 3.0].view(), f64::NAN).is_err());
    assert!(prior.attention_limit(array![1.0, 2.0].view(), 1.0).is_err());
}
