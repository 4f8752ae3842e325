//! The lecture notes' displays of attention: the index that is normalised, and the cost.

use super::setting::PER_SECOND;
use crate::quantities::{DISPLAY, SIZES, TOKEN_DIM, TOKENS};
use attnlab_core::linalg::{normal_matrix, product};
use attnlab_lab::prelude::*;
use ndarray::Array2;
use rand::RngExt;

/// Every column of A adds up to 1, for A as one of the displays defines it.
#[derive(Clone, Copy, Debug, Default)]
pub struct AttentionColumns {
    form: Sums,
}

/// The sums that are claimed to be 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Sums {
    /// Of the columns.
    #[default]
    Columns,
    /// Of the rows.
    Rows,
    /// Of the columns, each without the token itself in the denominator.
    WithoutSelf,
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
    fn sheet(&self) -> &'static Sheet {
        sheet!("notes.attention_columns")
    }

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
        16 * n * (n + params.get(TOKEN_DIM) as u64)
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
        if self.form == Sums::WithoutSelf {
            let own = a.diag().to_owned();
            for (mut column, own) in a.columns_mut().into_iter().zip(own) {
                column /= 1.0 - own;
            }
        }
        let sums = a.sum_axis(ndarray::Axis(usize::from(self.form == Sums::Rows)));
        let off = sums.iter().fold(0.0, |m: f64, s| m.max((s - 1.0).abs()));
        // The statement has two parts: the sums, and that no entry is negative.
        let least = a.iter().copied().fold(f64::INFINITY, f64::min);
        if !off.is_finite() {
            return Err(Error::undefined("exp of a score overflows"));
        }
        Ok(Outcome::Gap {
            lhs: off.max(-least),
            rhs: 0.0,
            // N additions and divisions of numbers up to 1.
            tol: 4.0 * n as f64 * f64::EPSILON,
            relation: Relation::Equal,
            witness: witness! { "sums" => sums.to_vec(), "largest_distance_from_1" => off, "least_entry" => least },
        })
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        match params.get(DISPLAY) {
            "one-map" | "multi-head" => VerdictKind::Supported,
            // In one dimension the scores are symmetric with any two maps.
            "two-maps" if params.get(TOKEN_DIM) == 1 => VerdictKind::Supported,
            _ => VerdictKind::Refuted,
        }
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        10
    }

    fn mutants(&self) -> Vec<Mutant> {
        let of = |form| AttentionColumns { form };
        let rows = || of(Sums::Rows);
        vec![
            Mutant::new("without-self", of(Sums::WithoutSelf)).with(DISPLAY, "multi-head"),
            Mutant::new("rows", rows()).with(DISPLAY, "multi-head"),
            Mutant::new("rows-of-one-map", rows()).with(DISPLAY, "one-map"),
        ]
    }
}

/// NKD + N²K < N²D.
#[derive(Clone, Copy, Debug)]
pub struct AttentionCost {
    condition: Condition,
    /// Flag: it is a variant of the printed statement, not of the corrected one.
    printed: bool,
}

/// The condition under which that is claimed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Condition {
    /// K < D/2, as printed.
    Printed,
    /// K < ND/(N + D).
    Exact,
    /// K < D/2 + 1 or K < ND/(N + D) + 1: one more than the statement allows.
    OneMore,
    /// K < D.
    Loose,
    /// K < 2ND/(N + D).
    Double,
}

impl AttentionCost {
    /// As printed.
    pub const PRINTED: AttentionCost = AttentionCost { condition: Condition::Printed, printed: true };
    /// With the condition that is necessary and sufficient.
    pub const EXACT: AttentionCost = AttentionCost { condition: Condition::Exact, printed: false };

    /// Upper end of K, not itself allowed.
    fn limit(self, n: f64, d: f64) -> f64 {
        match self.condition {
            Condition::Printed => d / 2.0,
            Condition::Exact => n * d / (n + d),
            Condition::OneMore if self.printed => d / 2.0 + 1.0,
            Condition::OneMore => n * d / (n + d) + 1.0,
            Condition::Loose => d,
            Condition::Double => 2.0 * n * d / (n + d),
        }
    }
}

impl Claim for AttentionCost {
    fn sheet(&self) -> &'static Sheet {
        match self.printed {
            true => sheet!("notes.attention_cost"),
            false => sheet!("notes.attention_cost_exact"),
        }
    }

    fn schema(&self) -> Schema {
        match self.printed {
            true => vec![SIZES.or("any")],
            false => vec![],
        }
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        match self.printed && params.get(SIZES) == "long" {
            true => VerdictKind::Supported,
            false => self.sheet().expected,
        }
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
        // Whole numbers below 2^53: exact. The exact condition is also necessary.
        let next = n * (k + 1.0) * d + n * n * (k + 1.0);
        let necessary = self.condition != Condition::Exact || next >= without;
        Ok(Outcome::Event {
            holds: with < without && necessary,
            witness: witness! {
                "N" => n, "D" => d, "K" => k, "with_U" => with, "without_U" => without,
            },
        })
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        200
    }

    fn mutants(&self) -> Vec<Mutant> {
        let under = |condition| AttentionCost { condition, ..*self };
        let mutant = |name, condition| {
            let mutant = Mutant::new(name, under(condition));
            // Where the printed statement holds.
            match self.printed {
                true => mutant.with(SIZES, "long"),
                false => mutant,
            }
        };
        vec![
            mutant("one-more", Condition::OneMore),
            mutant("below-d", Condition::Loose),
            mutant("double", Condition::Double),
        ]
    }
}
