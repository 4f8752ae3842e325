//! The lecture notes' displays of attention: the index that is normalised, and the cost.

use super::setting::PER_SECOND;
use crate::quantities::{DISPLAY, SIZES, TOKEN_DIM, TOKENS};
use attnlab_core::linalg::{normal_matrix, product};
use attnlab_lab::prelude::*;
use ndarray::Array2;
use rand::RngExt;

/// Every column of A adds up to 1, for A as one of the displays defines it.
#[derive(Default, Serialize, Deserialize)]
pub struct AttentionColumns {
    /// Flag of a mutant: every row does.
    rows: bool,
    /// Flag of a mutant: the denominator leaves out the token itself.
    without_self: bool,
}

/// A (N, N) of a display. `keys` and `queries` are U_k X and U_q X (K, N).
fn attention(display: &str, keys: &Array2<f64>, queries: &Array2<f64>) -> Array2<f64> {
    // exp⟨k_n, q_n'⟩, and the denominator that the display has in entry (n, n').
    let scores = product(keys.t(), queries.view()).mapv(f64::exp);
    let (rows, columns) = (scores.sum_axis(ndarray::Axis(1)), scores.sum_axis(ndarray::Axis(0)));
    Array2::from_shape_fn(scores.dim(), |(n, m)| {
        let denominator = match display {
            // Σ_l exp⟨x_n, x_l⟩, which is row n.
            "simple" => rows[n],
            // Σ_l exp⟨U_k x_n', U_q x_l⟩, which is row n'; of one map only, also column n'.
            "one-map" | "two-maps" => rows[m],
            // Σ_l exp⟨k_l, q_n'⟩.
            _ => columns[m],
        };
        scores[[n, m]] / denominator
    })
}

impl Claim for AttentionColumns {
    from_sheet!("notes.attention_columns", trials = 10);

    fn schema(&self) -> Schema {
        vec![
            TOKENS.within(Domain::Whole(2, 10_000)).or(6),
            TOKEN_DIM.within(Domain::Whole(1, 10_000)).or(4),
            DISPLAY.or("simple"),
        ]
    }

    fn seconds(&self, params: &Params) -> f64 {
        let (n, d) = (params.real(TOKENS), params.real(TOKEN_DIM));
        n * (n * d + 2.0 * d * d) / PER_SECOND
    }

    fn memory(&self, params: &Params) -> u64 {
        let n = params.get(TOKENS) as u64;
        memory::total(&[&[16, n, n], &[16, n, params.get(TOKEN_DIM) as u64]])
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (n, d, display) = (params.get(TOKENS), params.get(TOKEN_DIM), params.get(DISPLAY));
        let draw = |name, rows, columns| normal_matrix(rows, columns, &mut streams.part(name, 0));
        let x = draw("tokens", d, n) / (d as f64).sqrt();
        let (keys, queries) = match display {
            "simple" => (x.clone(), x),
            "one-map" => {
                let mapped = product(draw("u", d, d).view(), x.view());
                (mapped.clone(), mapped)
            }
            _ => (product(draw("keys", d, d).view(), x.view()), product(draw("queries", d, d).view(), x.view())),
        };
        let mut a = attention(display, &keys, &queries);
        if self.without_self {
            let diagonal = a.diag().to_owned();
            for (mut column, weight) in a.columns_mut().into_iter().zip(diagonal) {
                column /= 1.0 - weight;
            }
        }
        let sums = a.sum_axis(ndarray::Axis(usize::from(self.rows)));
        let off = sums.iter().fold(0.0, |m: f64, s| m.max((s - 1.0).abs()));
        // The statement has two parts: the sums, and that no entry is negative.
        let least = a.iter().copied().fold(f64::INFINITY, f64::min);
        if !off.is_finite() {
            return Err(Error::undefined("exp of a score overflows"));
        }
        // N additions and divisions of numbers up to 1.
        let tol = 4.0 * n as f64 * f64::EPSILON;
        let witness = witness! { "sums" => sums.to_vec(), "largest_distance_from_1" => off, "least_entry" => least };
        Ok(Outcome::equal(off.max(-least), 0.0, tol, witness))
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        match params.get(DISPLAY) {
            "one-map" | "multi-head" => VerdictKind::Supported,
            // In one dimension the scores are symmetric with any two maps.
            "two-maps" if params.get(TOKEN_DIM) == 1 => VerdictKind::Supported,
            _ => VerdictKind::Refuted,
        }
    }
}

/// NKD + N²K < N²D.
#[derive(Serialize, Deserialize)]
pub struct AttentionCost {
    /// Flag: it is a variant of the printed statement, not of the corrected one.
    printed: bool,
    /// Flag: ND/(N + D) bounds K, which is necessary too, not D/2.
    exact: bool,
    /// Factor of the bound, and what is added to it.
    factor: f64,
    more: f64,
}

impl AttentionCost {
    /// K < D/2, as printed.
    pub const PRINTED: Self = AttentionCost { printed: true, exact: false, factor: 1.0, more: 0.0 };
    /// K < ND/(N + D), the condition that is necessary and sufficient.
    pub const EXACT: Self = AttentionCost { printed: false, exact: true, ..Self::PRINTED };

    /// Upper end of K, not itself allowed.
    fn limit(&self, n: f64, d: f64) -> f64 {
        let bound = if self.exact { n * d / (n + d) } else { d / 2.0 };
        self.factor * bound + self.more
    }
}

impl Claim for AttentionCost {
    from_sheet!(
        self,
        if self.printed { sheet!("notes.attention_cost") } else { sheet!("notes.attention_cost_exact") },
        trials = 200
    );

    fn schema(&self) -> Schema {
        if self.printed { vec![SIZES.or("any")] } else { vec![] }
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        if self.printed && params.get(SIZES) == "long" { VerdictKind::Supported } else { self.sheet().expected }
    }

    /// N and D log-uniform up to 1000, exchanged where N ≥ D is asked for and fails, and the largest K that
    /// the condition allows. K = 0 is no map and says nothing.
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("sizes", 0);
        let mut size = |low: f64| (low * (1000.0 / low).powf(rng.random::<f64>())).round();
        let (mut n, mut d) = (size(1.0), size(3.0));
        if self.printed && params.get(SIZES) == "long" && n < d {
            (n, d) = (d, n.max(3.0));
        }
        let k = self.limit(n, d).ceil() - 1.0;
        let (with, without) = (n * k * d + n * n * k, n * n * d);
        // Whole numbers below 2^53: exact.
        let next = n * (k + 1.0) * d + n * n * (k + 1.0);
        let necessary = !self.exact || next >= without;
        Ok(Outcome::Event {
            holds: with < without && necessary,
            witness: witness! { "N" => n, "D" => d, "K" => k, "with_U" => with, "without_U" => without },
        })
    }
}
