//! Linear self-attention: closed forms against numpy, finite differences and prompts; flows.

use crate::setting::{covariance, slope, streams, weights};
use attnlab_core::linalg::{haar_basis, normal_matrix};
use attnlab_lab::catalogue::Catalogue;
use attnlab_lsa::dynamics::{Empirical, Full, Reduced};
use attnlab_lsa::prompts::RegressionPrompts;
use attnlab_lsa::theory::{Covariance, LsaWeights, Pretraining};
use attnlab_theory::attention::{Linear, SingleHead};
use attnlab_theory::dynamics::flow::{Flow, Method, VectorField};
use ndarray::{Array2, Axis, array, s};
use proptest::prelude::*;
use serde_json::{Value, json};

fn evaluate(id: &str, set: Value) -> attnlab_core::error::Result<Value> {
    let set = set.as_object().unwrap().clone();
    Ok(Catalogue::new().with(attnlab_lsa::room()).formula(id)?.evaluate(&set)?.value)
}

/// numpy: L = [[2, .5, 0], [.5, 1, -.2], [0, -.2, .5]], N = 7, M = 11, a = (1, -2, .5), noise .3;
/// G = (1+1/N) L + tr(L)/N I; Gi = inv(G); S = (aLa + .3) L + La aL;
/// risk = .3 + tr(S Gi² L)/M + (a Gi² L³ a + 2 tr(L) a Gi² L² a + tr(L)² a Gi² L a)/N²;
/// printed = .3 + tr(S inv(L))/M + (1 + tr(L))² a inv(L) a / N²;
/// shift = c e L e with e = (c Gi L - I) a; min = tr(L (I - Gi L)) / 2.
#[test]
fn closed_forms_are_numpy_s() {
    let covariance = json!([[2.0, 0.5, 0], [0.5, 1, -0.2], [0, -0.2, 0.5]]);
    let task = json!([1, -2, 0.5]);
    let base = json!({"covariance": covariance, "N": 7});
    let inverse = evaluate("lsa.gamma_inverse", base.clone()).unwrap();
    let expected = [
        [0.3874652354071384, -0.1388930226097999, -0.029630511490090643],
        [-0.13889302260979988, 0.6771034852227745, 0.1444487435141919],
        [-0.029630511490090647, 0.1444487435141919, 0.9641490652830277],
    ];
    for (i, row) in expected.iter().enumerate() {
        for (j, e) in row.iter().enumerate() {
            assert!((inverse[i][j].as_f64().unwrap() - e).abs() < 1e-14);
        }
    }
    let near = |id: &str, set: Value, expected: f64| {
        let value = evaluate(id, set).unwrap().as_f64().unwrap();
        assert!((value / expected - 1.0).abs() < 1e-13, "{id}: {value} {expected}");
    };
    near("lsa.minimum", base.clone(), 0.5988141181450507);
    let test = json!({"covariance": covariance, "N": 7, "M": 11, "task": task, "noise_var": 0.3});
    near("lsa.risk", test.clone(), 1.695850325635074);
    near("lsa.risk_printed", test.clone(), 4.6251260195330275);
    // The same with G = (1+1/N) L + (tr(L) + .7)/N I, and e L e with e = (Gi L - I) a for the 1/N² terms,
    // which are without training noise; min + .7/2.
    let noisy = |mut set: Value| {
        set["train_noise_var"] = json!(0.7);
        set
    };
    near("lsa.risk", noisy(test.clone()), 1.7759726966363443);
    near("lsa.minimum", noisy(base), 0.9987493307564737);
    let sum: f64 = evaluate("lsa.risk_parts", test).unwrap().as_array().unwrap().iter().filter_map(Value::as_f64).sum();
    assert!((sum - 1.695850325635074).abs() < 1e-13);
    for (c, expected) in
        [(0.5, 1.1376985397355057), (1.0, 0.7939638350125326), (2.0, 0.2712127486142062), (4.0, 32.147710262969426)]
    {
        near("lsa.shift", json!({"covariance": covariance, "N": 7, "task": task, "scale": c}), expected);
    }
}

/// The best linear predictor of a linear target leaves the noise, to the last digit.
#[test]
fn a_linear_target_leaves_the_noise() {
    let set = json!({"covariance": [[1.0, 0.2], [0.2, 3.0]], "N": 5, "M": 7, "task": [1.5, -2.0], "noise_var": 1e-14});
    assert_eq!(evaluate("lsa.risk_parts", set).unwrap()[0], json!(1e-14));
}

