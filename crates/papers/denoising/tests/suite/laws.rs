//! In-context denoising: closed forms against quadrature, samplers
//! against exact moments.

use super::catalogue;
use attnlab_core::error::Result;
use attnlab_core::linalg::haar_basis;
use attnlab_core::rng::Streams;
use attnlab_core::stats::mean;
use attnlab_denoising::prompts::{Denoising, Dimension, Family, draw_tokens};
use attnlab_denoising::theory::mixture::{Clusters, Weight, two_cluster_mmse};
use attnlab_denoising::theory::spherical::SphericalClusters;
use attnlab_denoising::theory::{Predictor, Prior, linear, sphere};
use ndarray::{Array1, Array2, array};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn streams(trial: u64) -> Streams {
    Streams::new(2026, "tests.denoising", 0, trial)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Rotating the law and the query rotates the prediction.
    #[test]
    fn spherical_clusters_rotate(seed in 0_u64..1000) {
        let problem = Denoising { sigma_z2: 0.3, ..problem(spherical(), 5) };
        let prompt = problem.draw(&streams(seed)).unwrap();
        let Prior::SphericalClusters(c) = &prompt.prior else { panic!("not clusters") };
        let q = haar_basis(5, 5, &mut streams(seed).part("rotation", 0)).unwrap();
        let turned = SphericalClusters { means: q.dot(&c.means), ..c.clone() };
        let posterior = turned.posterior_mean(q.dot(&prompt.query).view(), 0.3).unwrap();
        let expected = q.dot(&c.posterior_mean(prompt.query.view(), 0.3).unwrap());
        prop_assert!((posterior - expected).iter().all(|x| x.abs() < 1e-12));
    }
}

fn problem(family: Family, ambient: usize) -> Denoising {
    Denoising { family, ambient, context: 40, sigma_z2: 0.5 }
}

fn spherical() -> Family {
    Family::SphericalClusters { weights: vec![0.25, 0.75], concentrations: vec![3.0, 12.0], radius: 1.5 }
}

fn families() -> Vec<Family> {
    vec![
        Family::Subspace { dim: Dimension::Fixed(3), sigma0_2: 2.0 },
        Family::Anisotropic { variances: vec![0.2, 1.0, 3.0] },
        Family::Sphere { dim: Dimension::Fixed(2), radius: 1.5 },
        Family::Clusters { weights: vec![0.2, 0.3, 0.5], variances: vec![0.0, 0.1, 0.4], radius: 1.0 },
        spherical(),
    ]
}

/// Losses in closed form against the mean loss over drawn prompts, for every predictor and law.
#[test]
fn expected_losses_are_those_of_drawn_prompts() {
    for family in families() {
        let problem = problem(family, 5);
        // One law for all prompts, as the closed forms have it; prompts from their own streams.
        let prior = problem.draw_prior(&streams(0)).unwrap();
        for predictor in Predictor::ALL {
            let Some(expected) = predictor.loss(&prior, 40.0, problem.sigma_z2) else { continue };
            let square = |trial: u64| {
                let streams = streams(trial);
                let context = draw_tokens(&prior, 40, &mut streams.part("context", 0)).unwrap();
                let (x, y) = problem.draw_queries(&prior, 1, &streams).unwrap();
                let prediction = predictor.predict(&prior, context.view(), y.column(0), problem.sigma_z2);
                let error = prediction.unwrap() - x.column(0);
                error.dot(&error)
            };
            // 35 comparisons at 99.99 % each: a false alarm in 300 changes of the streams.
            let estimate = mean(&(0..3000).map(square).collect::<Vec<_>>(), 0.9999).unwrap();
            assert!(estimate.covers(expected), "{predictor:?} {prior:?}: {estimate:?} {expected}");
        }
    }
}

/// The posterior mean is optimal: for the laws without a closed loss, no other predictor is better,
/// and the error is orthogonal to the query.
#[test]
fn the_bayes_error_is_orthogonal_to_the_query() {
    for family in families() {
        let problem = problem(family, 5);
        let product = |trial: u64| {
            let streams = streams(trial);
            let prior = problem.draw_prior(&streams).unwrap();
            let (x, y) = problem.draw_queries(&prior, 1, &streams).unwrap();
            let query = y.column(0);
            let best = prior.posterior_mean(query, problem.sigma_z2).unwrap();
            (best - x.column(0)).dot(&query)
        };
        let estimate = mean(&(0..4000).map(product).collect::<Vec<_>>(), 0.9999).unwrap();
        assert!(estimate.covers(0.0), "{:?}: {estimate:?}", problem.family);
    }
}

