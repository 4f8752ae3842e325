//! One trial of each part of `lsa_training`.

use super::super::common::{Data, covariance, data, distance, start as theorem_start, times};
use super::LsaTraining;
use crate::dynamics::{Empirical, Full, SoftmaxLoss, arrival};
use crate::prompts::{RegressionPrompt, RegressionPrompts};
use crate::quantities::STARTS;
use crate::theory::{LsaWeights, Pretraining};
use attnlab_core::linalg::normal_matrix;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Flow, Method, Path, VectorField};

/// "gap" (L - min L over that of weights 0) at the times, and "distance" of uB + vcᵀ to Γ⁻¹ at the end,
/// of a flow from the theorem's start. The axes of Λ are those of the data.
fn trained(
    settings: &LsaTraining,
    training: &Pretraining,
    field: &dyn VectorField,
    streams: &Streams,
) -> Result<(Map<String, Value>, LsaWeights)> {
    let d = settings.dim;
    let from = theorem_start(d, settings.scale, streams)?.to_vec();
    let times = times(settings.until, settings.points);
    // The loss of finitely many prompts is an estimate: no digits are lost.
    let path = Flow::new(Method::Bdf).within(1e-8).run(field, &from, &times)?;
    let zero = training.excess(&LsaWeights::zeros(d));
    let gap = |x: &Vec<f64>| training.excess(&LsaWeights::of_slice(d, x)) / zero;
    let gaps: Vec<f64> = path.states.iter().map(gap).collect();
    let end = LsaWeights::of_slice(d, path.end());
    let data = data([
        ("gap", store::series(&gaps)),
        ("distance", store::number(distance(training, &end))),
        ("steps", path.steps.into()),
    ]);
    Ok((data, end))
}

/// The flow on the population loss.
pub fn population(settings: &LsaTraining, streams: &Streams) -> Data {
    let training = settings.training()?;
    Ok(trained(settings, &training, &Full(&training), streams)?.0)
}

/// The flow on the loss of B = `count` prompts; also that "loss" at the end and the "population" loss there.
pub fn prompts(settings: &LsaTraining, count: usize, streams: &Streams) -> Data {
    let training = settings.training()?;
    let loss = Empirical::draw(&training, count, &mut streams.part("prompts", 0))?;
    let (mut data, end) = trained(settings, &training, &loss, streams)?;
    data.insert("loss".into(), store::number(loss.loss(&end)));
    data.insert("population".into(), store::number(training.loss(&end)));
    Ok(data)
}

/// Softmax and linear attention on the same B = `count` prompts, each by gradient flow on its empirical loss
/// from the same weights: the loss on new prompts at the times ("softmax", "linear"), that on the B prompts
/// at the end ("softmax_train", "linear_train"), the softmax layer's "alpha" = u and its inverse temperature
/// "beta", the mean of the diagonal of ΛB, "steps" and "evaluations" of its flow, and "linear_steps".
pub fn softmax(settings: &LsaTraining, count: usize, streams: &Streams) -> Data {
    let training = settings.training()?;
    let d = settings.dim;
    let law = RegressionPrompts::of_training(&training);
    let draw = |name: &str, count: usize| -> Vec<RegressionPrompt> {
        let mut rng = streams.part(name, 0);
        (0..count).map(|_| law.draw(&mut rng)).collect()
    };
    let linear_loss = |prompts: &[RegressionPrompt]| {
        let examples: Vec<_> = prompts.iter().map(|p| (p.tokens(), p.answer)).collect();
        Empirical::new(examples.iter().map(|(tokens, answer)| (tokens, *answer)))
    };
    let (train, test) = (draw("prompts", count), draw("test", settings.softmax_test));
    let (soft, linear) = (SoftmaxLoss::new(&train)?, linear_loss(&train)?);
    let (soft_test, linear_test) = (SoftmaxLoss::new(&test)?, linear_loss(&test)?);
    let from = theorem_start(d, settings.scale, streams)?.to_vec();
    let times = times(settings.until, settings.points);
    // A thousandth of the spread of the losses over draws, with room.
    let flow = Flow::new(Method::Bdf).within(1e-6);
    let (by_soft, by_linear) = (flow.run(&soft, &from, &times)?, flow.run(&linear, &from, &times)?);
    let weights = |x: &Vec<f64>| LsaWeights::of_slice(d, x);
    let over = |path: &Path, loss: &dyn Fn(&LsaWeights) -> f64| {
        let losses: Vec<f64> = path.states.iter().map(|x| loss(&weights(x))).collect();
        store::series(&losses)
    };
    let (soft_end, linear_end) = (LsaWeights::of_slice(d, by_soft.end()), LsaWeights::of_slice(d, by_linear.end()));
    let beta = soft_end.b.diag().dot(training.covariance().values()) / d as f64;
    Ok(data([
        ("softmax", over(&by_soft, &|w| soft_test.loss(w))),
        ("linear", over(&by_linear, &|w| linear_test.loss(w))),
        ("softmax_train", store::number(soft.loss(&soft_end))),
        ("linear_train", store::number(linear.loss(&linear_end))),
        ("softmax_test", store::number(soft_test.loss(&soft_end))),
        ("linear_test", store::number(linear_test.loss(&linear_end))),
        ("alpha", store::number(soft_end.u)),
        ("beta", store::number(beta)),
        ("steps", by_soft.steps.into()),
        ("evaluations", by_soft.evaluations.into()),
        ("linear_steps", by_linear.steps.into()),
    ]))
}

