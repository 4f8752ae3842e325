//! The coherence of the bases that Theorem 1 survives. Settings: `attnlab run coherence_map --show`.
//!
//! The papers take the U_k orthonormal to each other and say in a footnote that the general case is not difficult.
//! Under the pattern (30) a layer adds ητ U_kU_kᵀz_i to the tokens of cluster k whatever the bases are, which
//! multiplies ‖U_kU_kᵀZ_k‖ by 1 + ητ and leaves (I - U_kU_kᵀ)Z_k alone: (8) is exact as long as (30) holds. What
//! coherence changes is for how long: with U_kᵀU_l = cI a token of cluster k has the coefficients e + cθa in head l, a
//! noise of length √(δ² + c²θ²)√p that grows with the signal.

use super::snr_per_layer::noise_unit;
use crate::PAPERS;
use crate::claims::setting::mixture;
use crate::quantities::*;
use crate::theory::Horizon;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::{Mssa, ThresholdedSoftmax};
use attnlab_theory::measure::snr;
use attnlab_theory::sample::{Bases, Draw, Mixture};

mod pictures;

settings! {
    /// The number of exact updates over coherence and noise, and for independent random subspaces.
    #[experiment("aot.coherence_map", rows = "coherence_map",
        title = "How much coherence of the subspaces Theorem 1 survives")]
    #[source(&PAPERS[0], "Definition 1, footnote")]
    pub struct CoherenceMap {
        pub trials: u64 = spread,
        pub layers: usize = whole(1..),
        pub eta: f64 = positive,
        pub tau: f64,
        pub tokens: usize,
        pub clusters: usize,
        pub dim: usize,
        pub coherence: Vec<f64> = within("(0, 1)"),
        pub noise: Vec<f64> = positive,
        pub ambient: Vec<usize> = whole(1..),
    }
}

/// Group of the cells with U_kᵀU_l = cI.
const COHERENT: &str = "coherent";
/// Group of the cells with independent Haar subspaces.
const RANDOM: &str = "random";

/// An update is exact when every cluster's SNR has grown by 1 + ητ up to this relative error: above
/// the rounding of twenty layers in f64 (1e-13), far below what one wrong weight changes (1e-4).
const TOLERANCE: f64 = 1e-9;

impl CoherenceMap {
    fn cell(&self, group: &str, value: f64, noise: f64) -> Params {
        let varied = if group == COHERENT { COHERENCE } else { AMBIENT };
        Params::from_iter([
            GROUP.is(group),
            TOKENS.is(self.tokens),
            CLUSTERS.is(self.clusters),
            DIM.is(self.dim),
            varied.is(value),
            NOISE.is(noise),
            DELTA.is(noise * noise_unit(self.tokens, self.dim)),
            LAYERS.is(self.layers),
            ETA.is(self.eta),
            TAU.is(self.tau),
        ])
    }

    /// The noise at which it is coherence alone that ends the rate.
    fn least_noise(&self) -> f64 {
        self.noise.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn mixture(&self, cell: &Params) -> Result<Mixture> {
        let [k, p] = [CLUSTERS, DIM].map(|q| cell.get(q));
        let mut mixture = mixture(cell)?;
        (mixture.bases, mixture.ambient) = if cell.get(GROUP) == COHERENT {
            (Bases::Coherent(cell.get(COHERENCE)), (k + 1) * p)
        } else {
            (Bases::Independent, cell.get(AMBIENT) as usize)
        };
        mixture.validate()?;
        Ok(mixture)
    }
}

impl Experiment for CoherenceMap {
    fn validate(&self) -> Result<()> {
        for (i, d) in self.ambient.iter().enumerate() {
            require(*d >= self.dim, format!("ambient[{i}]"), d, format!("must be at least dim = {}", self.dim))?;
        }
        Horizon::new(self.tokens, self.clusters, self.dim, 1.0, self.tau).map(|_| ())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let coherent = iproduct!(&self.noise, &self.coherence).map(|(noise, c)| self.cell(COHERENT, *c, *noise));
        let random = self.ambient.iter().map(|d| self.cell(RANDOM, *d as f64, self.least_noise()));
        Ok(coherent.chain(random).collect())
    }

    /// "updates": how many of the first L are exact (8) in every cluster. "gain": the series of the
    /// SNR over its first value, as the geometric mean over clusters, to one layer past that.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let draw = self.mixture(cell)?.draw(streams)?;
        let layer = Mssa::new(ThresholdedSoftmax { tau: cell.get(TAU) }, cell.get(ETA));
        let (updates, gain) = exact_updates(draw, &layer, cell)?;
        Ok(Map::from_iter([("updates".into(), updates.into()), ("gain".into(), store::series(&gain))]))
    }

    fn memory(&self, cell: &Params) -> u64 {
        let [n, p, k] = [TOKENS, DIM, CLUSTERS].map(|q| cell.get(q) as u64);
        let d = match cell.get(GROUP) {
            COHERENT => (k + 1).saturating_mul(p),
            _ => cell.get(AMBIENT) as u64,
        };
        // Two Z, the bases with their factorisation, one head with its output.
        memory::total(&[&[8, 2, n, d], &[8, 3, d, k + 1, p], &[8, 2, n, p]])
    }

    fn size(&self) -> String {
        format!("*N* = {}, *K* = {}, *p* = {}, {} draws per cell", self.tokens, self.clusters, self.dim, self.trials)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

fn exact_updates(draw: Draw, layer: &Mssa, cell: &Params) -> Result<(usize, Vec<f64>)> {
    let rate = 1.0 + cell.get(ETA) * cell.get(TAU);
    let Draw { mut tokens, bases, labels } = draw;
    let mut before = snr(tokens.view(), &bases, &labels);
    let log = |values: &[f64]| values.iter().map(|x| x.ln()).sum::<f64>() / values.len() as f64;
    let first = log(&before);
    let mut gain = vec![1.0];
    for l in 0..cell.get(LAYERS) {
        tokens = layer.stream(tokens.view(), &bases)?.output;
        let after = snr(tokens.view(), &bases, &labels);
        gain.push((log(&after) - first).exp());
        let exact = |(a, b): (&f64, &f64)| (b / a / rate - 1.0).abs() <= TOLERANCE;
        if !before.iter().zip(&after).all(exact) {
            return Ok((l, gain));
        }
        before = after;
    }
    Ok((cell.get(LAYERS), gain))
}