#[test]
fn von_mises_fisher_tokens_have_their_mean_and_radius() {
    let problem = problem(spherical(), 5);
    let prior = problem.draw_prior(&streams(1)).unwrap();
    let tokens = draw_tokens(&prior, 20_000, &mut streams(1).part("tokens", 0)).unwrap();
    for token in tokens.columns() {
        assert!((token.dot(&token) - 2.25).abs() < 1e-12);
    }
    for (row, expected) in tokens.rows().into_iter().zip(prior.mean()) {
        let estimate = mean(&row.to_vec(), 0.9999).unwrap();
        assert!(estimate.covers(expected), "{estimate:?} {expected}");
    }
    // One cluster of concentration 0 is the uniform sphere in n dimensions.
    let (means, weights) = (array![[1.0], [0.0], [0.0]], vec![1.0]);
    let uniform = SphericalClusters { means, weights, concentrations: vec![0.0], radius: 1.0 };
    let query = Array1::from(vec![0.3, -0.4, 1.2]);
    let posterior = uniform.posterior_mean(query.view(), 0.7).unwrap();
    let norm = query.dot(&query).sqrt();
    let expected = &query * (sphere::shrinkage(2, 1.0, 0.7, norm) / norm);
    assert!((posterior - expected).iter().all(|x| x.abs() < 1e-14));
}

#[test]
fn samples_are_pinned_and_contexts_nested() {
    let family = Family::Sphere { dim: Dimension::Drawn { low: 1, high: 3 }, radius: 1.0 };
    let short = problem(family, 5);
    let long = Denoising { context: 100, ..short.clone() };
    let mut dims = std::collections::BTreeSet::new();
    for trial in 0..50 {
        let (a, b) = (short.draw(&streams(trial)).unwrap(), long.draw(&streams(trial)).unwrap());
        assert_eq!(a.query, b.query);
        let gap = &a.context - &b.context.slice(ndarray::s![.., ..40]);
        assert!(gap.iter().all(|x| x.abs() < 1e-14));
        dims.insert(a.prior.rank());
    }
    assert_eq!(dims.into_iter().collect::<Vec<_>>(), [2, 3, 4]);
}

fn eval(id: &str, set: Value) -> Result<Value> {
    let set: Map<String, Value> = set.as_object().cloned().unwrap();
    Ok(catalogue().formula(id)?.evaluate(&set)?.value)
}

/// Integrals by scipy and mpmath, products of the paper and of an independent training run, at the
/// settings of the authors' code: the radial density is t^{m/2} lambda^{1-m/2} e^{-(t-lambda)^2/2}
/// ive(m/2-1, lambda t) with lambda = R/sigma_Z, m = d+1, and r = ive(nu+1, k)/ive(nu, k).
#[test]
fn formulas_have_their_known_values() {
    let known = [
        ("denoise.linear_gamma", json!({"d": 8, "L": 499, "sigma0_2": 2, "sigma_z2": 1}), 0.32743, 5e-6),
        ("denoise.linear_mmse", json!({"d": 8, "sigma0_2": 2, "sigma_z2": 1}), 16.0 / 3.0, 1e-13),
        // mpmath: besseli(4.5, 13.8) / besseli(3.5, 13.8)
        ("denoise.sphere_shrinkage", json!({"d": 8, "R": 1, "sigma_z2": 0.1, "norm": 1.38}), 0.7435655786009, 1e-12),
        ("denoise.sphere_shrinkage_printed", json!({"d": 8, "R": 1, "sigma_z2": 0.1, "norm": 1.38}), 0.414, 5e-4),
        ("denoise.sphere_mmse", json!({"d": 8, "R": 1, "sigma_z2": 0.1}), 0.463883529935509, 1e-12),
        ("denoise.softmax_rate", json!({"d": 1, "R": 1, "sigma_z2": 0.1}), 0.2824123958, 1e-9),
        ("denoise.sphere_linear_gamma", json!({"d": 8, "L": 499, "R": 1, "sigma_z2": 0.1}), 4.662, 5e-4),
        (
            "denoise.two_cluster_mmse",
            json!({"n": 1, "R": 1, "weight": 0.5, "sigma0_2": 0, "sigma_z2": 1}),
            0.449599509206673,
            1e-12,
        ),
    ];
    for (id, set, expected, tol) in known {
        let value = eval(id, set).unwrap().as_f64().unwrap();
        assert!((value - expected).abs() <= tol, "{id}: {value} {expected}");
    }
    // The law at context lengths 20, 40, 100 and 260 of Fig. 5a, which count the query in.
    for (d, context, expected) in [(8, 19, 0.226), (8, 39, 0.271), (8, 99, 0.306), (8, 259, 0.322)] {
        let set = json!({"d": d, "L": context, "sigma0_2": 2, "sigma_z2": 1});
        let gamma = eval("denoise.linear_gamma", set).unwrap().as_f64().unwrap();
        let exact = 1.0 / (3.0 * (1.0 + 9.0 / f64::from(context)));
        assert!((gamma - exact).abs() < 1e-14 && (gamma - expected).abs() < 6e-4);
    }
}

