//! What the claims on JoMA share: parameters, random data for the layer, comparisons.

use super::{Domain, Outcome, Params, Relation, Schema, Spec, Witness};
use crate::dynamics::joma::{Attention, Backpropagated, Embeddings, Training};
use crate::error::Result;
use crate::linalg::normal_matrix;
use crate::rng::Streams;
use crate::theory::joma::{Activation, Isotropic, Radial};
use ndarray::Array2;
use rand::RngExt;

/// M_C, K and the number of samples of a random layer.
pub(super) fn sizes() -> Schema {
    let size =
        |name, most, default: u64, doc| Spec::new(name, Domain::Whole(1, most), default, doc);
    vec![
        size("tokens", 200, 6, "M_C, contextual tokens"),
        size("nodes", 100, 3, "K, nodes of the MLP layer"),
        size("samples", 1000, 9, "samples with the query m"),
    ]
}

/// φ by name.
pub(super) fn activation_spec(default: &'static str) -> Spec {
    let domain = Domain::Choice(&Activation::NAMES);
    Spec::new("activation", domain, default, "φ, activation of the layer")
}

/// φ.
///
/// # Errors
/// Never for a name that the schema let through.
pub(super) fn activation(params: &Params) -> Result<Activation> {
    Activation::parse(params.text("activation"))
}

/// Inputs (M_C, n) of random frequencies, positive and of sum 1 per sample; each sample's label; equal
/// probabilities.
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

/// The gradients of [`random_layer`] by name.
pub(super) const GRADIENTS: [&str; 3] = ["positive", "stationary", "cross-entropy"];

/// A layer on random inputs, with a stationary gradient of normal numbers, or of their absolute values
/// ("positive"), or the cross-entropy of random labels.
pub(super) fn random_layer(
    attention: Attention,
    params: &Params,
    gradient: &str,
    streams: &Streams,
) -> Result<Training> {
    let [tokens, nodes, samples] = ["tokens", "nodes", "samples"].map(|name| params.usize(name));
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

/// The same with coherent embeddings.
pub(super) fn with_coherence(training: Training, params: &Params) -> Result<Training> {
    let (context, query) = (params.f64("coherence"), params.f64("query_overlap"));
    if context == 0.0 && query == 0.0 {
        return Ok(training);
    }
    let tokens = training.tokens();
    training.with_embeddings(Embeddings::coherent(tokens, context, query)?)
}

/// A normal state of standard deviation `scale`.
pub(super) fn normal_state(size: usize, scale: f64, streams: &Streams) -> Vec<f64> {
    let drawn = normal_matrix(1, size, &mut streams.part("start", 0)) * scale;
    drawn.into_raw_vec_and_offset().0
}

/// The laws among which trials draw: all with finite θ_2, log-concave and not.
pub(super) fn random_law(dim: usize, rng: &mut crate::rng::Generator) -> Result<Isotropic> {
    let radial = match rng.random_range(0..3) {
        0 => Radial::Gaussian,
        1 => Radial::Ball,
        _ => Radial::Student {
            nu: rng.random_range(1.5..6.0),
        },
    };
    Isotropic::new(radial, dim)
}

/// Two numbers that should be the same to `tol`.
pub(super) fn equal(lhs: f64, rhs: f64, tol: f64, witness: Witness) -> Outcome {
    Outcome::Gap {
        lhs,
        rhs,
        tol,
        relation: Relation::Equal,
        witness,
    }
}

/// One number that should be at most another.
pub(super) fn at_most(lhs: f64, rhs: f64, tol: f64, witness: Witness) -> Outcome {
    Outcome::Gap {
        lhs,
        rhs,
        tol,
        relation: Relation::AtMost,
        witness,
    }
}
