//! (17): from the second hypothesis of Theorem 1 (3) to the rate of the logits.

use super::joma_setting::{activation_spec, equal, inputs, normal_state, sizes};
use super::*;
use crate::dynamics::flow::VectorField;
use crate::dynamics::joma::{Attention, Backpropagated, Training};
use crate::linalg::normal_matrix;
use crate::witness;
use ndarray::{Array1, Array2, Axis, s};

/// (17) under its hypothesis for the sum over nodes, as printed, or for every node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eq17 {
    per_node: bool,
    /// A mutant leaves the mean attention out.
    without_mean: bool,
    /// A mutant takes samples that differ.
    different: bool,
}

impl Eq17 {
    /// As printed: the hypothesis summed over nodes.
    pub const PRINTED: Self = Eq17 {
        per_node: false,
        without_mean: false,
        different: false,
    };
    /// For every node.
    pub const CORRECTED: Self = Eq17 {
        per_node: true,
        ..Self::PRINTED
    };

    /// Nodes in pairs of opposite gradients: under a linear activation the hypothesis, summed over
    /// nodes, is 0 = 0. Or all samples alike, which satisfies it for every node.
    fn layer(&self, params: &Params, streams: &Streams) -> Result<Training> {
        let [tokens, pairs, samples] = ["tokens", "nodes", "samples"].map(|n| params.usize(n));
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
        let phi = super::joma_setting::activation(params)?;
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
    fn card(&self) -> Card {
        let printed = Card {
            id: "joma.eq17",
            paper: Paper::Joma,
            equation: "Theorem 1 (3), Eqs. (15) to (17)",
            title: "The hypothesis for softmax, summed over nodes, gives the rate of the logits",
            statement: "If $E_{q=m}[\\sum_k g_{h_k} h'_k bb^T] = \\bar b_m E_{q=m}[\\sum_k g_{h_k} h'_k b]$ \
                        (transposed on the right), then $\\dot z_m = \\sum_k \\dot v_k \\circ v_k - \\bar b_m \
                        \\dot v_k^T v_k$.",
            kind: Kind::Identity,
            expected: VerdictKind::Refuted,
            corrected: Some(
                "The hypothesis is needed for every node: $E[g_{h_k} h'_k bb^T] v_k = \\bar b_m E[g_{h_k} h'_k \
                 b]^T v_k$ (`joma.eq17_corrected`).",
            ),
        };
        if !self.per_node {
            return printed;
        }
        Card {
            id: "joma.eq17_corrected",
            title: "The hypothesis for softmax, for every node, gives the rate of the logits",
            statement: "If $E_{q=m}[g_{h_k} h'_k bb^T] v_k = \\bar b_m E_{q=m}[g_{h_k} h'_k b]^T v_k$ for every \
                        k, then $\\dot z_m = \\sum_k (\\dot v_k \\circ v_k - \\bar b_m \\dot v_k^T v_k)$.",
            expected: VerdictKind::Supported,
            corrected: None,
            ..printed
        }
    }

    fn discrepancy(&self) -> Option<Discrepancy> {
        (!self.per_node).then_some(Discrepancy {
            printed: "The hypothesis sums $g_{h_k} h'_k$ over k, but (17) needs it inside $\\sum_k (\\cdot) v_k$, \
                      where every node has its own weights.",
            witness: "Pairs of nodes with opposite gradients under a linear activation: both sides of the \
                      summed hypothesis are 0, and the logits move otherwise than (17) says.",
            range: "Two or more nodes with different weights; for K = 1 the two forms are one.",
            correction: "The hypothesis for every k. It holds when all samples have the same attention, or \
                         when the gradient is independent of it.",
        })
    }

    fn schema(&self) -> Schema {
        let mut schema = sizes();
        schema.push(activation_spec("linear"));
        schema
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        // With another φ the pairs do not cancel, and the hypothesis fails by itself.
        let linear = params.text("activation") == "linear" || self.per_node;
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
        let corrected = Self::CORRECTED;
        vec![
            Mutant::new(
                "without-mean",
                "the rate without the mean attention",
                Eq17 {
                    without_mean: true,
                    ..corrected
                },
            ),
            Mutant::new(
                "different-samples",
                "samples whose attention differs",
                Eq17 {
                    different: true,
                    ..corrected
                },
            ),
        ]
    }
}
