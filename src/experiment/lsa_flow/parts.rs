//! One trial of each part of `lsa_flow`.

use super::LsaFlow;
use crate::attention::Phi;
use crate::dynamics::flow::{Flow, Method, Path, Watch, descend};
use crate::dynamics::lsa::{Full, Reduced};
use crate::error::{Error, Result};
use crate::linalg::normal_matrix;
use crate::rng::Streams;
use crate::run::store;
use crate::sample::{Prompt, Prompts, Task};
use crate::theory::lsa::{Training, Weights};
use ndarray::Array1;
use serde_json::{Map, Value};

type Data = Result<Map<String, Value>>;

fn data<const N: usize>(values: [(&str, Value); N]) -> Map<String, Value> {
    values
        .into_iter()
        .map(|(name, value)| (name.to_string(), value))
        .collect()
}

/// The theorem's initial weights with a normal Θ, in principal axes, whose directions it does not
/// prefer.
fn start(d: usize, scale: f64, streams: &Streams) -> Result<Weights> {
    Weights::theorem(
        scale,
        normal_matrix(d, d, &mut streams.part("theta", 0)).view(),
    )
}

fn reduced<'a>(training: &'a Training, start: &Weights) -> Result<Reduced<'a>> {
    let message = "the theorem's weights have v = c = 0";
    Reduced::new(training, start).ok_or_else(|| Error::Numerical(message.into()))
}

/// ‖uB - Γ⁻¹‖ / ‖Γ⁻¹‖, Frobenius.
fn distance(training: &Training, weights: &Weights) -> f64 {
    let target = training.limit(0.0).product();
    let norm = |a: &ndarray::Array2<f64>| a.iter().map(|x| x * x).sum::<f64>().sqrt();
    norm(&(weights.product() - &target)) / norm(&target)
}

/// The largest drift of the conserved quantity, relative to the squared norm of the weights at the
/// limit.
fn relative_drift(training: &Training, path: &Path) -> f64 {
    let drift = path.drifts.first();
    drift.map_or(0.0, |d| d.largest / training.limit(d.start).norm2())
}

/// "gap" (L - min L over its first value), "distance" to Γ⁻¹ at the times; "least_pl" ratio
/// ‖∇L‖²/(L - min L) over the steps and the proved "constant"; "drift" of the conserved quantity;
/// "steps".
pub fn flow(settings: &LsaFlow, condition: f64, streams: &Streams) -> Data {
    let covariance = LsaFlow::covariance(settings.dim, condition)?;
    let training = Training::new(covariance, settings.context, 0.0)?;
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
    let watch = Watch {
        event: None,
        conserved: Some(&conserved),
        step: Some(&mut look),
    };
    let integrator = Flow::new(Method::Bdf);
    let path = integrator.watched(&flow, &flow.start(), &settings.times(), watch)?;
    let weights: Vec<Weights> = path.states.iter().map(|x| flow.weights(x)).collect();
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
    let covariance = LsaFlow::covariance(settings.dim, settings.descent_condition)?;
    let training = Training::new(covariance, settings.context, 0.0)?;
    let start = start(settings.dim, settings.scale, streams)?;
    let (field, from, d) = (Full(&training), start.to_vec(), settings.dim);
    let first = training.excess(&start);
    let times = settings.descent_times();
    let gaps = |path: &Path| {
        let gap = |x: &Vec<f64>| training.excess(&Weights::of_slice(d, x)) / first;
        store::series(&path.states.iter().map(gap).collect::<Vec<_>>())
    };
    let conserved = |x: &[f64]| vec![Weights::of_slice(d, x).conserved()];
    let watch = || Watch {
        conserved: Some(&conserved),
        ..Watch::default()
    };
    // A step size that is too large diverges: shown as what it is.
    let (descended, drift, steps) = match descend(&field, &from, eta, &times, watch()) {
        Ok(path) => (gaps(&path), relative_drift(&training, &path), path.steps),
        Err(Error::Numerical(_)) => {
            let nowhere = store::series(&vec![f64::INFINITY; times.len()]);
            (nowhere, f64::INFINITY, 0)
        }
        Err(other) => return Err(other),
    };
    let flow = Flow::new(Method::Tsit45).within(1e-12);
    let flow = flow.watched(&field, &from, &times, watch())?;
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
    let path = Flow::new(Method::Bdf).run(&flow, &flow.start(), &[settings.until])?;
    let weights = flow.weights(path.end());
    let covariance = training.covariance();
    let moments = settings.task()?.moments(covariance, 0.0);
    let best: Array1<f64> = &moments.correlation / covariance.values();
    let error = weights.product().t().dot(&moments.correlation) - best;
    let excess = error.dot(&(&error * covariance.values()));
    Ok(data([
        ("excess", store::number(excess)),
        ("distance", store::number(distance(&training, &weights))),
    ]))
}