/// The definition, summed over a grid.
#[test]
fn the_mixture_posterior_is_that_of_the_definition() {
    let clusters =
        Clusters { means: array![[1.0, -0.5], [0.2, 0.7]], weights: vec![0.3, 0.7], variances: vec![0.1, 0.6] };
    let query = Array1::from(vec![0.4, 0.3]);
    let posterior = clusters.posterior_mean(query.view(), 0.5, Weight::Corrected).unwrap();
    let grid = |i: i32| -6.0 + 0.03 * f64::from(i);
    let (mut mass, mut first) = (0.0, Array1::<f64>::zeros(2));
    for (x, y) in (0..=400).flat_map(|i| (0..=400).map(move |j| (grid(i), grid(j)))) {
        let density = |a: usize| {
            let v = clusters.variances[a];
            let r2 = (x - clusters.means[[0, a]]).powi(2) + (y - clusters.means[[1, a]]).powi(2);
            clusters.weights[a] / (2.0 * std::f64::consts::PI * v) * (-r2 / (2.0 * v)).exp()
        };
        let z2 = (x - query[0]).powi(2) + (y - query[1]).powi(2);
        let w = (density(0) + density(1)) * (-z2 / 1.0).exp();
        mass += w;
        first += &(array![x, y] * w);
    }
    assert!((&posterior - &(first / mass)).iter().all(|x| x.abs() < 1e-12));
    let printed = clusters.posterior_mean(query.view(), 0.5, Weight::Printed).unwrap();
    assert!((printed - posterior).iter().any(|x| x.abs() > 0.02));
}

/// Two clusters: the quadrature along the line against the mean loss over draws.
#[test]
fn two_clusters_have_their_loss() {
    let axis: Array2<f64> = array![[0.6, -0.6], [0.8, -0.8]];
    let prior = Prior::Clusters(Clusters { means: axis, weights: vec![0.3, 0.7], variances: vec![0.2, 0.2] });
    let problem = problem(families().remove(0), 2);
    let (x, y) = problem.draw_queries(&prior, 20_000, &streams(3)).unwrap();
    let square = |(x, y): (ndarray::ArrayView1<f64>, ndarray::ArrayView1<f64>)| {
        let error = prior.posterior_mean(y, 0.5).unwrap() - x;
        error.dot(&error)
    };
    let values: Vec<f64> = x.columns().into_iter().zip(y.columns()).map(square).collect();
    let estimate = mean(&values, 0.9999).unwrap();
    let expected = two_cluster_mmse(2, 1.0, 0.3, 0.2, 0.5);
    assert!(estimate.covers(expected), "{estimate:?} {expected}");
    // The anisotropic law at finite L reduces to the isotropic one.
    let a = linear::attention_mse(&[2.0; 3], 7.0, 0.5, 0.4);
    let b = 3.0 * (0.16 * 2.5 * 4.0 * (1.0 + 4.0 / 7.0) - 0.8 * 4.0 + 2.0);
    assert!((a - b).abs() < 1e-13);
}

