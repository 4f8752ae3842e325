//! (17): from the second hypothesis of Theorem 1 (3) to the rate of the logits.

use super::setting::*;
use ndarray::{Axis, s};

/// The rate (17) of the logits under its hypothesis for the sum over nodes, as printed, or for every node.
#[derive(Serialize, Deserialize)]
pub struct Eq17 {
    printed: bool,
    per_node: bool,
    /// Factor of the mean attention; the mutants: 0, and near 1.
    mean: f64,
    /// Distance of the samples from the first one, where the hypothesis wants them alike; 0, or a mutant's.
    different: f64,
}

/// Rounding of sums over up to 1000 samples and 200 tokens, relative to their terms: 1000 ε is 2e-13.
const TOLERANCE: f64 = 1e-12;

impl Eq17 {
    /// The claim as printed: the hypothesis summed over nodes.
    pub const PRINTED: Self = Eq17 { printed: true, per_node: false, mean: 1.0, different: 0.0 };
    /// The claim with the hypothesis for every node.
    pub const CORRECTED: Self = Eq17 { printed: false, per_node: true, ..Self::PRINTED };

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
        if self.per_node {
            let first = x.column(0).to_owned().insert_axis(Axis(1));
            x = &first + &((x - &first) * self.different);
        }
        Training::uniform(Attention::Softmax, activation(params)?, 2 * pairs, x, Backpropagated::Stationary(gradient))
    }
}

impl Claim for Eq17 {
    from_sheet!(self, if self.printed { sheet!("joma.eq17") } else { sheet!("joma.eq17_corrected") });

    fn schema(&self) -> Schema {
        layer_schema("linear")
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        // With another φ the pairs do not cancel, and the hypothesis fails by itself.
        let linear = params.get(ACTIVATION) == "linear" || self.per_node;
        let printed = "E[sum_k g h' bb^T] = b E[sum_k g h' b]^T: exact here for a linear activation";
        vec![met("summed hypothesis", printed, linear)]
    }

    /// With one token b = 1, and with one sample the printed hypothesis holds for every node.
    fn expected(&self, params: &Params) -> VerdictKind {
        if params.get(TOKENS) == 1 || params.get(SAMPLES) == 1 { VerdictKind::Supported } else { self.sheet().expected }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = self.layer(params, streams)?;
        let state = normal_state(training.dim(), 1.0, streams);
        let mut rate = vec![0.0; training.dim()];
        training.rate(&state, &mut rate);
        let (v, v_rate) = (training.weights(&state), training.weights(&rate));
        let (products, mean) = (&v * &v_rate, training.mean_scores(&state) * self.mean);
        let said = products.sum_axis(Axis(1)) - &mean * products.sum();
        let z_rate = training.logits(&rate);
        // The terms of (17) before they cancel.
        let terms = products.mapv(f64::abs).sum();
        let off = (&said - &z_rate).fold(0.0_f64, |m, x| m.max(x.abs()));
        let witness = witness! { "rate" => z_rate.to_vec(), "said" => said.to_vec() };
        if terms == 0.0 {
            return Ok(Outcome::uninformative("nothing moves: all nodes are dead", witness));
        }
        Ok(Outcome::equal(off / terms, 0.0, TOLERANCE, witness))
    }
}
