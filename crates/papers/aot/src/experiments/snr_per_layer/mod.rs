//! SNR per layer: AoT Figure 4, with the theorem's line and where it is left.

use crate::PAPERS;
use crate::quantities::*;
use attnlab_core::error::{Error, Result};
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use attnlab_lab::claim::Source;
use attnlab_lab::experiment::{Described, Experiment, settings};
use attnlab_lab::figure::Figure;
use attnlab_lab::run::{Row, memory, store};
use attnlab_theory::attention::{Mssa, Phi};
use attnlab_theory::measure::snr::{energy_by_cluster, snr_of_heads};
use attnlab_theory::sample::Mixture;
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod pictures;

/// AoT Figure 4: the SNR of Eq. (6) at each layer, by noise level and by φ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnrPerLayer {
    /// Independent draws per cell.
    pub trials: u64,
    /// L, number of layers.
    pub layers: usize,
    /// Step size η > 0.
    pub eta: f64,
    /// Threshold τ in (0, 1] of the theorem's φ (and of the hard threshold on raw scores).
    pub tau: f64,
    /// K.
    pub clusters: usize,
    /// N, a multiple of K.
    pub tokens: usize,
    /// p, dimension of each subspace.
    pub dim: usize,
    /// Noise levels δ in units of √(log N / p).
    pub noise: Vec<f64>,
    /// Other φ, compared with the theorem's on the same draws.
    pub phi: Vec<String>,
    /// Noise level of that comparison, in the same unit: one of `noise`.
    pub phi_noise: f64,
    /// Noise levels δ of the panels after the printed figure.
    pub figure4_delta: Vec<f64>,
    /// N of those panels.
    pub figure4_tokens: usize,
    /// K of those panels.
    pub figure4_clusters: usize,
    /// p of those panels.
    pub figure4_dim: usize,
}

impl Described for SnrPerLayer {
    const ID: &'static str = "aot.snr_per_layer";
    const NAME: &'static str = "snr_per_layer";
    const TITLE: &'static str = "SNR per layer against the line of Theorem 1";
    const SOURCE: Source = Source { paper: &PAPERS[0], place: "Figure 4" };
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
        settings::spread("trials", self.trials)?;
        settings::network(self.layers, self.eta)?;
        for phi in self.phi.iter().map(String::as_str).chain([THEOREM]) {
            Phi::parse(phi, self.tau)?;
        }
        settings::positive("noise", &self.noise)?;
        settings::positive("figure4_delta", &self.figure4_delta)?;
        if !self.noise.contains(&self.phi_noise) {
            let allowed = format!("must be one of noise = {:?}", self.noise);
            return Err(Error::invalid("phi_noise", self.phi_noise, allowed));
        }
        Mixture::balanced(self.tokens, self.clusters, self.dim, 0.0)?;
        let printed = (self.figure4_tokens, self.figure4_clusters, self.figure4_dim);
        Mixture::balanced(printed.0, printed.1, printed.2, 0.0)?;
        if self.clusters < 2 || self.figure4_clusters < 2 {
            return Err(Error::invalid("clusters", 1, "must be at least 2: one cluster has no noise"));
        }
        Ok(())
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
        let figure4 = self.figure4_delta.iter();
        let figure4 = figure4.map(|delta| self.cell("figure4", printed, *delta, &[THEOREM, "softmax"]));
        Ok(by_noise.chain(figure4).collect())
    }

    fn trials(&self) -> u64 {
        self.trials
    }

    /// For every φ of the cell and every cluster k (from 1) the series "PHI.k": SNR at layers 0..=L.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (n, k) = (cell.get(TOKENS), cell.get(CLUSTERS));
        let mixture = Mixture::balanced(n, k, cell.get(DIM), cell.get(DELTA))?;
        let mut data = Map::new();
        for name in cell.as_json()[PHI.name].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            let layer = Mssa::new(Phi::parse(name, cell.get(TAU))?, cell.get(ETA));
            let snr = unroll(&mixture, &layer, cell.get(LAYERS), streams)?;
            for cluster in 0..k {
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
        format!(
            "*N* = {}, *p* = {}; for Figure 4 *N* = {}, *p* = {}; {} draws per cell",
            self.tokens, self.dim, self.figure4_tokens, self.figure4_dim, self.trials
        )
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

/// SNR at layers 0..=L of every cluster under orthonormal bases, in coefficients: `snr[l][k]`.
pub(super) fn unroll(mixture: &Mixture, layer: &Mssa, layers: usize, streams: &Streams) -> Result<Vec<Vec<f64>>> {
    let (labels, clusters) = (mixture.labels(), mixture.clusters());
    let mut heads: Vec<_> = (0..clusters).map(|k| mixture.head::<f64>(k, streams)).collect();
    let snr = |heads: &[Array2<f64>]| {
        let energy = heads.iter().map(|y| energy_by_cluster(y.view(), &labels, clusters));
        snr_of_heads(&energy.collect::<Vec<_>>())
    };
    let mut found = vec![snr(&heads)];
    for _ in 0..layers {
        layer.apply_coefficients(&mut heads)?;
        found.push(snr(&heads));
    }
    Ok(found)
}
