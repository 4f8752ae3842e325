//! One trial of each part of `lsa_training`.

use super::super::lsa_common::{Data, covariance, data, distance, start as theorem_start, times};
use super::LsaTraining;
use crate::dynamics::flow::{Flow, Method, VectorField};
use crate::dynamics::lsa::{Empirical, Full, arrival};
use crate::error::Result;
use crate::linalg::normal_matrix;
use crate::rng::Streams;
use crate::run::store;
use crate::theory::lsa::{Training, Weights};
use serde_json::{Map, Value};

/// "gap" (L - min L over that of weights 0) at the times, and "distance" of uB + vcᵀ to Γ⁻¹ at the end,
/// of a flow from the theorem's start. The axes of Λ are those of the data.
fn trained(
    settings: &LsaTraining,
    training: &Training,
    field: &dyn VectorField,
    streams: &Streams,
) -> Result<(Map<String, Value>, Weights)> {
    let d = settings.dim;
    let from = theorem_start(d, settings.scale, streams)?.to_vec();
    let times = times(settings.until, settings.points);
    // The loss of finitely many prompts is an estimate: no digits are lost.
    let path = Flow::new(Method::Bdf)
        .within(1e-8)
        .run(field, &from, &times)?;
    let zero = training.excess(&Weights::zeros(d));
    let gap = |x: &Vec<f64>| training.excess(&Weights::of_slice(d, x)) / zero;
    let gaps: Vec<f64> = path.states.iter().map(gap).collect();
    let end = Weights::of_slice(d, path.end());
    let found = data([
        ("gap", store::series(&gaps)),
        ("distance", store::number(distance(training, &end))),
        ("steps", path.steps.into()),
    ]);
    Ok((found, end))
}

/// The flow on the population loss.
pub fn population(settings: &LsaTraining, streams: &Streams) -> Data {
    let training = settings.training()?;
    Ok(trained(settings, &training, &Full(&training), streams)?.0)
}

/// The flow on the loss of B = `count` prompts; also that "loss" at the end and the "population"
/// loss there.
pub fn prompts(settings: &LsaTraining, count: usize, streams: &Streams) -> Data {
    let training = settings.training()?;
    let loss = Empirical::draw(&training, count, &mut streams.part("prompts", 0))?;
    let (mut found, end) = trained(settings, &training, &loss, streams)?;
    found.insert("loss".into(), store::number(loss.loss(&end)));
    found.insert("population".into(), store::number(training.loss(&end)));
    Ok(found)
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
        _ => (),
    }
    let gap = settings.arrived * training.excess(&Weights::zeros(d));
    // Thousands of lifetimes: a flow that has not arrived then stands at a saddle.
    let found = arrival(&training, &from, gap, 1e4 * training.lifetime())?;
    Ok(data([
        ("time", store::number(found.time.unwrap_or(f64::INFINITY))),
        ("sigma", store::number(sigma)),
        ("steps", found.steps.into()),
    ]))
}

/// Condition number of Λ and time of the flow from dense weights: at it every mode has rates above
/// 0.01.
const DENSE: (f64, f64) = (3.0, 2000.0);

/// How many of the flows from dense weights have "reached" the global minimum, how many are at rest
/// elsewhere ("stuck"), and the "gaps" (L - min L over that of predicting 0) at the end.
pub fn dense(settings: &LsaTraining, n: usize, scale: f64, streams: &Streams) -> Data {
    let d = settings.dense_dim;
    let training = Training::new(covariance(d, DENSE.0)?, n, settings.noise_var)?;
    let zero = training.excess(&Weights::zeros(d));
    let (mut reached, mut stuck, mut gaps) = (0, 0, vec![]);
    for i in 0..settings.dense_starts {
        let mut rng = streams.part("weights", i as u64);
        let from = normal_matrix(1, Weights::len_of(d), &mut rng) * scale;
        let from = from.into_raw_vec_and_offset().0;
        let flow = Flow::new(Method::Bdf).within(1e-8);
        let path = flow.run(&Full(&training), &from, &[DENSE.1])?;
        let end = Weights::of_slice(d, path.end());
        let gap = training.excess(&end) / zero;
        // A ten-thousandth of the way: far below the gaps of the local minima.
        reached += usize::from(gap < 1e-4);
        stuck += usize::from(gap >= 1e-4 && training.gradient(&end).norm2() < 1e-8 * zero);
        gaps.push(gap);
    }
    Ok(data([
        ("reached", reached.into()),
        ("stuck", stuck.into()),
        ("gaps", store::series(&gaps)),
    ]))
}
