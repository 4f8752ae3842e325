//! Parameters, random layers and comparisons that several claims of this room share.

use crate::dynamics::{Attention, Backpropagated, Embeddings, Training};
use crate::quantities::{ACTIVATION, COHERENCE, NODES, QUERY_OVERLAP, SAMPLES, TOKENS};
use crate::theory::{Activation, Isotropic, Radial};
use attnlab_core::linalg::normal_matrix;
use attnlab_lab::prelude::*;
use ndarray::Array2;
use rand::RngExt;

/// The parameters $M_C$, K and number of samples of a random layer.
pub(super) fn sizes() -> Schema {
    vec![TOKENS.or(6), NODES.or(3), SAMPLES.or(9)]
}

/// The activation φ.
///
/// # Errors
/// Never for a name that the schema let through.
pub(super) fn activation(params: &Params) -> Result<Activation> {
    Activation::parse(params.get(ACTIVATION))
}

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

/// A layer on random inputs, with a stationary gradient of normal numbers, or of their absolute values
/// ("positive"), or the cross-entropy of random labels.
pub(super) fn random_layer(
    attention: Attention,
    params: &Params,
    gradient: &str,
    streams: &Streams,
) -> Result<Training> {
    let [tokens, nodes, samples] = [TOKENS, NODES, SAMPLES].map(|size| params.get(size));
    let gradient = if gradient == "cross-entropy" {
        let mut rng = streams.part("labels", 0);
        Backpropagated::CrossEntropy((0..samples).map(|_| rng.random_range(0..nodes)).collect())
    } else if gradient == "positive" {
        let drawn = normal_matrix(nodes, samples, &mut streams.part("gradient", 0));
        Backpropagated::Stationary(drawn.mapv(f64::abs))
    } else {
        Backpropagated::Stationary(normal_matrix(
            nodes,
            samples,
            &mut streams.part("gradient", 0),
        ))
    };
    Training::new(
        attention,
        activation(params)?,
        nodes,
        inputs(tokens, samples, streams),
        vec![1.0 / samples as f64; samples],
        gradient,
    )
}

/// The same layer with coherent embeddings.
pub(super) fn with_coherence(training: Training, params: &Params) -> Result<Training> {
    let (context, query) = (params.get(COHERENCE), params.get(QUERY_OVERLAP));
    if context == 0.0 && query == 0.0 {
        return Ok(training);
    }
    let tokens = training.tokens();
    training.with_embeddings(Embeddings::coherent(tokens, context, query)?)
}

/// A normal state (size,) of standard deviation `scale`.
pub(super) fn normal_state(size: usize, scale: f64, streams: &Streams) -> Vec<f64> {
    let drawn = normal_matrix(1, size, &mut streams.part("start", 0)) * scale;
    drawn.into_raw_vec_and_offset().0
}

/// One of the laws among which trials draw: all with finite θ_2, log-concave and not.
pub(super) fn random_law(dim: usize, rng: &mut attnlab_core::rng::Generator) -> Result<Isotropic> {
    let radial = match rng.random_range(0..3) {
        0 => Radial::Gaussian,
        1 => Radial::Ball,
        _ => Radial::Student {
            nu: rng.random_range(1.5..6.0),
        },
    };
    Isotropic::new(radial, dim)
}

/// The outcome of two numbers that should be the same to `tol`.
pub(super) fn equal(lhs: f64, rhs: f64, tol: f64, witness: Witness) -> Outcome {
    Outcome::Gap {
        lhs,
        rhs,
        tol,
        relation: Relation::Equal,
        witness,
    }
}

/// The outcome of one number that should be at most another, to `tol`.
pub(super) fn at_most(lhs: f64, rhs: f64, tol: f64, witness: Witness) -> Outcome {
    Outcome::Gap {
        lhs,
        rhs,
        tol,
        relation: Relation::AtMost,
        witness,
    }
}
