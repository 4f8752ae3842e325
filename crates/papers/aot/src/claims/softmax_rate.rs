//! The first layer with plain softmax, which has no linear rate; beside AoT Theorem 1.

use super::setting::{mixture, noisy_mixture_schema, seconds_of_scores};
use crate::quantities::*;
use crate::theory::softmax::{self, Range};
use attnlab_core::linalg::{Threads, gemm};
use attnlab_lab::prelude::*;
use attnlab_theory::attention::{Mssa, Softmax};
use attnlab_theory::measure::snr::energy_by_cluster;
use attnlab_theory::measure::snr_of_heads;

/// The factor by which the first layer with φ = softmax multiplies the SNR, that of [`softmax::first_layer`].
#[derive(Serialize, Deserialize)]
pub struct SoftmaxRate {
    /// The factor is 1 + η, as if the noise stayed.
    linear: bool,
    /// Share of the growth of the noise along itself.
    gain: f64,
    /// Share of the fluctuation of the average over the cluster.
    floor: f64,
}

impl Default for SoftmaxRate {
    fn default() -> Self {
        SoftmaxRate { linear: false, gain: 1.0, floor: 1.0 }
    }
}

/// Band around the law besides twice the first neglected term: the floor that the tokens of a cluster share
/// spreads by √(2/p) of itself, which moves the mean of the inverse square root by up to 3/(4p); p ≥ 50 keeps
/// that, and the terms of order 1/p in the sum along e, below.
const BAND: f64 = 0.02;

/// Least p at which 1/p is at most [`BAND`].
const LEAST_DIM: f64 = 50.0;

impl SoftmaxRate {
    fn factor(&self, params: &Params) -> f64 {
        let (n, k, p) = (params.get(TOKENS), params.get(CLUSTERS), params.get(DIM));
        let (delta, eta) = (params.get(DELTA), params.get(ETA));
        if self.linear {
            return 1.0 + eta;
        }
        softmax::first_layer_with(n, k, p, delta, eta, |gain, floor| (self.gain * gain, self.floor * floor))
    }
}

fn range(params: &Params) -> Range {
    let [n, k, p] = [TOKENS, CLUSTERS, DIM].map(|q| params.get(q));
    softmax::range(n, k, p, params.get(DELTA), params.get(ETA))
}

impl Claim for SoftmaxRate {
    from_sheet!("aot.softmax_rate");

    fn schema(&self) -> Schema {
        let mut schema = noisy_mixture_schema(600, 3, 120);
        schema.push(ETA.or(0.5));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        mixture(params).map(|_| ())
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let range = range(params);
        let [neglected, own_head] = [range.neglected, range.own_head].map(|term| softmax::MOST_NEGLECTED - term);
        vec![
            Hypothesis::new("neglected term", "first neglected term <= 0.01 of the factor", neglected),
            Hypothesis::new("own head", "n 2^(-p/2) + (N-n) (3 - delta^2)^(-p/2) <= 0.01", own_head),
            Hypothesis::new("dim", "p >= 50", params.real(DIM) - LEAST_DIM),
        ]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mixture = mixture(params)?;
        let layer = Mssa::new(Softmax, params.get(ETA));
        let labels = mixture.labels();
        let clusters = mixture.clusters();
        let (mut before, mut after) = (vec![], vec![]);
        // With orthonormal bases the coefficients U_kᵀZ of one head evolve by themselves.
        for k in 0..clusters {
            let mut y = mixture.head::<f64>(k, streams);
            before.push(energy_by_cluster(y.view(), &labels, clusters));
            let old = y.clone();
            let weights = layer.weights(old.view());
            gemm(layer.eta, old.view(), weights.view(), true, y.view_mut(), Threads::One);
            after.push(energy_by_cluster(y.view(), &labels, clusters));
        }
        let (before, after) = (snr_of_heads(&before), snr_of_heads(&after));
        let value = after.iter().zip(&before).map(|(a, b)| a / b).sum::<f64>() / clusters as f64;
        Ok(Outcome::Value { value, witness: witness! { "factor" => value, "law" => self.factor(params) } })
    }

    /// The mean factor lies within [`BAND`] and twice the first neglected term of the law.
    fn promise(&self, params: &Params) -> Promise {
        let band = BAND + 2.0 * range(params).neglected.min(softmax::MOST_NEGLECTED);
        let factor = self.factor(params);
        Promise::MeanIn(factor * (1.0 - band), factor * (1.0 + band))
    }

    /// Enough for an interval of ±2/5 of the band. One draw spreads by half of √(2/(pK)) of the floor's share:
    /// the mean of T by 1.96 of that over √T.
    fn default_trials(&self, params: &Params) -> u64 {
        let spread = range(params).floor * (0.5 / (params.real(DIM) * params.real(CLUSTERS))).sqrt();
        12 + (1.96 * spread / (0.4 * BAND)).powi(2).ceil() as u64
    }

    fn memory(&self, params: &Params) -> u64 {
        let n = params.get(TOKENS) as u64;
        memory::total(&[&[16, n, n], &[16, n, params.get(DIM) as u64]])
    }

    fn seconds(&self, params: &Params) -> f64 {
        // Two products and an exponential per score.
        seconds_of_scores(params, params.real(DIM) + 600.0)
    }
}
