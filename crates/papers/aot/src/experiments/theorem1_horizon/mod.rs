//! The depth to which Theorem 1 holds: the measured horizon of each draw against the predicted law.

use super::snr_per_layer::noise_unit;
use crate::PAPERS;
use crate::claims::setting::mixture;
use crate::quantities::*;
use crate::theory::Horizon;
use attnlab_lab::experiment::draw::span;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::horizon::Break;
use attnlab_theory::measure::horizon_of_mixture;
use serde_json::json;

mod pictures;

settings! {
    /// The depth horizon of AoT Theorem 1, measured and predicted, over δ and N.
    #[experiment("aot.theorem1_horizon", rows = "theorem1_horizon",
        title = "Depth to which Theorem 1 holds, measured against predicted")]
    #[source(&PAPERS[0], "Theorem 1")]
    pub struct Theorem1Horizon {
        pub trials: u64 = spread,
        pub eta: f64 = positive,
        pub tau: f64,
        pub clusters: usize,
        pub tokens: Vec<usize> = whole(1..),
        pub dim: usize,
        pub noise: Vec<f64> = positive,
    }
}

impl Experiment for Theorem1Horizon {
    fn validate(&self) -> Result<()> {
        // The law refuses what the sampler and the pass would, and fewer than two clusters.
        self.tokens.iter().try_for_each(|n| Horizon::new(*n, self.clusters, self.dim, 1.0, self.tau).map(|_| ()))
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let cell = |(n, noise): (&usize, &f64)| {
            Params::from_iter([
                TOKENS.is(*n),
                CLUSTERS.is(self.clusters),
                DIM.is(self.dim),
                NOISE.is(*noise),
                DELTA.is(noise * noise_unit(*n, self.dim)),
                ETA.is(self.eta),
                TAU.is(self.tau),
            ])
        };
        Ok(iproduct!(&self.tokens, &self.noise).map(cell).collect())
    }

    /// "theta" at which the pattern (30) first breaks in this draw, "updates" of Eq. (8) that are
    /// exact, and where it breaks: "head", "column", "row", "kind".
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (eta, tau) = (cell.get(ETA), cell.get(TAU));
        let horizon = horizon_of_mixture(&mixture(cell)?, tau, streams, || {})?;
        let updates = horizon.exact_updates(eta, tau).map_or(f64::INFINITY, |l| l as f64);
        let mut named = vec![("theta", store::number(horizon.theta())), ("updates", store::number(updates))];
        if let Some((head, Break { column, row, kind, .. })) = horizon.first() {
            named.extend([
                ("head", json!(head)),
                ("column", json!(column)),
                ("row", json!(row)),
                ("kind", json!(kind)),
            ]);
        }
        Ok(named.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
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
