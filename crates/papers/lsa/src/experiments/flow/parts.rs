//! One trial of each part of `lsa_flow`.

use super::super::common::{Data, covariance, data, distance, start, times};
use super::{LsaFlow, Test};
use crate::dynamics::{Full, Reduced};
use crate::prompts::{PromptTask, RegressionPrompt, RegressionPrompts};
use crate::theory::{LsaWeights, Pretraining};
use attnlab_lab::prelude::*;
use attnlab_theory::attention::{Nonlinearity, Softmax};
use attnlab_theory::dynamics::flow::{Flow, Method, Path, Watch, descend};

/// The reduced flow from the theorem's start.
fn reduced<'a>(training: &'a Pretraining, start: &LsaWeights) -> Result<Reduced<'a>> {
    let message = "the theorem's weights have v = c = 0";
    Reduced::new(training, start).ok_or_else(|| Error::undefined(message))
}

/// The largest drift of the conserved quantity, relative to the squared norm of the weights at the limit.
fn relative_drift(training: &Pretraining, path: &Path) -> f64 {
    path.drifts.first().map_or(0.0, |d| d.largest / training.limit(d.start).norm2())
}

/// "gap" (L - min L over its first value), "distance" to Γ⁻¹ at the times; "least_pl" ratio
/// ‖∇L‖²/(L - min L) over the steps and the proved "constant", NaN where the start is no better than
/// predicting 0; "drift" of the conserved quantity; "steps".
pub fn flow(settings: &LsaFlow, condition: f64, streams: &Streams) -> Data {
    let training = Pretraining::new(covariance(settings.dim, condition)?, settings.context, 0.0)?;
    let start = start(settings.dim, settings.scale, streams)?;
    let flow = reduced(&training, &start)?;
    let first = training.excess(&start);
    let mut least = f64::INFINITY;
    let mut look = |_: f64, x: &[f64]| {
        let weights = flow.weights(x);
        let gap = training.excess(&weights);
        // Below, the gap is rounding.
        if gap > 1e-20 * first {
            least = least.min(training.gradient(&weights).norm2() / gap);
        }
    };
    let conserved = |x: &[f64]| vec![flow.weights(x).conserved()];
    let watch = Watch { event: None, conserved: Some(&conserved), step: Some(&mut look) };
    let path = Flow::new(Method::Bdf).watched(&flow, &flow.start(), &times(settings.until, settings.points), watch)?;
    let weights: Vec<LsaWeights> = path.states.iter().map(|x| flow.weights(x)).collect();
    let gaps: Vec<f64> = weights.iter().map(|w| training.excess(w) / first).collect();
    let distances: Vec<f64> = weights.iter().map(|w| distance(&training, w)).collect();
    let constant = training.pl_constant(&start).unwrap_or(f64::NAN);
    Ok(data([
        ("gap", store::series(&gaps)),
        ("distance", store::series(&distances)),
        ("least_pl", store::number(least)),
        ("constant", store::number(constant)),
        ("drift", store::number(relative_drift(&training, &path))),
        ("steps", path.steps.into()),
        ("rejected", path.rejected.into()),
        ("evaluations", path.evaluations.into()),
    ]))
}

/// "gap" at the times of gradient descent, its "drift", and both of the flow from the same weights:
/// "flow_gap", "flow_drift".
pub fn descent(settings: &LsaFlow, eta: f64, streams: &Streams) -> Data {
    let training = Pretraining::new(covariance(settings.dim, settings.descent_condition)?, settings.context, 0.0)?;
    let start = start(settings.dim, settings.scale, streams)?;
    let (field, from, d) = (Full(&training), start.to_vec(), settings.dim);
    let first = training.excess(&start);
    let times = settings.descent_times();
    let gaps = |path: &Path| {
        let gap = |x: &Vec<f64>| training.excess(&LsaWeights::of_slice(d, x)) / first;
        store::series(&path.states.iter().map(gap).collect::<Vec<_>>())
    };
    let conserved = |x: &[f64]| vec![LsaWeights::of_slice(d, x).conserved()];
    let watch = || Watch { conserved: Some(&conserved), ..Watch::default() };
    // A step size that is too large leaves every bound, the only numerical failure that `descend` has: it is
    // drawn as divergence. A failure of the flow below is an error.
    let (descended, drift, steps) = match descend(&field, &from, eta, &times, watch()) {
        Ok(path) => (gaps(&path), relative_drift(&training, &path), path.steps),
        Err(Error::Diverged(_)) => (store::series(&vec![f64::INFINITY; times.len()]), f64::INFINITY, 0),
        Err(other) => return Err(other),
    };
    let flow = Flow::new(Method::Tsit45).within(1e-12).watched(&field, &from, &times, watch())?;
    Ok(data([
        ("gap", descended),
        ("drift", store::number(drift)),
        ("steps", steps.into()),
        ("flow_gap", gaps(&flow)),
        ("flow_drift", store::number(relative_drift(&training, &flow))),
        ("flow_steps", flow.steps.into()),
    ]))
}

