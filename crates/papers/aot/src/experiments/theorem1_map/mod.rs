//! The region of the hypotheses of Theorem 1 against the region of its conclusion, and the decay of
//! the failure probability with N. Settings: `attnlab run theorem1_map --show`.

use crate::PAPERS;
use crate::claims::setting::mixture;
use crate::quantities::*;
use crate::rare_event::RareBreaks;
use crate::theory::Horizon;
use crate::theory::printed::{delta_limit, least_dim};
use attnlab_lab::experiment::draw::span;
use attnlab_lab::prelude::*;
use attnlab_theory::measure::horizon_of_mixture;

mod pictures;

settings! {
    /// AoT Theorem 1 over δ × p for several N, and its failure probability over N.
    #[experiment("aot.theorem1_map", rows = "theorem1_map",
        title = "Where Theorem 1 holds, against where it is stated, and its rate in N")]
    #[source(&PAPERS[0], "Theorem 1 and Lemma 3")]
    pub struct Theorem1Map {
        pub trials: u64 = spread,
        pub layers: u32 = whole(1..),
        pub eta: f64 = positive,
        pub tau: f64,
        pub clusters: usize,
        pub tokens: Vec<usize> = whole(1..),
        pub dim: Vec<usize> = whole(1..),
        pub delta: Vec<f64> = positive,
        pub rate_tokens: Vec<usize> = different(3),
        pub rate_reach: Vec<f64> = positive,
        pub rate_draws: u64 = whole(1..),
    }
}

/// The least p that Lemma 3 allows.
fn lemma3_dim(tokens: usize) -> f64 {
    least_dim(tokens as f64, 64.0)
}

impl Theorem1Map {
    /// The parameters that all cells share, then those of one.
    fn cell(&self, group: &str, size: (usize, usize), delta: f64, more: &[(String, Value)]) -> Params {
        let (tokens, dim) = size;
        let common = [
            GROUP.is(group),
            TOKENS.is(tokens),
            CLUSTERS.is(self.clusters),
            DIM.is(dim),
            DELTA.is(delta),
            ETA.is(self.eta),
            TAU.is(self.tau),
        ];
        common.into_iter().chain(more.iter().cloned()).collect()
    }

    fn rate_cell(&self, tokens: usize, reach: f64) -> Params {
        let dim = lemma3_dim(tokens).ceil() as usize;
        // At the largest noise of (11), √(log N / p) / 8, the reach b = θδ√(p / log N) is θ / 8.
        let delta = delta_limit(tokens as f64, dim as f64);
        self.cell("rate", (tokens, dim), delta, &[REACH.is(reach), THETA.is(8.0 * reach), DRAWS.is(self.rate_draws)])
    }
}

impl Experiment for Theorem1Map {
    fn validate(&self) -> Result<()> {
        for tokens in self.tokens.iter().chain(&self.rate_tokens) {
            Horizon::new(*tokens, self.clusters, self.dim[0], 1.0, self.tau)?;
        }
        Ok(())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let map = iproduct!(&self.tokens, &self.dim, &self.delta);
        let map = map.map(|(tokens, dim, delta)| self.cell("map", (*tokens, *dim), *delta, &[]));
        let rate = iproduct!(&self.rate_reach, &self.rate_tokens);
        Ok(map.chain(rate.map(|(reach, tokens)| self.rate_cell(*tokens, *reach))).collect())
    }

    /// On the map: "theta" at which the pattern (30) first breaks in this draw. On the rate:
    /// "lambda", a mean of unbiased values of the expected number of broken columns.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (name, value) = if cell.get(GROUP) == "map" {
            ("theta", horizon_of_mixture(&mixture(cell)?, cell.get(TAU), streams, || {})?.theta())
        } else {
            let [tokens, clusters, dim] = [TOKENS, CLUSTERS, DIM].map(|q| cell.get(q));
            let breaks = RareBreaks { tokens, clusters, dim, delta: cell.get(DELTA), tau: cell.get(TAU) };
            ("lambda", breaks.mean(cell.get(DRAWS) as u64, cell.get(THETA), streams)?)
        };
        Ok(Map::from_iter([(name.to_string(), store::number(value))]))
    }

    fn memory(&self, cell: &Params) -> u64 {
        let tokens = cell.get(TOKENS);
        match cell.get(GROUP) {
            "map" => crate::horizon::bytes(tokens, cell.get(DIM)),
            // The scores of one column, and their copy.
            _ => memory::product(&[24, tokens as u64]),
        }
    }

    fn size(&self) -> String {
        let (maps, rates) = (span(&self.tokens), span(&self.rate_tokens));
        format!("*N* = {maps} in maps and {rates} in rates, {} draws per cell", self.trials)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
