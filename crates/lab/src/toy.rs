//! Toy claim about a coin, for examples and tests.

use crate::claim::{Claim, Outcome, Paper, Params, Promise, Quantity, Schema};
use crate::{from_sheet, witness};
use attnlab_core::error::Result;
use attnlab_core::params::Domain;
use attnlab_core::rng::Streams;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Paper of the toy claim.
pub static PAPERS: &[Paper] =
    &[Paper { key: "toy", title: "On coins", authors: "A. Toss", venue: "", year: 2026, link: "" }];

const HEADS: Quantity<f64> = Quantity::real("heads", "p", "probability of heads").within(Domain::OPEN_UNIT);

#[derive(Serialize, Deserialize)]
struct FairCoin {
    /// Printed probability of heads.
    printed: f64,
}

/// Returns the claim that the mean share of heads is 0.5, to within .05.
pub fn fair_coin() -> Arc<dyn Claim> {
    Arc::new(FairCoin { printed: 0.5 })
}

impl Claim for FairCoin {
    from_sheet!("toy.fair", trials = 2000);

    fn schema(&self) -> Schema {
        vec![HEADS.or(0.5)]
    }

    fn promise(&self, _: &Params) -> Promise {
        Promise::MeanIn(self.printed - 0.05, self.printed + 0.05)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("toss", 0);
        let heads = rng.random_bool(params.get(HEADS));
        Ok(Outcome::Value { value: f64::from(u8::from(heads)), witness: witness! { "heads" => heads } })
    }
}
