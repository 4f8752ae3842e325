//! The layer and its training: the terms of the drift, and bad input.

use attnlab_joma::dynamics::{Attention, Backpropagated, Embeddings, Form, Run, Training, account};
use attnlab_joma::theory::Activation;
use attnlab_theory::dynamics::flow::{Flow, Method, VectorField};
use ndarray::{Array1, Array2, array};

/// Numbers between -1 and 1 that look random: a fixed sequence is enough here.
fn numbers(count: usize, from: usize) -> Vec<f64> {
    (from..from + count).map(|i| ((i * i) as f64 * 0.734 + i as f64).sin()).collect()
}

fn layer(attention: Attention, phi: Activation, gradient: Backpropagated) -> Training {
    let x = Array2::from_shape_vec((4, 5), numbers(20, 3)).unwrap().mapv(f64::abs);
    Training::new(attention, phi, 2, x, vec![0.2; 5], gradient).unwrap()
}

fn stationary() -> Backpropagated {
    Backpropagated::Stationary(Array2::from_shape_vec((2, 5), numbers(10, 40)).unwrap())
}

fn labels() -> Backpropagated {
    Backpropagated::CrossEntropy(vec![0, 1, 1, 0, 1])
}

const KINDS: [Attention; 3] = [Attention::Linear, Attention::Exp, Attention::Softmax];

/// (2) is the gradient of the objective, by central differences, for either gradient and any attention.
#[test]
fn training_climbs_its_objective() {
    for attention in KINDS {
        for gradient in [stationary(), labels()] {
            let layer = layer(attention, Activation::Tanh, gradient)
                .with_embeddings(Embeddings::coherent(4, 0.3, -0.2).unwrap())
                .unwrap()
                .at_temperature(0.7)
                .unwrap();
            let state = numbers(layer.dim(), 7);
            let mut rate = vec![0.0; layer.dim()];
            layer.rate(&state, &mut rate);
            for i in 0..state.len() {
                let objective_at = |h: f64| {
                    let mut x = state.clone();
                    x[i] += h;
                    layer.objective(&x)
                };
                let slope = (objective_at(1e-5) - objective_at(-1e-5)) / 2e-5;
                assert!((slope - rate[i]).abs() < 1e-9, "{attention:?} {i}: {slope} {}", rate[i]);
            }
        }
    }
}

#[test]
fn coherent_embeddings_have_the_inner_products_asked_for() {
    let e = Embeddings::coherent(5, 0.3, -0.1).unwrap();
    for ((i, j), g) in e.context.t().dot(&e.context).indexed_iter() {
        let expected = if i == j { 1.0 } else { 0.3 };
        assert!((g - expected).abs() < 1e-14, "{i} {j}: {g}");
    }
    for overlap in e.context.t().dot(&e.query) {
        assert!((overlap + 0.1).abs() < 1e-14);
    }
    assert!((e.query.dot(&e.query) - 1.0).abs() < 1e-14);
}

