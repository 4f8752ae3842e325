//! What the network does with plain softmax: no linear rate. Beside AoT Theorem 1.

use super::aot_setting::{mixture, mixture_schema};
use super::*;
use crate::attention::{Mssa, Phi};
use crate::linalg::{Threads, gemm};
use crate::measure::{snr::energy_by_cluster, snr_of_heads};
use crate::theory::softmax;
use crate::witness;

/// The factor by which the first layer with φ = softmax multiplies the SNR.
#[derive(Clone, Copy, Debug, Default)]
pub struct SoftmaxRate {
    law: Law,
}

/// Which factor is claimed.
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
        let (n, k, p) = (
            params.usize("tokens"),
            params.usize("clusters"),
            params.usize("dim"),
        );
        let (delta, eta) = (params.f64("delta"), params.f64("eta"));
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
    fn card(&self) -> Card {
        Card {
            id: "aot.softmax_rate",
            paper: Paper::Aot2024,
            equation: "beside Theorem 1, Eq. (8)",
            title: "With plain softmax the first layer multiplies the SNR by less than 1 + η",
            statement: "Our theoretical results are well-supported by experimental observations in \
                        Figure 4. (The theorem thresholds the softmax; what the networks of the \
                        experiments use, plain softmax, multiplies the SNR in its first layer by \
                        $(1+\\eta)\\sqrt{\\delta^2 p / \\mathbb E(\\sigma^2(1 + \\eta(W + \\delta^2 \
                        W_n + w_s))^2 + \\eta^2 F)}$, see `aot.softmax_first_layer`.)",
            kind: Kind::Law,
            expected: VerdictKind::Supported,
            corrected: Some(
                "There is no linear rate with plain softmax: noise attends to the cluster it is \
                 drawn towards and grows, the SNR peaks after one or two layers and collapses, and \
                 a smaller initial noise is worse.",
            ),
        }
    }

    fn schema(&self) -> Schema {
        let mut schema = mixture_schema(600, 3, 120);
        schema.push(Spec::new("eta", Domain::POSITIVE, 0.5, "η, step size"));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        if params.f64("delta") > 0.0 {
            return mixture(params).map(|_| ());
        }
        let allowed = "a number > 0: without noise the SNR is infinite";
        Err(Error::invalid("delta", params.f64("delta"), allowed))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mixture = mixture(params)?;
        let layer = Mssa::new(Phi::Softmax, params.f64("eta"));
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
        let n = params.f64("tokens") / params.f64("clusters");
        let tolerance = 2.0 / params.f64("dim") + 2.0 / n;
        let factor = self.factor(params);
        Promise::MeanIn(factor * (1.0 - tolerance), factor * (1.0 + tolerance))
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        12
    }

    fn memory(&self, params: &Params) -> u64 {
        let n = params.usize("tokens") as u64;
        16 * n * (n + params.usize("dim") as u64)
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, says, law| Mutant::new(name, says, SoftmaxRate { law });
        vec![
            variant("linear", "the factor is 1 + η", Law::Linear),
            variant("no-floor", "without the floor F", Law::NoFloor),
            variant("no-gain", "without W, W_n and w_s", Law::NoGain),
        ]
    }
}
