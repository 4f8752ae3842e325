//! Risk of the trained linear layer: moments of targets and closed forms against draws and the operator.

use crate::setting::{covariance, streams};
use attnlab_core::linalg::normal_matrix;
use attnlab_lsa::prompts::{PromptTask, RegressionPrompts};
use attnlab_lsa::theory::{Law, Link, Pretraining, Target, risk, risk_at_query};
use attnlab_theory::attention::{Linear, SingleHead};
use ndarray::{Array1, array};

/// Moments of every target against 400 000 draws: each within 5 standard errors.
#[test]
fn moments_of_targets_are_those_of_draws() {
    let covariance = covariance(&[1.0, 0.4], 2);
    let task = array![0.7, -0.5];
    let form = array![[0.3, 0.1], [0.1, -0.4]];
    let mut targets = vec![Target::Linear { task: task.clone() }, Target::Quadratic { task: task.clone(), form }];
    targets.extend(Link::ALL.map(|link| Target::Index { task: task.clone(), link }));
    let (count, noise) = (400_000, 0.3);
    let mut rng = streams(9).part("draws", 0);
    let root = covariance.axes() * &covariance.values().mapv(f64::sqrt);
    let inputs = root.dot(&normal_matrix(2, count, &mut rng));
    let errors = normal_matrix(1, count, &mut rng) * f64::sqrt(noise);
    for target in targets {
        let moments = target.moments(&covariance, noise);
        let mut sums: [(f64, f64); 4] = [(0.0, 0.0); 4];
        for (x, e) in inputs.columns().into_iter().zip(&errors) {
            let y = target.value(x) + e;
            let (r, p) = (&moments.correlation, &moments.products);
            let centred = [x[0] * y - r[0], x[1] * y - r[1]];
            let terms = [
                centred[0],
                centred[0] * centred[1] - p[[0, 1]],
                centred[1] * centred[1] - p[[1, 1]],
                y * y - moments.square,
            ];
            for (sum, term) in sums.iter_mut().zip(terms) {
                sum.0 += term;
                sum.1 += term * term;
            }
        }
        for (i, (sum, square)) in sums.into_iter().enumerate() {
            assert!(sum.abs() < 5.0 * square.sqrt(), "{target:?}, moment {i}: {}", sum / count as f64);
        }
    }
}

/// Mean squared error of a layer over this many prompts, with its standard error.
fn measured(layer: &SingleHead, prompts: &RegressionPrompts, count: u32, seed: u64) -> (f64, f64) {
    let mut rng = streams(seed).part("prompts", 0);
    let error = |_| {
        let prompt = prompts.draw(&mut rng);
        (layer.predict(prompt.tokens().view()).unwrap() - prompt.answer).powi(2)
    };
    let errors: Array1<f64> = (0..count).map(error).collect();
    (errors.mean().unwrap(), errors.std(1.0) / f64::from(count).sqrt())
}

/// A query with its own covariance: the risk through the operator, and the other draws unchanged.
#[test]
fn shift_of_the_query() {
    let training = Pretraining::new(covariance(&[1.0, 0.5], 5), 4, 0.0).unwrap();
    let query = covariance(&[0.2, 3.0], 6);
    let form = array![[0.3, 0.1], [0.1, -0.4]];
    let target = Target::Quadratic { task: array![1.0, 0.3], form };
    let mut prompts = RegressionPrompts {
        covariance: training.covariance().clone(),
        query: None,
        examples: 6,
        task: PromptTask::Fixed(target.clone()),
        noise_var: 0.1,
    };
    let before = prompts.draw(&mut streams(5).part("prompts", 0));
    prompts.query = Some(query.clone());
    prompts.validate().unwrap();
    let after = prompts.draw(&mut streams(5).part("prompts", 0));
    assert_eq!(before.inputs, after.inputs);
    assert!(before.query != after.query);
    let (w_pv, w_kq) = training.limit(0.0).rotated(training.covariance().axes().t()).matrices();
    let layer = SingleHead { w_pv, w_kq, phi: Linear.into(), rho: 6.0 };
    let (mean, spread) = measured(&layer, &prompts, 60_000, 6);
    let law = |covariance| target.moments(covariance, 0.1);
    let (m, q) = (law(training.covariance()), law(&query));
    let of = |covariance, moments| Law { covariance, moments };
    let expected = risk_at_query(&training, of(training.covariance(), &m), of(&query, &q), Some(6));
    let total = expected.total();
    assert!((mean - total).abs() < 4.0 * spread, "{mean} ± {spread}, {total}");
    // The error bar tells it from the risk without the shift.
    let without = risk(&training, training.covariance(), &m, Some(6)).total();
    assert!((mean - without).abs() > 20.0 * spread, "{mean} {without}");

    prompts.query = Some(covariance(&[1.0], 0));
    assert_eq!(
        prompts.validate().unwrap_err().to_string(),
        "covariance of the query has shape 1, expected 2 rows, as the examples' has"
    );
}

/// The exact risk through the operator itself, query and all.
#[test]
fn risk_of_the_operator() {
    let training = Pretraining::new(covariance(&[1.0, 0.5], 5), 4, 0.0).unwrap();
    let target = Target::Index { task: array![1.0, 0.3], link: Link::Relu };
    let test = training.covariance().scaled(1.5).unwrap();
    let m = 6;
    let prompts = RegressionPrompts {
        covariance: test.clone(),
        query: None,
        examples: m,
        task: PromptTask::Fixed(target.clone()),
        noise_var: 0.1,
    };
    prompts.validate().unwrap();
    let (w_pv, w_kq) = training.limit(0.0).rotated(training.covariance().axes().t()).matrices();
    let layer = SingleHead { w_pv, w_kq, phi: Linear.into(), rho: m as f64 };
    let (mean, spread) = measured(&layer, &prompts, 40_000, 5);
    let expected = risk(&training, &test, &target.moments(&test, 0.1), Some(m)).total();
    assert!((mean - expected).abs() < 4.0 * spread, "{mean} ± {spread}, {expected}");
}