/// With all assumptions broken at once the four terms still add up to what the invariant drifts.
#[test]
fn the_terms_account_for_the_drift() {
    for attention in KINDS {
        for phi in [Activation::Tanh, Activation::LINEAR, Activation::Softplus] {
            let layer =
                layer(attention, phi, labels()).with_embeddings(Embeddings::coherent(4, 0.3, 0.2).unwrap()).unwrap();
            let run = Run::Flow(Flow::new(Method::Tsit45).within(1e-12));
            let account = account(&layer, &numbers(layer.dim(), 11), 3.0, 10.0, run, Form::DERIVED).unwrap();
            assert!(account.drift > 1e-3, "{attention:?}: {account:?}");
            assert!(account.unexplained < 1e-9, "{attention:?}: {account:?}");
            assert!((account.shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert_eq!(account.shares[2] + account.shares[3] > 0.0, attention == Attention::Softmax);
        }
    }
}

/// The invariants of linear and exp attention need neither Assumption 1 nor a homogeneous activation.
#[test]
fn invariants_hold_under_cross_entropy_and_any_activation() {
    for attention in [Attention::Linear, Attention::Exp] {
        for phi in [Activation::Tanh, Activation::Softplus, Activation::Square] {
            let layer = layer(attention, phi, labels());
            let run = Run::Flow(Flow::new(Method::Tsit45).within(1e-12));
            let account = account(&layer, &numbers(layer.dim(), 5), 3.0, 5.0, run, Form::DERIVED).unwrap();
            assert!(account.drift < 1e-8 && account.moved > 1e-3, "{attention:?} {phi:?}: {account:?}");
        }
    }
    // Σ_l z_l is conserved under softmax, whatever else is not.
    let layer = layer(Attention::Softmax, Activation::Tanh, labels());
    let start = numbers(layer.dim(), 5);
    let path = Flow::new(Method::Tsit45).run(&layer, &start, &[3.0]).unwrap();
    let sum = |x: &[f64]| layer.logits(x).sum();
    assert!((sum(path.end()) - sum(&start)).abs() < 1e-9);
}

/// Where b̄ moves or not, along any softmax flow: żᵀ(db̄/dt) = E żᵀLż, so that a b̄ at rest rests z.
#[test]
fn mean_attention_rests_only_where_the_logits_do() {
    let layer = layer(Attention::Softmax, Activation::Tanh, labels());
    for from in 0..20 {
        let state = numbers(layer.dim(), 100 + 17 * from);
        let mut rate = vec![0.0; layer.dim()];
        layer.rate(&state, &mut rate);
        let h = 1e-5;
        let moved = |s: f64| -> Array1<f64> {
            let x: Vec<f64> = state.iter().zip(&rate).map(|(x, r)| x + s * h * r).collect();
            layer.mean_scores(&x)
        };
        let b_rate = (moved(1.0) - moved(-1.0)) / (2.0 * h);
        let z_rate = layer.logits(&rate).to_owned();
        let inner = z_rate.dot(&b_rate);
        let mut quadratic = 0.0;
        for (i, p) in layer.probabilities().iter().enumerate() {
            let b = layer.scores(&state, i);
            quadratic += p * (z_rate.mapv(|z| z * z).dot(&b) - z_rate.dot(&b).powi(2));
        }
        assert!((inner - quadratic).abs() < 1e-9 && quadratic > 0.0, "{inner} {quadratic}");
    }
}

#[test]
fn bad_input_is_named() {
    let x = array![[1.0, 0.0], [0.0, 1.0]];
    let make = |x: Array2<f64>, p: Vec<f64>, g: Backpropagated| {
        Training::new(Attention::Softmax, Activation::RELU, 1, x, p, g).unwrap_err().to_string()
    };
    let g = || Backpropagated::Stationary(array![[1.0, 1.0]]);
    let (negative, empty) = (array![[1.0, -1.0], [0.0, 1.0]], array![[0.0, 1.0], [0.0, 1.0]]);
    let (labels, short) = (Backpropagated::CrossEntropy(vec![0, 1]), Backpropagated::Stationary(array![[1.0]]));
    for (x, p, g, message) in [
        (&x, vec![0.5, 0.4], g(), "probabilities = [0.5, 0.4]: must be numbers >= 0 that sum to 1, not to 0.9"),
        (&x, vec![1.0], g(), "probabilities has shape [1], expected one per sample, 2 of them, at least one"),
        (&negative, vec![0.5; 2], g(), "input frequency of sample 1 = -1: must be a finite number, >= 0 for softmax"),
        (&empty, vec![0.5; 2], g(), "input frequencies of sample 0 = all 0: must hold at least one token"),
        (&x, vec![0.5; 2], labels, "label = 1: must be a node, a whole number below 1"),
        (&x, vec![0.5; 2], short, "gradient has shape (1, 1), expected (1, 2): node by sample"),
    ] {
        assert_eq!(make(x.clone(), p, g), message);
    }
    assert!(make(x.clone(), vec![f64::NAN, 1.0], g()).starts_with("probabilities = [NaN, 1.0]"));
    let good = Training::new(Attention::Exp, Activation::RELU, 1, x, vec![0.5; 2], g()).unwrap();
    assert!(good.clone().at_temperature(0.0).is_err());
    let error = good.with_embeddings(Embeddings::orthonormal(3)).unwrap_err();
    assert_eq!(error.to_string(), "embeddings has shape (4, 3), expected (d, 2) and a query of dimension d");
}
