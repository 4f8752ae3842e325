//! The first layer with plain softmax, which has no linear rate; beside AoT Theorem 1.

use super::setting::{mixture, mixture_schema};
use crate::quantities::*;
use crate::theory::softmax;
use attnlab_core::linalg::{Threads, gemm};
use attnlab_lab::prelude::*;
use attnlab_theory::attention::{Mssa, Softmax};
use attnlab_theory::measure::snr::energy_by_cluster;
use attnlab_theory::measure::snr_of_heads;

/// The factor by which the first layer with φ = softmax multiplies the SNR.
#[derive(Clone, Copy, Debug, Default)]
pub struct SoftmaxRate {
    law: Law,
}

/// The factor that is claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Law {
    /// The one of [`softmax::first_layer`].
    #[default]
    Derived,
    /// 1 + η, as if the noise stayed.
    Linear,
    /// Without the fluctuation of the average over the cluster.
    NoFloor,
    /// Without the growth of the noise along itself.
    NoGain,
}

impl SoftmaxRate {
    fn factor(&self, params: &Params) -> f64 {
        let (n, k, p) = (params.get(TOKENS), params.get(CLUSTERS), params.get(DIM));
        let (delta, eta) = (params.get(DELTA), params.get(ETA));
        if self.law == Law::Linear {
            return 1.0 + eta;
        }
        softmax::first_layer_with(n, k, p, delta, eta, |gain, floor| match self.law {
            Law::NoFloor => (gain, 0.0),
            Law::NoGain => (0.0, floor),
            _ => (gain, floor),
        })
    }
}

impl Claim for SoftmaxRate {
    fn sheet(&self) -> &'static Sheet {
        sheet!("aot.softmax_rate")
    }

    fn schema(&self) -> Schema {
        let mut schema = mixture_schema(600, 3, 120);
        schema.push(ETA.or(0.5));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        if params.get(DELTA) > 0.0 {
            return mixture(params).map(|_| ());
        }
        let allowed = "must be a number > 0: without noise the SNR is infinite";
        Err(Error::invalid(DELTA.name, params.get(DELTA), allowed))
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
            let (eta, one) = (layer.eta, Threads::One);
            gemm(eta, old.view(), weights.view(), true, y.view_mut(), one);
            after.push(energy_by_cluster(y.view(), &labels, clusters));
        }
        let (before, after) = (snr_of_heads(&before), snr_of_heads(&after));
        let ratio = |(a, b): (&f64, &f64)| a / b;
        let value = after.iter().zip(&before).map(ratio).sum::<f64>() / clusters as f64;
        Ok(Outcome::Value {
            value,
            witness: witness! { "factor" => value, "law" => self.factor(params) },
        })
    }

    /// The mean factor lies within a tolerance of the law. What the law leaves out is of relative
    /// order 1/p (the sum along e) and 1/n (the sum's correlation with S); with constants up to 2,
    /// which is what expanding the ratio of sums gives, 2/p + 2/n: 2.7 % at the defaults.
    fn promise(&self, params: &Params) -> Promise {
        let n = params.real(TOKENS) / params.real(CLUSTERS);
        let tolerance = 2.0 / params.real(DIM) + 2.0 / n;
        let factor = self.factor(params);
        Promise::MeanIn(factor * (1.0 - tolerance), factor * (1.0 + tolerance))
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        12
    }

    fn memory(&self, params: &Params) -> u64 {
        let n = params.get(TOKENS) as u64;
        16 * n * (n + params.get(DIM) as u64)
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, law| Mutant::new(name, SoftmaxRate { law });
        vec![
            variant("linear", Law::Linear),
            variant("no-floor", Law::NoFloor),
            variant("no-gain", Law::NoGain),
        ]
    }
}
