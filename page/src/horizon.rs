//! The depth horizon of Theorem 1: its law, one draw, the SNR of that draw by layer, and the attention that ends it.

use attnlab_aot::horizon::{HorizonReport, horizon};
use attnlab_aot::theory::Horizon as Law;
use attnlab_aot::unroll::unroll_heads;
use attnlab_core::error::{Error, Result, positive};
use attnlab_core::rng::Streams;
use attnlab_lab::run::{Progress, memory};
use attnlab_theory::attention::{Mssa, Softmax, ThresholdedSoftmax};
use attnlab_theory::sample::Mixture;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::f64::consts::LN_2;

/// Largest number of layers that the network runs, and at which the law is computed.
const MOST_LAYERS: usize = 60;

/// Deepest layer at which the law is sought.
const DEEPEST: u64 = 10_000;

/// Shares of broken draws below and above which the law of further layers says nothing new.
const UNBROKEN: f64 = 0.001;
const BROKEN: f64 = 0.999;

/// Least weight that a map of attention shows.
const LEAST_WEIGHT: f64 = 0.02;

/// Setting of `attnlab horizon`.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    tokens: usize,
    clusters: usize,
    dim: usize,
    delta: f64,
    eta: f64,
    tau: f64,
    #[serde(default)]
    seed: u64,
    /// Flag: the law is its first-moment form, which is quick, and good for τ up to about 0.7.
    #[serde(default)]
    sketch: bool,
}

/// Law of the first break.
#[derive(Serialize)]
pub struct LawOfHorizon {
    /// Exact updates of the draw that 5, 50 and 95 % of draws do not surpass.
    exact_updates: [u64; 3],
    /// The layers at which draws break; at earlier ones fewer than 0.1 % have, at later ones nearly all that ever do.
    layers: Vec<LayerOfLaw>,
}

/// A layer under the law.
#[derive(Serialize)]
pub struct LayerOfLaw {
    layer: u64,
    /// Share of draws whose pattern is broken at this layer.
    broken: f64,
}

impl Setting {
    fn mixture(&self) -> Result<Mixture> {
        Mixture::balanced(self.tokens, self.clusters, self.dim, self.delta)
    }

    /// Streams of the draw of `attnlab horizon` with this seed.
    fn streams(&self) -> Streams {
        Streams::new(self.seed, "aot.horizon", 0, 0)
    }

    /// (1 + ητ)^layer.
    fn theta(&self, layer: u64) -> f64 {
        ((self.eta * self.tau).ln_1p() * layer as f64).exp()
    }

    /// Computes the law at the layers at which draws break.
    ///
    /// # Errors
    /// Parameters to which it does not apply; a pattern that lasts beyond layer 10 000.
    pub fn law(&self) -> Result<LawOfHorizon> {
        positive("eta", self.eta)?;
        let law = Law::new(self.tokens, self.clusters, self.dim, self.delta, self.tau)?;
        // The cheap form of the law says where to look. Where it overflows all is broken.
        let (mut middle, mut end) = (0, DEEPEST);
        while middle < end {
            let layer = middle + (end - middle) / 2;
            let unbroken = law.lambda_moments(self.theta(layer)) < LN_2;
            (middle, end) = if unbroken { (layer + 1, end) } else { (middle, layer) };
        }
        if middle == DEEPEST {
            let allowed = format!("must be larger; the pattern lasts beyond layer {DEEPEST}");
            return Err(Error::invalid("eta", self.eta, allowed));
        }
        let lambda = |theta| if self.sketch { law.lambda_moments(theta) } else { law.lambda(theta) };
        let at = |layer| LayerOfLaw { layer, broken: -(-lambda(law.clipped(self.theta(layer)))).exp_m1() };
        let mut layers = VecDeque::from([at(middle)]);
        while layers[0].layer > 0 && layers[0].broken >= UNBROKEN {
            layers.push_front(at(layers[0].layer - 1));
        }
        while layers[layers.len() - 1].broken < BROKEN && layers.len() < MOST_LAYERS {
            layers.push_back(at(layers[layers.len() - 1].layer + 1));
        }
        let exact = |share: f64| layers[0].layer + layers.iter().filter(|l| l.broken < share).count() as u64;
        Ok(LawOfHorizon { exact_updates: [0.05, 0.5, 0.95].map(exact), layers: layers.into() })
    }

