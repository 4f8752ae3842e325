//! Parameters, random layers and comparisons that several claims share, and the names of their files: `use
//! super::setting::*;`.

pub(super) use crate::dynamics::{Attention, Backpropagated, Embeddings, Training};
pub(super) use crate::quantities::*;
pub(super) use crate::theory::{Activation, CriticalPoint, Isotropic, Radial};
pub(super) use attnlab_core::linalg::normal_matrix;
pub(super) use attnlab_core::quadrature::integrate;
pub(super) use attnlab_core::rng::Generator;
pub(super) use attnlab_lab::prelude::*;
pub(super) use attnlab_theory::dynamics::flow::{Flow, Method, VectorField, Watch};
pub(super) use ndarray::Array2;
pub(super) use rand::RngExt;

/// Step size of gradient descent, and standard deviation of the start, in the authors' code of Figs. 2 and 3.
pub(super) const FIGURE_ETA: f64 = 0.1;
pub(super) const FIGURE_SCALE: f64 = 0.01;

/// The temperature of Figs. 2 and 3: 1 in the text; .5 in the authors' code, which is not in print.
pub(super) fn figure_temperature(params: &Params) -> f64 {
    if params.get(SETTING) == "code" { 0.5 } else { 1.0 }
}

/// Refuses a regular tree with more than `most` tokens under a child of the root.
pub(super) fn affordable_tree(params: &Params, most: u64) -> Result<()> {
    let (branches, depth) = (params.get(BRANCHES) as u64, params.get(DEPTH) as u32);
    let allowed = format!("must keep branches^(depth - 1) at {most} tokens or fewer with branches = {branches}");
    require(branches.pow(depth - 1) <= most, DEPTH.name, depth, allowed)
}

/// Random probabilities, in proportion to `least` plus numbers that are uniform on [0, 1).
pub(super) fn probabilities(count: usize, least: f64, rng: &mut Generator) -> Vec<f64> {
    let weights: Vec<f64> = (0..count).map(|_| least + rng.random::<f64>()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| w / sum).collect()
}

/// A random law of the class, no class of probability near 0.
pub(super) fn class_law(classes: usize, rng: &mut Generator) -> Vec<f64> {
    probabilities(classes, 1e-3, rng)
}

/// The parameters $M_C$, K, number of samples and φ of a random layer.
pub(super) fn layer_schema(activation: &'static str) -> Schema {
    vec![TOKENS.or(6), NODES.or(3), SAMPLES.or(9), ACTIVATION.or(activation)]
}

/// The activation φ.
pub(super) fn activation(params: &Params) -> Result<Activation> {
    Activation::parse(params.get(ACTIVATION))
}

/// Refuses a layer of more than `most` products of M_C and these sizes, the work of one evaluation of its rates.
pub(super) fn affordable(params: &Params, sizes: &[Quantity<usize>], most: usize) -> Result<()> {
    let tokens = params.get(TOKENS);
    let work = sizes.iter().fold(tokens, |work, size| work * params.get(*size));
    let factors: String = sizes.iter().map(|size| format!(" x {}", size.name)).collect();
    let given: Vec<String> = sizes.iter().map(|size| format!("{} = {}", size.name, params.get(*size))).collect();
    let allowed = format!(
        "must keep tokens{factors} at {most} or fewer with {}; a trial takes seconds there. Choose smaller sizes",
        given.join(" and ")
    );
    require(work <= most, TOKENS.name, tokens, allowed)
}

/// The largest M_C K n of a layer that is trained: some hundred steps of its flow then take a second.
pub(super) const MOST_TRAINED: usize = 6000;
/// The largest M_C n of a single node that is trained from zero.
pub(super) const MOST_OF_NODE: usize = 8000;

