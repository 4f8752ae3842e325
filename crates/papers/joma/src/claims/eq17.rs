//! (17): from the second hypothesis of Theorem 1 (3) to the rate of the logits.

use super::setting::{activation, equal, inputs, normal_state, sizes};
use crate::dynamics::{Attention, Backpropagated, Training};
use crate::quantities::{ACTIVATION, NODES, SAMPLES, TOKENS};
use attnlab_core::linalg::normal_matrix;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::VectorField;
use ndarray::{Array1, Array2, Axis, s};

/// The rate (17) of the logits under its hypothesis for the sum over nodes, as printed, or for every node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eq17 {
    /// Whether it is the printed claim or a mutant of it, by the sheet that it bears.
    printed: bool,
    per_node: bool,
    /// A mutant leaves the mean attention out.
    without_mean: bool,
    /// A mutant takes samples that differ.
    different: bool,
}

impl Eq17 {
    /// The claim as printed: the hypothesis summed over nodes.
    pub const PRINTED: Self = Eq17 {
        printed: true,
        per_node: false,
        without_mean: false,
        different: false,
    };
    /// The claim with the hypothesis for every node.
    pub const CORRECTED: Self = Eq17 {
        printed: false,
        per_node: true,
        ..Self::PRINTED
    };

    /// A layer whose nodes come in pairs of opposite gradients: under a linear activation the hypothesis, summed over
    /// nodes, is 0 = 0. Or all samples alike, which satisfies it for every node.
    fn layer(&self, params: &Params, streams: &Streams) -> Result<Training> {
        let [tokens, pairs, samples] = [TOKENS, NODES, SAMPLES].map(|size| params.get(size));
        let mut x = inputs(tokens, samples, streams);
        let half = normal_matrix(pairs, samples, &mut streams.part("gradient", 0));
        let mut gradient = Array2::zeros((2 * pairs, samples));
        gradient.slice_mut(s![..pairs, ..]).assign(&half);
        let sign = if self.per_node { 0.5 } else { -1.0 };
        gradient.slice_mut(s![pairs.., ..]).assign(&(half * sign));
        if self.per_node && !self.different {
            let first = x.column(0).to_owned().insert_axis(Axis(1));
            x.assign(&first);
        }
        let phi = activation(params)?;
        Training::new(
            Attention::Softmax,
            phi,
            2 * pairs,
            x,
            vec![1.0 / samples as f64; samples],
            Backpropagated::Stationary(gradient),
        )
    }
}

impl Claim for Eq17 {
    fn sheet(&self) -> &'static Sheet {
        match self.printed {
            true => sheet!("joma.eq17"),
            false => sheet!("joma.eq17_corrected"),
        }
    }

    fn schema(&self) -> Schema {
        let mut schema = sizes();
        schema.push(ACTIVATION.or("linear"));
        schema
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        // With another φ the pairs do not cancel, and the hypothesis fails by itself.
        let linear = params.get(ACTIVATION) == "linear" || self.per_node;
        vec![Hypothesis::new(
            "summed hypothesis",
            "E[sum_k g h' bb^T] = b E[sum_k g h' b]^T: exact here for a linear activation",
            if linear { 0.0 } else { -1.0 },
        )]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = self.layer(params, streams)?;
        let state = normal_state(training.dim(), 1.0, streams);
        let mut rate = vec![0.0; training.dim()];
        training.rate(&state, &mut rate);
        let (v, v_rate) = (training.weights(&state), training.weights(&rate));
        let mean = match self.without_mean {
            true => Array1::zeros(training.tokens()),
            false => training.mean_scores(&state),
        };
        let said = (&v * &v_rate).sum_axis(Axis(1)) - &mean * (&v * &v_rate).sum();
        let z_rate = training.logits(&rate);
        let size = |a: &Array1<f64>| a.dot(a).sqrt();
        let (off, scale) = (
            size(&(&said - &z_rate)),
            size(&said) + size(&z_rate.to_owned()),
        );
        Ok(equal(
            off / scale,
            0.0,
            // Rounding of sums over some hundred terms.
            1e-12,
            witness! { "rate" => z_rate.to_vec(), "said" => said.to_vec() },
        ))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let corrected = Eq17 {
            printed: self.printed,
            ..Self::CORRECTED
        };
        let without_mean = Eq17 {
            without_mean: true,
            ..corrected
        };
        let different = Eq17 {
            different: true,
            ..corrected
        };
        vec![
            Mutant::new("without-mean", without_mean).drawn_as("joma.eq17_corrected"),
            Mutant::new("different-samples", different).drawn_as("joma.eq17_corrected"),
        ]
    }
}
