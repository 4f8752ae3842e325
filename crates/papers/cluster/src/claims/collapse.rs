//! Theorem 2.3 of *Attention is not all you need*: the residuals of pure attention.

use crate::quantities::{DIM, HEADS, LAYERS, SCALE, START, TOKENS};
use crate::setting::{heads, rows};
use crate::theory::collapse::{Head, Tokens, composite_norm, constant};
use attnlab_lab::prelude::*;
use ndarray::Array2;
use std::f64::consts::LN_2;

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

/// Norm of a user's residuals over that of the tokens: with 16 digits of these, 10 are left of the residuals.
const LEAST_RESIDUALS: f64 = 1e-6;

/// Largest score of residuals of a user's: e^−10 is left of a sum of weights at worst, with 11 digits.
const MOST_SCORE: f64 = 10.0;

impl Claim for RankCollapse {
    from_sheet!("cluster.rank_collapse");

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
        let (d, layers) = (params.get(DIM), params.get(LAYERS) as u64);
        let tokens = rows(params.get(TOKENS), d, params.get(START), streams);
        let heads = |layer| heads(d, params.get(HEADS), params.get(SCALE), &streams.child("layer", layer));
        Ok(self.after(tokens, (0..layers).map(heads)))
    }

    fn takes(&self) -> &'static [ArraySpec] {
        const {
            &[
                ArraySpec::one("tokens", "Xᵀ (d, n): the tokens, one per column", &[TOKENS.name, START.name]),
                ArraySpec::several(
                    "scores",
                    "W_QK/√d_qk (d, d): one for every head; token i attends to j by X_i A X_jᵀ",
                    &[DIM.name, HEADS.name, SCALE.name],
                ),
                ArraySpec::several(
                    "values",
                    "W (d, d): one for every head of the layer; token i becomes X_i W, so a transposed weight of PyTorch",
                    &[LAYERS.name],
                ),
            ]
        }
    }

    fn on(&self, _params: &Params, arrays: &Arrays) -> Result<Vec<Outcome>> {
        let columns = arrays.one("tokens")?;
        let d = columns.nrows();
        let (scores, values) = (arrays.several("scores"), arrays.several("values"));
        for (name, matrices) in [("scores", scores), ("values", values)] {
            if matrices.len() != scores.len() {
                let allowed = format!("must be as many as scores, {}", scores.len());
                return Err(Error::invalid(name, format!("{} arrays", matrices.len()), allowed));
            }
            if let Some(wrong) = matrices.iter().find(|m| m.dim() != (d, d)) {
                return Err(Error::shape(name, wrong.dim(), format!("({d}, {d}), as the tokens have {d} rows")));
            }
        }
        let head =
            |(scores, values): (&Array2<f64>, &Array2<f64>)| Head { scores: scores.clone(), values: values.clone() };
        let heads: Vec<Head> = scores.iter().zip(values).map(head).collect();
        let tokens = Tokens::of_columns(columns);
        let largest = heads.iter().map(|head| tokens.largest_score(head)).fold(0.0, f64::max);
        if largest > MOST_SCORE {
            let witness = witness! { "largest_score" => largest };
            return Ok(vec![Outcome::uninformative("scores of residuals above 10, where they lose digits", witness)]);
        }
        let norm = composite_norm(tokens.residuals.view());
        if norm < LEAST_RESIDUALS * composite_norm(columns) {
            let witness = witness! { "before" => norm };
            return Ok(vec![Outcome::uninformative("residuals are lost in the rounding of the tokens", witness)]);
        }
        let exact = columns.ncols() <= 2;
        let outcome = self.after(tokens, [heads]);
        Ok(vec![if exact { outcome } else { self.for_any_row(outcome) }])
    }
}

impl RankCollapse {
    /// Judges one layer for every row that residuals may be taken from. Their norm from the mean is at most twice the
    /// least one, since the mean of a matrix is no larger in either norm: so the printed side is at least half the left one
    /// here, and the printed bound at least a 2^power-th of that here.
    fn for_any_row(&self, outcome: Outcome) -> Outcome {
        let Outcome::Gap { lhs, rhs, tol, relation, witness } = outcome else { return outcome };
        let (lhs, rhs) = if lhs - LN_2 > rhs + tol {
            (lhs - LN_2, rhs)
        } else if lhs <= rhs - self.power * LN_2 {
            (lhs, rhs - self.power * LN_2)
        } else {
            return Outcome::uninformative("it depends on the row that residuals are taken from", witness);
        };
        Outcome::Gap { lhs, rhs, tol, relation, witness }
    }

    /// Compares the residuals after some layers with the bound.
    fn after(&self, mut tokens: Tokens, layers: impl IntoIterator<Item = Vec<Head>>) -> Outcome {
        let before = composite_norm(tokens.residuals.view());
        let mut largest = 0.0_f64;
        let mut count = 0;
        for heads in layers {
            largest = largest.max(0.25 * self.factor * constant(&heads));
            tokens = tokens.layer(&heads);
            count += 1;
        }
        let bound = (0..count).fold(before.ln(), |bound, _| largest.ln() + self.power * bound);
        let after = composite_norm(tokens.residuals.view());
        Outcome::at_most(
            after.ln(),
            bound,
            TOLERANCE,
            witness! { "before" => before, "after" => after, "ln_bound" => bound },
        )
    }
}