/// Random input frequencies (M_C, n), positive and of sum 1 per sample.
pub(super) fn inputs(tokens: usize, samples: usize, streams: &Streams) -> Array2<f64> {
    let mut rng = streams.part("inputs", 0);
    let mut x = Array2::from_shape_simple_fn((tokens, samples), || {
        // Exponential: a uniform law on the simplex once divided by its sum.
        -(1.0 - rng.random::<f64>()).ln()
    });
    for mut column in x.columns_mut() {
        let sum = column.sum();
        column /= sum;
    }
    x
}

/// A random layer, by [`BACKPROPAGATED`] gradient: normal numbers, their absolute values, or that of random labels.
pub(super) fn random_layer(
    attention: Attention,
    params: &Params,
    gradient: &str,
    streams: &Streams,
) -> Result<Training> {
    let [tokens, nodes, samples] = [TOKENS, NODES, SAMPLES].map(|size| params.get(size));
    let normal = || normal_matrix(nodes, samples, &mut streams.part("gradient", 0));
    let gradient = match gradient {
        "cross-entropy" => {
            let mut rng = streams.part("labels", 0);
            Backpropagated::CrossEntropy((0..samples).map(|_| rng.random_range(0..nodes)).collect())
        }
        "positive" => Backpropagated::Stationary(normal().mapv(f64::abs)),
        _ => Backpropagated::Stationary(normal()),
    };
    Training::uniform(attention, activation(params)?, nodes, inputs(tokens, samples, streams), gradient)
}

/// The same layer under embeddings with the inner products `context` of any two, and `query` with the query.
pub(super) fn with_coherence(training: Training, context: f64, query: f64) -> Result<Training> {
    if context == 0.0 && query == 0.0 {
        return Ok(training);
    }
    let tokens = training.tokens();
    training.with_embeddings(Embeddings::coherent(tokens, context, query)?)
}

/// The state at the end of a training from `start`, and the number of steps to it: for a time, or for a number of steps,
/// after which the flow is taken to slide along a kink of φ, where (2) has no classical solution.
pub(super) fn trained(
    field: &dyn VectorField,
    start: &[f64],
    until: f64,
    most_steps: usize,
) -> Result<(Vec<f64>, usize)> {
    let flow = Flow { most_steps, ..Flow::new(Method::Tsit45) };
    let (mut last, mut looks) = (start.to_vec(), 0);
    let mut look = |_: f64, x: &[f64]| (last, looks) = (x.to_vec(), looks + 1);
    let path = flow.watched(field, start, &[until], Watch::steps(&mut look));
    match path {
        Ok(path) => Ok((path.end().to_vec(), path.steps)),
        // The start is looked at too.
        Err(Error::NotConverged(_)) if looks > most_steps => Ok((last, most_steps)),
        Err(error) => Err(error),
    }
}

/// A normal state (size,) of standard deviation `scale`.
pub(super) fn normal_state(size: usize, scale: f64, streams: &Streams) -> Vec<f64> {
    (normal_matrix(1, size, &mut streams.part("start", 0)) * scale).into_raw_vec_and_offset().0
}

/// One of the laws among which trials draw: all with finite θ_2, log-concave and not.
pub(super) fn random_law(dim: usize, rng: &mut Generator) -> Result<Isotropic> {
    let radial = match rng.random_range(0..3) {
        0 => Radial::Gaussian,
        1 => Radial::Ball,
        _ => Radial::Student { nu: rng.random_range(1.5..6.0) },
    };
    Isotropic::new(radial, dim)
}

/// The derivative of `f` by five-point differences of step `h`; f takes the place in steps.
pub(super) fn five_points(f: impl Fn(f64) -> f64, h: f64) -> f64 {
    (8.0 * (f(1.0) - f(-1.0)) - (f(2.0) - f(-2.0))) / (12.0 * h)
}

/// A hypothesis that holds or not, with the margin 0 or -1.
pub(super) fn met(name: &'static str, printed: &'static str, holds: bool) -> Hypothesis {
    Hypothesis::new(name, printed, if holds { 0.0 } else { -1.0 })
}
