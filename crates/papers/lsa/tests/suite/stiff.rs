//! Linear self-attention in 40 401 weights, and softmax attention on its prompts.

use crate::setting::{covariance, slope, streams, weights};
use attnlab_lsa::dynamics::{Full, SoftmaxLoss};
use attnlab_lsa::prompts::{RegressionPrompt, RegressionPrompts};
use attnlab_lsa::theory::{LsaWeights, Pretraining};
use attnlab_theory::attention::{SingleHead, Softmax};
use attnlab_theory::dynamics::flow::{Flow, Method, VectorField, Watch};

fn drawn(training: &Pretraining, count: usize, seed: u64) -> Vec<RegressionPrompt> {
    let law = RegressionPrompts::of_training(training);
    let mut rng = streams(seed).part("prompts", 0);
    (0..count).map(|_| law.draw(&mut rng)).collect()
}

/// The loss over prompts is that of the operator with softmax, and its gradient that by differences.
#[test]
fn softmax_is_the_operator_s() {
    let (d, n) = (3, 5);
    let prompts = drawn(&Pretraining::new(covariance(&[1.0, 0.5, 2.0], 4), n, 0.2).unwrap(), 40, 4);
    let w = weights(d, 0.7, 4);
    let (w_pv, w_kq) = w.matrices();
    let layer = SingleHead { w_pv, w_kq, phi: Softmax.into(), rho: 1.0 };
    let error = |p: &RegressionPrompt| layer.predict(p.tokens().view()).unwrap() - p.answer;
    let sum: f64 = prompts.iter().map(|p| 0.5 * error(p).powi(2)).sum();
    let loss = SoftmaxLoss::new(&prompts).unwrap();
    assert!((loss.loss(&w) * 40.0 / sum - 1.0).abs() < 1e-12);
    let gradient = loss.gradient(&w).to_vec();
    let mut rate = vec![0.0; gradient.len()];
    loss.rate(&w.to_vec(), &mut rate);
    for i in 0..gradient.len() {
        let slope = slope(|w| loss.loss(w), d, &w.to_vec(), i);
        assert!((slope - gradient[i]).abs() < 1e-7 * (1.0 + slope.abs()), "{i}");
        assert_eq!(rate[i], -gradient[i]);
    }
}

/// A flow lowers the loss, and prompts of different lengths are refused.
#[test]
fn softmax_trains() {
    let training = Pretraining::new(covariance(&[1.0, 0.5], 1), 8, 0.0).unwrap();
    let prompts = drawn(&training, 200, 1);
    let loss = SoftmaxLoss::new(&prompts).unwrap();
    let start = weights(2, 0.3, 1);
    let mut losses = vec![];
    let mut look = |_: f64, x: &[f64]| losses.push(loss.loss(&LsaWeights::of_slice(2, x)));
    let flow = Flow::new(Method::Bdf).within(1e-6);
    flow.watched(&loss, &start.to_vec(), &[50.0], Watch::steps(&mut look)).unwrap();
    assert!(
        losses.windows(2).all(|w: &[f64]| w[1] <= w[0] * (1.0 + 1e-6)) && losses[losses.len() - 1] < 0.8 * losses[0]
    );
    let other = Pretraining::new(covariance(&[1.0, 0.5], 1), 9, 0.0).unwrap();
    let mixed = [drawn(&training, 1, 1), drawn(&other, 1, 1)].concat();
    assert!(SoftmaxLoss::new(&mixed).unwrap_err().to_string().contains("shape"));
    assert!(SoftmaxLoss::new(&[]).is_err());
}

/// Chebyshev steps and backward differentiation follow the same flow from dense weights, whose rates differ
/// by a factor of thousands.
#[test]
fn chebyshev_steps_follow_the_full_flow() {
    let values: Vec<f64> = (0..12).map(|i| 0.2_f64.powf(f64::from(i) / 11.0)).collect();
    let training = Pretraining::new(covariance(&values, 3), 4, 0.0).unwrap();
    let start = weights(12, 0.3, 3).to_vec();
    let run = |method, rtol| Flow::new(method).within(rtol).run(&Full(&training), &start, &[0.5, 5.0]).unwrap();
    let (chebyshev, bdf) = (run(Method::Chebyshev, 1e-9), run(Method::Bdf, 1e-9));
    for (a, b) in chebyshev.states.iter().zip(&bdf.states) {
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
    }
    // By order 2, some ten times the tolerance of the squared norm.
    let weights = |x: &[f64]| LsaWeights::of_slice(12, x);
    let (before, after) = (weights(&start), weights(chebyshev.end()));
    let drift = (after.conserved() - before.conserved()).abs() / before.norm2();
    assert!(drift < 1e-7, "{drift}");
}