    /// Measures the horizon of the draw.
    ///
    /// # Errors
    /// Those of [`horizon`].
    pub fn horizon(&self, progress: &dyn Progress) -> Result<HorizonReport> {
        horizon(&self.mixture()?, self.eta, self.tau, self.seed, progress)
    }
}

/// A number of layers of a draw.
#[derive(Deserialize)]
pub struct Depth {
    #[serde(flatten)]
    setting: Setting,
    layers: usize,
}

/// SNR of every cluster at layers 0, 1, ..
#[derive(Serialize)]
pub struct Snr {
    /// Of the network of Theorem 1 on the draw: `snr[l][k]`.
    snr: Vec<Vec<f64>>,
    /// SNR that the theorem states: that of layer 0 times (1 + ητ)^l.
    theorem: Vec<Vec<f64>>,
}

impl Depth {
    /// Computes the SNR of the draw by layer.
    ///
    /// # Errors
    /// Parameters out of range.
    pub fn snr(&self) -> Result<Snr> {
        let setting = &self.setting;
        if self.layers > MOST_LAYERS {
            let allowed = format!("must be a whole number from 0 to {MOST_LAYERS}");
            return Err(Error::invalid("layers", self.layers, allowed));
        }
        let layer = Mssa::new(ThresholdedSoftmax { tau: setting.tau }, setting.eta);
        let snr = unroll_heads(&setting.mixture()?, &layer, self.layers, &setting.streams())?;
        let theorem = (0..=self.layers as u64).map(|l| snr[0].iter().map(|x| x * setting.theta(l)).collect());
        Ok(Snr { theorem: theorem.collect(), snr })
    }
}

/// A head of a draw at a layer.
#[derive(Deserialize)]
pub struct Place {
    #[serde(flatten)]
    setting: Setting,
    head: usize,
    layer: u64,
}

/// Weights of the attention of a head, before φ cuts them at τ.
#[derive(Serialize)]
pub struct Attention {
    /// θ of the layer.
    theta: f64,
    /// First token of the cluster of the head, and the first one after it.
    cluster: [usize; 2],
    /// Keys, columns and weights of all that are not small, column by column.
    entries: Vec<(usize, usize, f64)>,
    /// Smallest weight among them.
    least: f64,
}

impl Place {
    /// Computes the softmax of the scores M_k(θ), the scores of the layer as long as the pattern has lasted before it.
    ///
    /// # Errors
    /// Parameters out of range; a matrix of N² weights that does not fit into memory.
    pub fn attention(&self) -> Result<Attention> {
        let (setting, head) = (&self.setting, self.head);
        let mixture = setting.mixture()?;
        if head >= mixture.clusters() {
            let allowed = format!("must be a whole number below clusters = {}", mixture.clusters());
            return Err(Error::invalid("head", head, allowed));
        }
        let n = setting.tokens as u64;
        // Scores and weights.
        memory::ensure("the attention of a head", memory::product(&[n, n, 16]))?;
        let theta = setting.theta(self.layer);
        let own = mixture.cluster(head);
        // As the pass over the draw sees them: in f32.
        let mut y = mixture.head::<f32>(head, &setting.streams()).mapv(f64::from);
        own.clone().for_each(|i| y.column_mut(i).mapv_inplace(|x| x * theta));
        let weights = Mssa::new(Softmax, setting.eta).weights(y.view());
        let entries = weights.columns().into_iter().enumerate().flat_map(|(column, weights)| {
            let large = weights.iter().enumerate().filter(|(_, weight)| **weight >= LEAST_WEIGHT);
            large.map(|(key, weight)| (key, column, *weight)).collect::<Vec<_>>()
        });
        Ok(Attention { theta, cluster: [own.start, own.end], entries: entries.collect(), least: LEAST_WEIGHT })
    }
}
