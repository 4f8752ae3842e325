//! Theorem 2.3 of *Attention is not all you need*: the residuals of pure attention.

use crate::quantities::{DIM, HEADS, LAYERS, SCALE, START, TOKENS};
use crate::setting::{heads, rows};
use crate::theory::collapse::{composite_norm, constant};
use attnlab_lab::prelude::*;

/// The bound on the residuals after L layers.
#[derive(Serialize, Deserialize)]
pub struct RankCollapse {
    /// Factor of βH/√d_qk.
    factor: f64,
    /// Power of the residuals in one layer.
    power: f64,
}

impl RankCollapse {
    /// The bound as printed.
    pub const PRINTED: Self = RankCollapse { factor: 4.0, power: 3.0 };
}

/// Rounding of the logarithms of both sides, some hundred at most.
const TOLERANCE: f64 = 1e-9;

impl Claim for RankCollapse {
    fn sheet(&self) -> &'static Sheet {
        sheet!("cluster.rank_collapse")
    }

    fn schema(&self) -> Schema {
        vec![
            TOKENS.within(Domain::Whole(2, 256)).or(2),
            DIM.within(Domain::Whole(1, 64)).or(4),
            HEADS.or(2),
            LAYERS.or(2),
            SCALE.within(Domain::closed(0.01, 100.0)).or(1.0),
            START.within(Domain::closed(0.001, 10.0)).or(0.1),
        ]
    }

    fn seconds(&self, params: &Params) -> f64 {
        let (n, d) = (params.real(TOKENS), params.real(DIM));
        params.real(HEADS) * params.real(LAYERS) * (n + d) * (n + d) * (d + 20.0) * 1e-9
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let d = params.get(DIM);
        let mut tokens = rows(params.get(TOKENS), d, params.get(START), streams);
        let before = composite_norm(tokens.residuals.view());
        let layers = params.get(LAYERS) as u64;
        let mut largest = 0.0_f64;
        for layer in 0..layers {
            let heads = heads(d, params.get(HEADS), params.get(SCALE), &streams.child("layer", layer));
            largest = largest.max(0.25 * self.factor * constant(&heads));
            tokens = tokens.layer(&heads);
        }
        let bound = (0..layers).fold(before.ln(), |bound, _| largest.ln() + self.power * bound);
        let after = composite_norm(tokens.residuals.view());
        Ok(Outcome::Gap {
            lhs: after.ln(),
            rhs: bound,
            tol: TOLERANCE,
            relation: Relation::AtMost,
            witness: witness! { "before" => before, "after" => after, "ln_bound" => bound },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        variants(self)
    }
}