#[test]
fn bad_input_names_what_is_wrong() {
    let good = problem(families().remove(0), 5);
    let message = |p: Denoising| p.draw(&streams(0)).unwrap_err().to_string();
    let with = |family: Family| message(Denoising { family, ..good.clone() });
    assert_eq!(message(Denoising { context: 0, ..good.clone() }), "L = 0: must be a whole number >= 1");
    for sigma_z2 in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = message(Denoising { sigma_z2, ..good.clone() });
        assert!(refused.starts_with("sigma_z2 = "), "{refused}");
    }
    for d in [0, 5, 6] {
        let refused = with(Family::Subspace { dim: Dimension::Fixed(d), sigma0_2: 1.0 });
        assert!(refused.starts_with(&format!("d = {d}: must be")), "{refused}");
    }
    let sphere = |dim, radius| with(Family::Sphere { dim, radius });
    assert!(sphere(Dimension::Drawn { low: 3, high: 2 }, 1.0).starts_with("least d = 3"));
    assert!(sphere(Dimension::Fixed(2), f64::NAN).starts_with("R = NaN"));
    let clusters = |weights: Vec<f64>, variances: Vec<f64>| with(Family::Clusters { weights, variances, radius: 1.0 });
    assert!(clusters(vec![0.5, 0.4], vec![1.0, 1.0]).starts_with("sum of weights = 0.9"));
    assert!(clusters(vec![1.5, -0.5], vec![1.0, 1.0]).starts_with("weights[1] = -0.5"));
    assert!(clusters(vec![0.5, 0.5], vec![1.0, f64::NAN]).starts_with("variances[1] = NaN"));
    assert!(clusters(vec![0.5, 0.5], vec![1.0]).starts_with("variances has shape 1"));

    let posterior = |change: Value| {
        let mut set = json!({
            "means": [[1, 0], [0, 1]], "weights": [0.5, 0.5], "variances": [0.1, 0.2],
            "sigma_z2": 0.1, "x": [0.5, 0.5]
        });
        set.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        eval("denoise.mixture_posterior_printed", set)
    };
    assert!(posterior(json!({})).is_ok());
    for bad in [
        json!({"weights": [0.5, 0.6]}),
        json!({"weights": [1.0]}),
        json!({"variances": [0.1, 0.0]}), // the printed weight is infinite there
        json!({"variances": [0.1, -0.2]}),
        json!({"sigma_z2": 0}),
        json!({"x": [1, 2, 3]}),
        json!({"x": ["a", 2]}),
        json!({"means": [[1, 0], [0]]}),
    ] {
        assert!(posterior(bad.clone()).is_err(), "{bad}");
    }
}

/// Where squares or differences of closed forms have lost their digits; the right numbers by hand or by mpmath.
#[test]
fn closed_forms_keep_their_digits() {
    let near = |value: &Value, exact: f64| {
        let value = value.as_f64().unwrap();
        assert!((value / exact - 1.0).abs() < 1e-9, "{value} {exact}");
    };
    // At the best γ one direction has σ² left, and 2/L of the context in the second case.
    let set = json!({"d": 0, "L": 1, "R": 1e10, "sigma_z2": 1e-30});
    near(&eval("denoise.sphere_linear_mse", set).unwrap(), 1e-30);
    let set = json!({"d": 1, "L": 1_000_000_000_000_u64, "sigma0_2": 1.0, "sigma_z2": 1e-12});
    near(&eval("denoise.linear_mse", set).unwrap(), 3e-12);
    // Of two clusters far away: half of the query's .5, and half of tanh(.25), in the second component.
    let set =
        json!({"means": [[0, 1], [0, -1]], "weights": [0.5, 0.5], "variances": [1, 1], "sigma_z2": 1, "x": [1e9, 0.5]});
    near(&eval("denoise.mixture_posterior", set).unwrap()[1], 0.372_459_331_201_854_6);
    let set = json!({"means": [[1e-5], [-1e-5]], "weights": [0.5, 0.5], "variances": [0, 0], "sigma_z2": 1e-30, "x": [1e-26]});
    near(&eval("denoise.mixture_posterior", set).unwrap()[0], 1e-5 * 0.1_f64.tanh());
    // A query that favours neither of two sharp clusters.
    let set = json!({
        "means": [[1, 0, 0], [0, 1, 0]], "weights": [0.3, 0.7], "concentrations": [1e16, 1e16], "R": 1, "sigma_z2": 1,
        "x": [0.5, 0.5, 0.2]
    });
    let mean = eval("denoise.spherical_posterior", set).unwrap();
    near(&mean[0], 0.3);
    near(&mean[1], 0.7);
    let set = json!({"n": 1, "R": 30, "weight": 0.5, "sigma0_2": 0, "sigma_z2": 1});
    // mpmath: R e^{-R²/2}/√(2π) ∫ sech(x) e^{-x²/(2R²)} dx
    near(&eval("denoise.two_cluster_mmse", set).unwrap(), 1.386_981_404_690_515_6e-194);
}