/// "excess" risk over the best linear predictor, averaged over test prompts of M examples with
/// covariance cΛ; the query is averaged exactly.
pub fn risk(settings: &LsaFlow, n: usize, m: usize, c: f64, streams: &Streams) -> Data {
    let training = settings.risk_training(n)?;
    let test = training.covariance().scaled(c)?;
    let target = settings.task()?;
    let prompts = Prompts {
        covariance: test.clone(),
        query: None,
        examples: m,
        task: Task::Fixed(target.clone()),
        noise_var: settings.noise_var,
    };
    let a = &target.moments(&test, 0.0).correlation / test.values();
    let mut rng = streams.part("prompts", 0);
    let mut sum = 0.0;
    for _ in 0..settings.prompts {
        let b = prompts.draw_correlation(&target, &mut rng);
        let error = &(b / training.gamma()) - &a;
        sum += error.dot(&(&error * test.values()));
    }
    Ok(data([(
        "excess",
        store::number(sum / settings.prompts as f64),
    )]))
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
    let prompts = Prompts::of_training(&training);
    let draw = |name: &str| -> Vec<Prompt> {
        let mut rng = streams.part(name, 0);
        (0..settings.softmax_prompts)
            .map(|_| prompts.draw(&mut rng))
            .collect()
    };
    let predict = |prompts: &[Prompt], beta: f64| -> Vec<f64> {
        prompts
            .iter()
            .map(|p| softmax_read(p, &training, beta))
            .collect()
    };
    let (fit, test) = (draw("fit"), draw("test"));
    let (mut best, mut found) = (f64::INFINITY, (0.0, 0.0));
    for beta in temperatures() {
        let raw = predict(&fit, beta);
        let both: f64 = raw.iter().zip(&fit).map(|(r, p)| r * p.answer).sum();
        let alpha = both / raw.iter().map(|r| r * r).sum::<f64>();
        let loss = mean_square(&raw, &fit, alpha);
        if loss < best {
            (best, found) = (loss, (alpha, beta));
        }
    }
    let (alpha, beta) = found;
    let linear: Vec<f64> = test.iter().map(|p| linear_read(p, &training)).collect();
    Ok(data([
        ("linear", store::number(mean_square(&linear, &test, 1.0))),
        (
            "softmax",
            store::number(mean_square(&predict(&test, beta), &test, alpha)),
        ),
        ("alpha", store::number(alpha)),
        ("beta", store::number(beta)),
    ]))
}

fn mean_square(raw: &[f64], prompts: &[Prompt], alpha: f64) -> f64 {
    let error = |(r, p): (&f64, &Prompt)| (alpha * r - p.answer).powi(2);
    raw.iter().zip(prompts).map(error).sum::<f64>() / raw.len() as f64
}

fn linear_read(prompt: &Prompt, training: &Training) -> f64 {
    let b = prompt.inputs.dot(&prompt.labels) / prompt.labels.len() as f64;
    (b / training.gamma()).dot(&prompt.query)
}

fn softmax_read(prompt: &Prompt, training: &Training, beta: f64) -> f64 {
    let query = &prompt.query / training.covariance().values() * beta;
    let mut scores = prompt.inputs.t().dot(&query).to_vec();
    scores.push(prompt.query.dot(&query));
    Phi::Softmax.apply(&mut scores);
    scores.iter().zip(&prompt.labels).map(|(w, y)| w * y).sum()
}

/// Condition number of Λ and time of the flow from dense weights: at it every mode has rates above
/// 0.01.
const STARTS: (f64, f64) = (3.0, 2000.0);

/// How many of the flows from dense weights have "reached" the global minimum, how many are at rest
/// elsewhere ("stuck"), and the "gaps" (L - min L over that of predicting 0) at the end.
pub fn starts(settings: &LsaFlow, n: usize, scale: f64, streams: &Streams) -> Data {
    let d = settings.start_dim;
    let training = Training::new(LsaFlow::covariance(d, STARTS.0)?, n, 0.0)?;
    let zero = training.excess(&Weights::zeros(d));
    let (mut reached, mut stuck, mut gaps) = (0, 0, vec![]);
    for i in 0..settings.starts {
        let mut rng = streams.part("weights", i as u64);
        let from = normal_matrix(1, Weights::len_of(d), &mut rng) * scale;
        let from = from.into_raw_vec_and_offset().0;
        let flow = Flow::new(Method::Tsit45).within(1e-8);
        let path = flow.run(&Full(&training), &from, &[STARTS.1])?;
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
