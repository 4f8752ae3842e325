//! SNR per layer: AoT Figure 4, with the theorem's line and where it is left.

use crate::PAPERS;
use crate::claims::setting::mixture;
use crate::quantities::*;
use crate::unroll::unroll_heads;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::{Mssa, Phi};
use attnlab_theory::sample::Mixture;

mod pictures;

settings! {
    /// AoT Figure 4: the SNR of Eq. (6) at each layer, by noise level and by φ.
    #[experiment("aot.snr_per_layer", rows = "snr_per_layer", title = "SNR per layer against the line of Theorem 1")]
    #[source(&PAPERS[0], "Figure 4")]
    pub struct SnrPerLayer {
        pub trials: u64 = spread,
        pub layers: usize = whole(1..),
        pub eta: f64 = positive,
        pub tau: f64,
        pub clusters: usize = whole(2..),
        pub tokens: usize,
        pub dim: usize,
        pub noise: Vec<f64> = positive,
        pub phi: Vec<String>,
        pub phi_noise: f64,
        pub figure4_delta: Vec<f64> = positive,
        pub figure4_tokens: usize,
        pub figure4_clusters: usize = whole(2..),
        pub figure4_dim: usize,
    }
}

/// The φ of Theorem 1.
const THEOREM: &str = "thresholded-softmax";

/// √(log N / p), the unit of noise in (11).
pub(super) fn noise_unit(tokens: usize, dim: usize) -> f64 {
    ((tokens as f64).ln() / dim as f64).sqrt()
}

impl SnrPerLayer {
    fn cell(&self, group: &str, size: [usize; 3], delta: f64, phi: &[&str]) -> Params {
        let [tokens, clusters, dim] = size;
        Params::from_iter([
            GROUP.is(group),
            TOKENS.is(tokens),
            CLUSTERS.is(clusters),
            DIM.is(dim),
            DELTA.is(delta),
            LAYERS.is(self.layers),
            ETA.is(self.eta),
            TAU.is(self.tau),
            PHI.is(phi),
        ])
    }

    fn others(&self) -> Vec<&str> {
        self.phi.iter().map(String::as_str).filter(|phi| *phi != THEOREM).collect()
    }
}

impl Experiment for SnrPerLayer {
    fn validate(&self) -> Result<()> {
        let mut names = self.phi.iter().map(String::as_str).chain([THEOREM]);
        names.try_for_each(|phi| Phi::parse(phi, self.tau).map(|_| ()))?;
        let there = self.noise.contains(&self.phi_noise);
        require(there, "phi_noise", self.phi_noise, format!("must be one of noise = {:?}", self.noise))?;
        Mixture::balanced(self.tokens, self.clusters, self.dim, 0.0)?;
        Mixture::balanced(self.figure4_tokens, self.figure4_clusters, self.figure4_dim, 0.0).map(|_| ())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let unit = noise_unit(self.tokens, self.dim);
        let size = [self.tokens, self.clusters, self.dim];
        let by_noise = self.noise.iter().map(|c| {
            let mut phi = vec![THEOREM];
            if *c == self.phi_noise {
                phi.extend(self.others());
            }
            self.cell("noise", size, c * unit, &phi)
        });
        let printed = [self.figure4_tokens, self.figure4_clusters, self.figure4_dim];
        let figure4 = |delta: &f64| self.cell("figure4", printed, *delta, &[THEOREM, "softmax"]);
        Ok(by_noise.chain(self.figure4_delta.iter().map(figure4)).collect())
    }

    /// For every φ of the cell and every cluster k (from 1) the series "PHI.k": SNR at layers 0..=L.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let mixture = mixture(cell)?;
        let mut data = Map::new();
        for name in cell.as_json()[PHI.name].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            let layer = Mssa::new(Phi::parse(name, cell.get(TAU))?, cell.get(ETA));
            let snr = unroll_heads(&mixture, &layer, cell.get(LAYERS), streams)?;
            for cluster in 0..mixture.clusters() {
                let curve: Vec<f64> = snr.iter().map(|at_layer| at_layer[cluster]).collect();
                data.insert(format!("{name}.{}", cluster + 1), store::series(&curve));
            }
        }
        Ok(data)
    }

    fn memory(&self, cell: &Params) -> u64 {
        let [n, p, k] = [TOKENS, DIM, CLUSTERS].map(|q| cell.get(q) as u64);
        // All heads, and the next value of those in work.
        memory::product(&[8, 2, n, p, k])
    }

    fn size(&self) -> String {
        let SnrPerLayer { tokens, dim, figure4_tokens: n, figure4_dim: p, trials, .. } = self;
        format!("*N* = {tokens}, *p* = {dim}; for Figure 4 *N* = {n}, *p* = {p}; {trials} draws per cell")
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