#[test]
fn bad_input_is_refused() {
    assert!(Pretraining::new(covariance(&[1.0], 0), 3, -1.0).is_err());
    assert!(Pretraining::new(covariance(&[1.0], 0), 3, f64::NAN).is_err());
    assert!(Covariance::new(array![[f64::NAN]]).is_err());
    assert!(Covariance::new(Array2::zeros((0, 0))).is_err());
    assert!(LsaWeights::theorem(1.0, Array2::zeros((2, 2)).view()).is_err());
    assert!(LsaWeights::of_matrices(Array2::eye(3).view(), Array2::eye(2).view()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The gradient is the derivative of the loss, in every weight.
    #[test]
    fn gradient_is_the_derivative(
        d in 1_usize..5, n in 1_usize..9, noise in 0.0..1.0, scale in 0.05..1.5, seed: u64,
    ) {
        let values: Vec<f64> = (0..d).map(|i| 0.5 + 0.7 * i as f64).collect();
        let training = Pretraining::new(covariance(&values, seed), n, noise).unwrap();
        let w = weights(d, scale, seed);
        let gradient = training.gradient(&w).to_vec();
        let flat = w.to_vec();
        let size = gradient.iter().fold(training.loss(&w), |m, g| m.max(g.abs()));
        for (i, entry) in gradient.iter().enumerate() {
            let slope = slope(|w| training.loss(w), d, &flat, i);
            prop_assert!((slope - entry).abs() < 1e-7 * size, "{i}: {slope} {entry}");
        }
    }

    /// Euler's relation behind the conserved quantity: both factors of a bilinear prediction.
    #[test]
    fn gradient_is_balanced(d in 1_usize..6, n in 1_usize..9, scale in 0.1..2.0, seed: u64) {
        let values: Vec<f64> = (0..d).map(|i| 1.0 / (1.0 + i as f64)).collect();
        let training = Pretraining::new(covariance(&values, seed), n, 0.1).unwrap();
        let w = weights(d, scale, seed);
        let g = training.gradient(&w);
        let left = g.u * w.u + g.v.dot(&w.v);
        let right = (&g.b * &w.b).sum() + g.c.dot(&w.c);
        let size = training.loss(&w) + left.abs();
        prop_assert!((left - right).abs() < 1e-12 * size, "{left} {right}");
    }

    /// At the limit: least loss, no gradient, and nothing below it.
    #[test]
    fn the_limit_is_a_minimum(d in 1_usize..6, n in 1_usize..50, conserved in -3.0..3.0, seed: u64) {
        let values: Vec<f64> = (0..d).map(|i| 0.1 + i as f64).collect();
        let training = Pretraining::new(covariance(&values, seed), n, 0.0).unwrap();
        let limit = training.limit(conserved);
        prop_assert!((limit.conserved() - conserved).abs() < 1e-12 * limit.norm2());
        prop_assert!(training.excess(&limit) < 1e-28 * training.loss_of_zero());
        prop_assert!(training.gradient(&limit).norm2() < 1e-24);
        let zero = LsaWeights::zeros(d);
        prop_assert!((training.loss(&zero) / training.loss_of_zero() - 1.0).abs() < 1e-13);
        prop_assert!(training.excess(&weights(d, 1.0, seed)) >= 0.0);
    }

    /// The matrices and the vector of weights hold the same numbers.
    #[test]
    fn weights_come_back(d in 1_usize..5, seed: u64) {
        let w = weights(d, 1.0, seed);
        prop_assert_eq!(&LsaWeights::of_slice(d, &w.to_vec()), &w);
        let (w_pv, w_kq) = w.matrices();
        prop_assert_eq!(&LsaWeights::of_matrices(w_pv.view(), w_kq.view()).unwrap(), &w);
        let axes = haar_basis(d, d, &mut streams(seed).part("axes", 1)).unwrap();
        for (a, b) in w.rotated(axes.view()).rotated(axes.t()).to_vec().iter().zip(w.to_vec()) {
            prop_assert!((a - b).abs() < 1e-13);
        }
    }
}

/// The trained layer is what the attention operator does with those weights, and the loss over
/// prompts is that of the operator.
#[test]
fn weights_and_operator_agree() {
    let (d, n) = (3, 5);
    let training = Pretraining::new(covariance(&[1.0, 0.5, 2.0], 4), n, 0.2).unwrap();
    let w = weights(d, 0.7, 4);
    let prompts = RegressionPrompts::of_training(&training);
    let mut rng = streams(4).part("prompts", 0);
    // So many that the loss is kept by its moments (30 features).
    let drawn: Vec<_> = (0..40).map(|_| prompts.draw(&mut rng)).collect();
    let (w_pv, w_kq) = w.matrices();
    let layer = SingleHead { w_pv, w_kq, phi: Linear.into(), rho: n as f64 };
    let tokens: Vec<_> = drawn.iter().map(|p| (p.tokens(), p.answer)).collect();
    let mut sum = 0.0;
    for (prompt, (tokens, answer)) in drawn.iter().zip(&tokens) {
        let prediction = layer.predict(tokens.view()).unwrap();
        // The formula for the prediction, term by term.
        let examples = prompt.inputs.dot(&prompt.inputs.t()) / n as f64;
        let outer = Array2::from_shape_fn((d, d), |(i, j)| prompt.query[i] * prompt.query[j]);
        let b = prompt.inputs.dot(&prompt.labels) / n as f64;
        let s = prompt.labels.dot(&prompt.labels) / n as f64;
        let examples_and_labels = tokens.slice(s![.., ..n]);
        let direct = w.predictions(examples_and_labels, prompt.query.view().insert_axis(Axis(1)), n as f64)[0];
        assert!((prediction - direct).abs() < 1e-12 * (1.0 + prediction.abs()));
        let odd = b.dot(&w.product().dot(&prompt.query));
        let second = (examples + outer / n as f64).dot(&w.v);
        let even = prompt.query.dot(&w.b.t().dot(&second)) + w.u * s * w.c.dot(&prompt.query);
        assert!((prediction - odd - even).abs() < 1e-12 * (odd.abs() + even.abs()));
        sum += 0.5 * (prediction - answer).powi(2) / drawn.len() as f64;
    }
    let empirical = Empirical::new(tokens.iter().map(|(t, y)| (t, *y))).unwrap();
    assert!((empirical.loss(&w) / sum - 1.0).abs() < 1e-12);
    let gradient = empirical.gradient(&w).to_vec();
    let plain = Empirical::plain(tokens.iter().map(|(t, y)| (t, *y))).unwrap();
    assert!((plain.loss(&w) / sum - 1.0).abs() < 1e-12);
    for (a, b) in gradient.iter().zip(plain.gradient(&w).to_vec()) {
        assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{a} {b}");
    }
    for (i, entry) in gradient.iter().enumerate() {
        let slope = slope(|w| empirical.loss(w), d, &w.to_vec(), i);
        assert!((slope - entry).abs() < 1e-7 * (1.0 + slope.abs()), "{i}");
    }
}

/// The reduced flow is the full flow, by explicit and implicit methods.
#[test]
fn reduced_flow_is_the_full_flow() {
    let training = Pretraining::new(covariance(&[1.0, 0.6, 0.3], 3), 6, 0.1).unwrap();
    let start = LsaWeights::theorem(0.2, normal_matrix(3, 3, &mut streams(3).part("theta", 0)).view()).unwrap();
    let reduced = Reduced::new(&training, &start).unwrap();
    let times = [0.5, 3.0, 20.0];
    let full = Flow::new(Method::Tsit45).within(1e-12).run(&Full(&training), &start.to_vec(), &times).unwrap();
    for method in Method::ALL {
        let path = Flow::new(method).run(&reduced, &reduced.start(), &times).unwrap();
        for (a, b) in path.states.iter().zip(&full.states) {
            for (a, b) in reduced.weights(a).to_vec().iter().zip(b) {
                // Dense output is of lower order than the steps.
                assert!((a - b).abs() < 1e-6, "{method:?}: {a} {b}");
            }
        }
    }
    assert!(Reduced::new(&training, &weights(3, 1.0, 0)).is_none());
}

/// The derivative of the reduced flow is that of its rate.
#[test]
fn reduced_derivative_is_exact() {
    struct Numeric<'a>(Reduced<'a>);
    impl VectorField for Numeric<'_> {
        fn dim(&self) -> usize {
            self.0.dim()
        }
        fn rate(&self, x: &[f64], out: &mut [f64]) {
            self.0.rate(x, out);
        }
    }
    let training = Pretraining::new(covariance(&[1.0, 0.6, 0.3], 3), 6, 0.0).unwrap();
    let mut start = weights(3, 0.5, 7);
    start.v.fill(0.0);
    start.c.fill(0.0);
    let field = Numeric(Reduced::new(&training, &start).unwrap());
    let x = [0.4, 0.3, 0.2, -0.5, 0.9];
    for i in 0..5 {
        let mut v = [0.0; 5];
        v[i] = 1.0;
        let (mut exact, mut numeric) = ([0.0; 5], [0.0; 5]);
        field.0.derivative(&x, &v, &mut exact);
        field.derivative(&x, &v, &mut numeric);
        for (a, b) in exact.iter().zip(numeric) {
            assert!((a - b).abs() < 1e-9, "{i}: {a} {b}");
        }
    }
}

/// The reduced flow, which is the full one from the theorem's initial weights, at d = 200 and condition number 1000.
#[test]
fn the_reduced_flow_reaches_the_limit_in_200_dimensions() {
    let d = 200;
    let values: Vec<f64> = (0..d).map(|i| 1000_f64.powf(-(i as f64) / (d - 1) as f64)).collect();
    let training = Pretraining::new(Covariance::diagonal(&values).unwrap(), 400, 0.0).unwrap();
    let start = LsaWeights::theorem(0.1, Array2::eye(d).view()).unwrap();
    let flow = Reduced::new(&training, &start).unwrap();
    let path = Flow::new(Method::Bdf).run(&flow, &flow.start(), &[40.0 * training.lifetime()]).unwrap();
    let end = flow.weights(path.end());
    let limit = training.limit(start.conserved());
    let gap = (end.product() - limit.product()).iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    assert!(gap < 1e-6 * limit.product()[[d - 1, d - 1]], "{gap} after {} steps", path.steps);
}
