//! The depth of Theorem 1 over noise and size, heads and threshold, measured and predicted.
//! Settings: `attnlab run horizon_map --show`.

use crate::PAPERS;
use crate::claims::setting::mixture;
use crate::quantities::*;
use crate::theory::Horizon;
use attnlab_lab::experiment::draw::span;
use attnlab_lab::prelude::*;
use attnlab_theory::measure::horizon_of_mixture;

mod pictures;

settings! {
    /// Three maps of the depth horizon over δ√p: against N, against K and against τ.
    #[experiment("aot.horizon_map", rows = "horizon_map",
        title = "Depth of Theorem 1 over noise, N, K and τ, measured and predicted")]
    #[source(&PAPERS[0], "Theorem 1")]
    pub struct HorizonMap {
        pub trials: u64 = spread,
        pub eta: f64 = positive,
        pub dim: usize,
        pub base_tokens: usize,
        pub base_clusters: usize,
        pub base_tau: f64,
        pub noise_length: Vec<f64> = positive,
        pub tokens: Vec<usize> = whole(1..),
        pub clusters: Vec<usize> = whole(1..),
        pub tau: Vec<f64> = positive,
    }
}

impl HorizonMap {
    fn cell(&self, group: &str, size: (usize, usize), tau: f64, length: f64) -> Params {
        Params::from_iter([
            GROUP.is(group),
            TOKENS.is(size.0),
            CLUSTERS.is(size.1),
            DIM.is(self.dim),
            NOISE_LENGTH.is(length),
            DELTA.is(length / (self.dim as f64).sqrt()),
            ETA.is(self.eta),
            TAU.is(tau),
        ])
    }
}

impl Experiment for HorizonMap {
    fn validate(&self) -> Result<()> {
        let possible = |n, k, tau| Horizon::new(n, k, self.dim, 1.0, tau).map(|_| ());
        let (n, k, tau) = (self.base_tokens, self.base_clusters, self.base_tau);
        possible(n, k, tau)?;
        self.tokens.iter().try_for_each(|n| possible(*n, k, tau))?;
        self.clusters.iter().try_for_each(|k| possible(n, *k, tau))?;
        self.tau.iter().try_for_each(|tau| possible(n, k, *tau))
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let (n, k, tau) = (self.base_tokens, self.base_clusters, self.base_tau);
        let mut cells = vec![];
        for length in &self.noise_length {
            cells.extend(self.tokens.iter().map(|n| self.cell(TOKENS.name, (*n, k), tau, *length)));
            cells.extend(self.clusters.iter().map(|k| self.cell(CLUSTERS.name, (n, *k), tau, *length)));
            cells.extend(self.tau.iter().map(|tau| self.cell(TAU.name, (n, k), *tau, *length)));
        }
        Ok(cells)
    }

    /// "theta" at which the pattern (30) first breaks in this draw, every column of every head seen.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let horizon = horizon_of_mixture(&mixture(cell)?, cell.get(TAU), streams, || {})?;
        Ok(Map::from_iter([("theta".to_string(), store::number(horizon.theta()))]))
    }

    fn memory(&self, cell: &Params) -> u64 {
        crate::horizon::bytes(cell.get(TOKENS), cell.get(DIM))
    }

    fn size(&self) -> String {
        format!("*N* = {}, *p* = {}, {} draws per cell", span(&self.tokens), self.dim, self.trials)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
