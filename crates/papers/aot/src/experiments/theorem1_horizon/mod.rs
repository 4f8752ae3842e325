//! The depth to which Theorem 1 holds: the measured horizon of each draw against the predicted law.

use super::snr_per_layer::noise_unit;
use crate::PAPERS;
use crate::quantities::*;
use crate::theory::Horizon;
use attnlab_core::error::{Error, Result, positive};
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use attnlab_lab::claim::Source;
use attnlab_lab::experiment::draw::span;
use attnlab_lab::experiment::{Described, Experiment, settings};
use attnlab_lab::figure::Figure;
use attnlab_lab::run::{Row, store};
use attnlab_theory::measure::horizon_of_mixture;
use attnlab_theory::sample::Mixture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

mod pictures;

/// The depth horizon of AoT Theorem 1, measured and predicted, over δ and N.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Theorem1Horizon {
    /// Independent draws per cell.
    pub trials: u64,
    /// Step size η > 0.
    pub eta: f64,
    /// Threshold τ in (0, 1).
    pub tau: f64,
    /// K ≥ 2.
    pub clusters: usize,
    /// Values of N, each a multiple of K.
    pub tokens: Vec<usize>,
    /// p, dimension of each subspace.
    pub dim: usize,
    /// Noise levels δ in units of √(log N / p).
    pub noise: Vec<f64>,
}

impl Described for Theorem1Horizon {
    const ID: &'static str = "aot.theorem1_horizon";
    const NAME: &'static str = "theorem1_horizon";
    const TITLE: &'static str = "Depth to which Theorem 1 holds, measured against predicted";
    const SOURCE: Source = Source { paper: &PAPERS[0], place: "Theorem 1" };
}

impl Experiment for Theorem1Horizon {
    fn validate(&self) -> Result<()> {
        settings::spread("trials", self.trials)?;
        positive("eta", self.eta)?;
        if self.tokens.is_empty() {
            return Err(Error::invalid("tokens", "[]", "must be at least one number of tokens"));
        }
        settings::positive("noise", &self.noise)?;
        for tokens in &self.tokens {
            // The law refuses what the sampler and the pass would, and fewer than two clusters.
            Horizon::new(*tokens, self.clusters, self.dim, 1.0, self.tau)?;
        }
        Ok(())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let of_size = |n: usize| {
            let unit = noise_unit(n, self.dim);
            self.noise.iter().map(move |noise| {
                Params::from_iter([
                    TOKENS.is(n),
                    CLUSTERS.is(self.clusters),
                    DIM.is(self.dim),
                    NOISE.is(*noise),
                    DELTA.is(noise * unit),
                    ETA.is(self.eta),
                    TAU.is(self.tau),
                ])
            })
        };
        Ok(self.tokens.iter().copied().flat_map(of_size).collect())
    }

    fn trials(&self) -> u64 {
        self.trials
    }

    /// "theta" at which the pattern (30) first breaks in this draw, "updates" of Eq. (8) that are
    /// exact, and where it breaks: "head", "column", "row", "kind".
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (n, k) = (cell.get(TOKENS), cell.get(CLUSTERS));
        let mixture = Mixture::balanced(n, k, cell.get(DIM), cell.get(DELTA))?;
        let (eta, tau) = (cell.get(ETA), cell.get(TAU));
        let found = horizon_of_mixture(&mixture, tau, streams, || {})?;
        let updates = found.exact_updates(eta, tau).map_or(f64::INFINITY, |l| l as f64);
        let mut data = Map::new();
        data.insert("theta".into(), store::number(found.theta()));
        data.insert("updates".into(), store::number(updates));
        if let Some((head, first)) = found.first() {
            data.insert("head".into(), head.into());
            data.insert("column".into(), first.column.into());
            data.insert("row".into(), first.row.into());
            data.insert("kind".into(), json!(first.kind));
        }
        Ok(data)
    }

    fn memory(&self, cell: &Params) -> u64 {
        let (n, p) = (cell.get(TOKENS) as u64, cell.get(DIM) as u64);
        // One head in f32 and the state of the pass, a few hundred bytes per token.
        n * (4 * p + 500)
    }

    fn size(&self) -> String {
        format!("*N* = {}, *p* = {}, {} draws per cell", span(&self.tokens), self.dim, self.trials)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