/// "excess" risk at M → ∞ of the weights at the end of the flow.
pub fn limit(settings: &LsaFlow, n: usize, streams: &Streams) -> Data {
    let training = settings.risk_training(n)?;
    let start = start(settings.dim, settings.scale, streams)?;
    let flow = reduced(&training, &start)?;
    let weights = flow.weights(Flow::new(Method::Bdf).run(&flow, &flow.start(), &[settings.until])?.end());
    // b̂ → Λa, and ŷ = b̂ᵀAx.
    let lambda = training.covariance().values();
    let test = settings.test(n, 1, "covariance", 1.0)?;
    let correlation = test.target.moments(&test.examples, 0.0).correlation;
    let error = weights.product().t().dot(&correlation) - &correlation / lambda;
    let excess = error.dot(&(&error * lambda));
    Ok(data([("excess", store::number(excess)), ("distance", store::number(distance(&training, &weights)))]))
}

/// "excess" risk over the best linear predictor, averaged over test prompts; the query is averaged exactly.
pub fn risk(settings: &LsaFlow, test: &Test, streams: &Streams) -> Data {
    let prompts = RegressionPrompts {
        covariance: test.examples.clone(),
        query: Some(test.query.clone()),
        examples: test.count,
        task: PromptTask::Fixed(test.target.clone()),
        noise_var: test.noise_var,
    };
    let best = &test.target.moments(&test.query, 0.0).correlation / test.query.values();
    let mut rng = streams.part("prompts", 0);
    let mut sum = 0.0;
    for _ in 0..settings.prompts {
        let error = &(prompts.draw_correlation(&test.target, &mut rng) / test.training.gamma()) - &best;
        sum += error.dot(&(&error * test.query.values()));
    }
    let excess = sum / settings.prompts as f64;
    Ok(data([("excess", store::number(excess))]))
}

/// Inverse temperatures among which softmax attention has its best.
fn temperatures() -> impl Iterator<Item = f64> {
    (-8..=6).map(|i| 2_f64.powf(0.5 * f64::from(i)))
}

/// Risk of the "linear" layer at its limit and of the "softmax" layer at its best "beta" and scale,
/// on the same new prompts with random tasks and M = N.
///
/// The softmax layer has W^{KQ} = β diag(Λ⁻¹, 0) and predicts α Σ_i softmax_i y_i over all tokens,
/// the query among them; α and β are fitted on as many other prompts.
pub fn softmax(settings: &LsaFlow, n: usize, streams: &Streams) -> Data {
    let training = settings.risk_training(n)?;
    let prompts = RegressionPrompts::of_training(&training);
    let draw = |name: &str| -> Vec<RegressionPrompt> {
        let mut rng = streams.part(name, 0);
        (0..settings.softmax_prompts).map(|_| prompts.draw(&mut rng)).collect()
    };
    let predict = |prompts: &[RegressionPrompt], beta: f64| -> Vec<f64> {
        prompts.iter().map(|p| softmax_read(p, &training, beta)).collect()
    };
    let (fit, test) = (draw("fit"), draw("test"));
    let (mut best, mut minimum) = (f64::INFINITY, (0.0, 0.0));
    for beta in temperatures() {
        let raw = predict(&fit, beta);
        let both: f64 = raw.iter().zip(&fit).map(|(r, p)| r * p.answer).sum();
        let alpha = both / raw.iter().map(|r| r * r).sum::<f64>();
        let loss = mean_square(&raw, &fit, alpha);
        if loss < best {
            (best, minimum) = (loss, (alpha, beta));
        }
    }
    let (alpha, beta) = minimum;
    let linear: Vec<f64> = test.iter().map(|p| linear_read(p, &training)).collect();
    Ok(data([
        ("linear", store::number(mean_square(&linear, &test, 1.0))),
        ("softmax", store::number(mean_square(&predict(&test, beta), &test, alpha))),
        ("alpha", store::number(alpha)),
        ("beta", store::number(beta)),
    ]))
}

fn mean_square(raw: &[f64], prompts: &[RegressionPrompt], alpha: f64) -> f64 {
    let error = |(r, p): (&f64, &RegressionPrompt)| (alpha * r - p.answer).powi(2);
    raw.iter().zip(prompts).map(error).sum::<f64>() / raw.len() as f64
}

fn linear_read(prompt: &RegressionPrompt, training: &Pretraining) -> f64 {
    let b = prompt.inputs.dot(&prompt.labels) / prompt.labels.len() as f64;
    (b / training.gamma()).dot(&prompt.query)
}

fn softmax_read(prompt: &RegressionPrompt, training: &Pretraining, beta: f64) -> f64 {
    let query = &prompt.query / training.covariance().values() * beta;
    let mut scores = prompt.inputs.t().dot(&query).to_vec();
    scores.push(prompt.query.dot(&query));
    Softmax.apply(&mut scores);
    scores.iter().zip(&prompt.labels).map(|(w, y)| w * y).sum()
}