/// The "time" after which the flow from a start with v = c = 0 has arrived; infinite where it has not.
pub fn start(settings: &LsaTraining, kind: &str, scale: f64, streams: &Streams) -> Data {
    let training = settings.training()?;
    let d = settings.dim;
    let sigma = scale * training.scale_limit();
    let mut from = theorem_start(d, sigma, streams)?;
    match kind {
        "mirrored" => from.b *= -1.0,
        "normal" => {
            let theta = normal_matrix(d, d, &mut streams.part("theta", 0));
            let norm = theta.iter().map(|x| x * x).sum::<f64>().sqrt();
            from.b = theta * (sigma / norm);
        }
        "theorem" => (),
        other => return Err(Error::unknown("start", other, STARTS)),
    }
    let gap = settings.arrived * training.excess(&LsaWeights::zeros(d));
    // Thousands of lifetimes: a flow that has not arrived then stands at a saddle.
    let arrival = arrival(&training, &from, gap, 1e4 * training.lifetime())?;
    Ok(data([
        ("time", store::number(arrival.time.unwrap_or(f64::INFINITY))),
        ("sigma", store::number(sigma)),
        ("steps", arrival.steps.into()),
    ]))
}

/// Condition number of Λ and time of the flow from dense weights: at it every mode has rates above 0.01.
const DENSE: (f64, f64) = (3.0, 2000.0);

/// Numbers of flows from dense weights that have "reached" the global minimum and that are at rest
/// elsewhere ("stuck"), and the "gaps" (L - min L over that of predicting 0) at the end.
pub fn dense(settings: &LsaTraining, n: usize, scale: f64, streams: &Streams) -> Data {
    let d = settings.dense_dim;
    let training = Pretraining::new(covariance(d, DENSE.0)?, n, settings.noise_var)?;
    let zero = training.excess(&LsaWeights::zeros(d));
    let (mut reached, mut stuck, mut gaps) = (0, 0, vec![]);
    for i in 0..settings.dense_starts {
        let mut rng = streams.part("weights", i as u64);
        let from = normal_matrix(1, LsaWeights::len_of(d), &mut rng) * scale;
        let from = from.into_raw_vec_and_offset().0;
        let flow = Flow::new(Method::Bdf).within(1e-8);
        let end = LsaWeights::of_slice(d, flow.run(&Full(&training), &from, &[DENSE.1])?.end());
        let gap = training.excess(&end) / zero;
        // A ten-thousandth of the way: far below the gaps of the local minima.
        reached += usize::from(gap < 1e-4);
        stuck += usize::from(gap >= 1e-4 && training.gradient(&end).norm2() < 1e-8 * zero);
        gaps.push(gap);
    }
    Ok(data([("reached", reached.into()), ("stuck", stuck.into()), ("gaps", store::series(&gaps))]))
}
