//! The SNR gain of one layer under several φ, over δ and p. Settings: `attnlab run phi_map --show`.

use crate::PAPERS;
use crate::claims::setting::mixture;
use crate::quantities::*;
use crate::theory::Horizon;
use crate::unroll::unroll_heads;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::{Mssa, Phi};

mod pictures;

settings! {
    /// The SNR gain per layer of AoT (3) for softmax, thresholded softmax and the hard threshold.
    #[experiment("aot.phi_map", rows = "phi_map", title = "SNR gain per layer for three φ, measured and predicted")]
    #[source(&PAPERS[0], "Eqs. (3), (6), Figure 4")]
    pub struct PhiMap {
        pub trials: u64 = spread,
        pub layers: usize = whole(1..),
        pub eta: f64 = positive,
        pub tau: f64,
        pub tokens: usize,
        pub clusters: usize,
        pub dim: Vec<usize> = whole(1..),
        pub delta: Vec<f64> = positive,
    }
}

/// The φ that are compared, in the order of the panels.
const PHI: [&str; 3] = ["softmax", "thresholded-softmax", "hard-threshold"];

impl Experiment for PhiMap {
    fn validate(&self) -> Result<()> {
        // The law refuses what the sampler would, and fewer than two clusters.
        Horizon::new(self.tokens, self.clusters, self.dim[0], 1.0, self.tau)?;
        require(self.tokens / self.clusters >= 2, "tokens", self.tokens, "must be at least two tokens in each cluster")
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let cell = |(dim, delta): (&usize, &f64)| {
            Params::from_iter([
                TOKENS.is(self.tokens),
                CLUSTERS.is(self.clusters),
                DIM.is(*dim),
                DELTA.is(*delta),
                LAYERS.is(self.layers),
                ETA.is(self.eta),
                TAU.is(self.tau),
            ])
        };
        Ok(iproduct!(&self.dim, &self.delta).map(cell).collect())
    }

    /// For every φ the series PHI: SNR after a layer over SNR before it, for layers 1..=L, as the
    /// geometric mean over the clusters.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let mixture = mixture(cell)?;
        let mut data = Map::new();
        for name in PHI {
            let layer = Mssa::new(Phi::parse(name, cell.get(TAU))?, cell.get(ETA));
            let snr = unroll_heads(&mixture, &layer, cell.get(LAYERS), streams)?;
            let log = |values: &Vec<f64>| values.iter().map(|x| x.ln()).sum::<f64>() / mixture.clusters() as f64;
            let gain = |pair: &[Vec<f64>]| (log(&pair[1]) - log(&pair[0])).exp();
            let gains: Vec<f64> = snr.windows(2).map(gain).collect();
            data.insert(name.to_string(), store::series(&gains));
        }
        Ok(data)
    }

    fn memory(&self, cell: &Params) -> u64 {
        let [n, p, k] = [TOKENS, DIM, CLUSTERS].map(|q| cell.get(q) as u64);
        // All heads, and the next value of those in work.
        memory::product(&[8, 2, n, p, k])
    }

    fn size(&self) -> String {
        format!("*N* = {}, *K* = {}, {} draws per cell", self.tokens, self.clusters, self.trials)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
