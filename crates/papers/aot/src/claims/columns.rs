//! Columns of scores, for the claims about them: the choice of columns in a trial, their draw, and the worst of them.
//!
//! Inside the hypotheses of Lemma 2 there are N ≥ 177 515 tokens, hence 10^10 products per head. A
//! trial draws `columns` columns of each head with their products with *all* tokens, exactly and at
//! the price of a few numbers per token (see [`Mixture::head_around`]); `columns=0` takes all. A
//! statement that fails on sampled columns fails; one that holds on them is supported on them only,
//! and the closed forms of [`Lemma2`](crate::theory::Lemma2) carry the rest.

use super::setting::{PER_SECOND, mixture};
use crate::quantities::*;
use attnlab_core::linalg::{Threads, gemm};
use attnlab_lab::prelude::*;
use attnlab_theory::sample::Mixture;
use ndarray::{Array2, ArrayView1, ShapeBuilder, s};
use std::ops::Range;

/// Scores that a trial holds at a time: 32 MB of them.
const BLOCK_SCORES: usize = 1 << 22;

/// Refuses an N that is no multiple of K.
pub fn validate(params: &Params) -> Result<()> {
    let (n, k) = (params.get(TOKENS), params.get(CLUSTERS));
    require(n.is_multiple_of(k), TOKENS.name, n, format!("must be a multiple of clusters = {k}"))
}

/// Multiplications that take as long as the exponential of one score: 1 ns.
const PER_SCORE: f64 = 60.0;
/// The time (s) of one draw of the columns.
pub fn seconds(params: &Params) -> f64 {
    let (n, p) = (params.real(TOKENS), params.real(DIM));
    let columns = if params.get(COLUMNS) == 0 { n } else { params.real(COLUMNS).min(n) };
    params.real(CLUSTERS) * n * columns * (p.min(columns) + PER_SCORE) / PER_SECOND
}

/// √log N.
pub fn root_log(params: &Params) -> f64 {
    params.real(TOKENS).ln().sqrt()
}

/// Says whether a trial leaves columns out of those that the statement is about.
pub fn partial(params: &Params) -> bool {
    let columns = params.get(COLUMNS);
    columns != 0 && columns < params.get(TOKENS)
}

/// Trials by default: 8 in scope, where each costs some 10^6 normals and the closed form decides (8
/// failures in 8 trials still refute a mutant); 100 at the sizes where the simulation itself can decide.
pub fn default_trials(params: &Params) -> u64 {
    if params.get(TOKENS) > 20_000 { 8 } else { 100 }
}

/// Bytes of one head's draw and one block of scores.
pub fn memory(params: &Params) -> u64 {
    let [n, p, columns] = [TOKENS, DIM, COLUMNS].map(|q| params.get(q) as u64);
    let rows = if columns == 0 { p } else { columns.min(p) };
    let block = (BLOCK_SCORES as u64).max(n).saturating_mul(8);
    8u64.saturating_mul(n).saturating_mul(rows).saturating_add(block)
}

/// The tokens whose columns are looked at: in head k those of cluster k, or the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Tokens of cluster k: a_j.
    Signal,
    /// The others: e_{j,k}.
    Noise,
    /// As many of each, of one draw.
    Both,
}

/// One column of scores of one head.
pub struct Column<'a> {
    /// The head k.
    pub head: usize,
    /// C_k.
    pub cluster: Range<usize>,
    /// The token j whose column this is.
    pub index: usize,
    /// |y_j|: |a_j| or |e_{j,k}|.
    pub length: f64,
    /// `<y_i, y_j>` for every token i.
    pub scores: ArrayView1<'a, f64>,
}

impl Column<'_> {
    /// Returns `true` if the column's token is in cluster k.
    pub fn is_signal(&self) -> bool {
        self.cluster.contains(&self.index)
    }

    /// The scores of the tokens in `rows`, without the column's own token.
    pub fn others(&self, rows: Range<usize>) -> impl Iterator<Item = (usize, f64)> + '_ {
        let index = self.index;
        rows.map(|i| (i, self.scores[i])).filter(move |(i, _)| *i != index)
    }
}

/// Draws every head and shows `count` of its columns (0: all), evenly spread over its tokens: they
/// are exchangeable, so which ones does not matter.
///
/// # Errors
/// When the columns are linearly dependent, which has probability 0.
pub fn each_column(
    mixture: &Mixture,
    count: usize,
    side: Side,
    streams: &Streams,
    mut visit: impl FnMut(&Column),
) -> Result<()> {
    let tokens = mixture.tokens();
    for head in 0..mixture.clusters() {
        let cluster = mixture.cluster(head);
        let spread = |signal: bool| {
            let (start, length) = (cluster.start, cluster.len());
            let total = if signal { length } else { tokens - length };
            let take = if count == 0 { total } else { count.min(total) };
            let nth = |i: usize| match i * total / take {
                c if signal => start + c,
                c if c < start => c,
                c => c + length,
            };
            (0..take).map(nth).collect::<Vec<_>>()
        };
        let chosen = match side {
            Side::Signal => spread(true),
            Side::Noise => spread(false),
            Side::Both => [spread(true), spread(false)].concat(),
        };
        if chosen.is_empty() {
            continue;
        }
        let y = mixture.head_around(head, &chosen, streams)?;
        let width = (BLOCK_SCORES / tokens).clamp(1, chosen.len());
        let mut buffer = Array2::<f64>::zeros((tokens, width).f());
        // Trials run side by side; only a product that takes a second by itself is worth splitting.
        let threads = if tokens * width * y.nrows() > 1 << 30 { Threads::All } else { Threads::One };
        for block in chosen.chunks(width) {
            let queries = y.select(ndarray::Axis(1), block);
            let mut scores = buffer.slice_mut(s![.., ..block.len()]);
            gemm(1.0, y.t(), queries.view(), false, scores.view_mut(), threads);
            for (c, j) in block.iter().enumerate() {
                let (query, scores) = (queries.column(c), scores.column(c));
                let length = query.dot(&query).sqrt();
                visit(&Column { head, cluster: cluster.clone(), index: *j, length, scores });
            }
        }
    }
    Ok(())
}

/// The worst of the columns of a draw of the mixture that `params` describe, where `record` says how bad a column is.
///
/// # Errors
/// As [`each_column`].
pub fn worst_column(
    params: &Params,
    side: Side,
    streams: &Streams,
    mut record: impl FnMut(&Column, &mut Worst),
) -> Result<Worst> {
    let mut worst = Worst::default();
    each_column(&mixture(params)?, params.get(COLUMNS), side, streams, |column| record(column, &mut worst))?;
    Ok(worst)
}

/// The worst case that a trial met: the largest of some ratio, and where.
#[derive(Clone, Copy, Debug)]
pub struct Worst {
    value: f64,
    head: usize,
    column: usize,
    row: usize,
}

impl Default for Worst {
    /// The state before any column is recorded.
    fn default() -> Self {
        Worst { value: f64::NEG_INFINITY, head: 0, column: 0, row: 0 }
    }
}

impl Worst {
    /// Takes the larger of what it has and `value`; NaN counts as the worst.
    pub fn record(&mut self, value: f64, column: &Column, row: usize) {
        if value > self.value || value.is_nan() {
            let value = if value.is_nan() { f64::INFINITY } else { value };
            *self = Worst { value, head: column.head, column: column.index, row };
        }
    }

    /// The worst value over its `limit`; 0 where there was none to see, or where both are 0.
    pub fn over(&self, limit: f64) -> f64 {
        if self.value == f64::NEG_INFINITY || self.value == 0.0 { 0.0 } else { self.value / limit }
    }

    /// The event that nothing recorded as its negative fell below `limit`.
    pub fn at_least(&self, what: &str, limit: f64) -> Outcome {
        self.event(what, -self.value, limit, self.value <= -limit)
    }

    /// The event that nothing exceeded `limit`; a trial without any column to look at holds.
    pub fn at_most(&self, what: &str, limit: f64) -> Outcome {
        self.event(what, self.value, limit, self.value <= limit)
    }

    fn event(&self, what: &str, value: f64, limit: f64, holds: bool) -> Outcome {
        let witness = match self.value == f64::NEG_INFINITY {
            true => witness! { "columns" => 0 },
            false => witness! {
                what => value, "limit" => limit, "head" => self.head, "column" => self.column, "row" => self.row,
            },
        };
        Outcome::Event { holds, witness }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reduced draw against the plain one: every sampled column has its products with all
    /// tokens, to rounding, whichever way the scores are formed, and lengths and products have the
    /// moments of Definition 1 (mean of |e|² is pδ², variance of <a, e>/|e| is 1).
    #[test]
    fn sampled_columns_have_the_law_of_the_whole() {
        let mixture = Mixture::balanced(3000, 3, 40, 0.5).unwrap();
        let (mut length2, mut ratio2, mut cross, mut count, mut pairs) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for trial in 0..20 {
            each_column(&mixture, 8, Side::Noise, &Streams::new(3, "columns", 0, trial), |column| {
                assert!(!column.is_signal());
                assert!((column.scores[column.index] / column.length.powi(2) - 1.0).abs() < 1e-12);
                length2 += column.length.powi(2);
                count += 1.0;
                for (_, x) in column.others(column.cluster.clone()) {
                    ratio2 += (x / column.length).powi(2);
                    cross += x / column.length;
                    pairs += 1.0;
                }
            })
            .unwrap();
        }
        // 480 lengths of relative variance 2/p each; 480 000 normals.
        assert!((length2 / count / (40.0 * 0.25) - 1.0_f64).abs() < 5.0 * (0.05_f64 / count).sqrt());
        assert!((ratio2 / pairs - 1.0_f64).abs() < 5.0 * (2.0_f64 / pairs).sqrt());
        assert!((cross / pairs).abs() < 5.0 / pairs.sqrt());
    }

    #[test]
    fn all_columns_are_the_plain_draw() {
        let mixture = Mixture::balanced(30, 3, 5, 0.5).unwrap();
        let streams = Streams::new(3, "columns", 0, 0);
        let mut columns = 0;
        each_column(&mixture, 0, Side::Signal, &streams, |column| {
            let y = mixture.head::<f64>(column.head, &streams);
            for i in 0..30 {
                let plain = y.column(i).dot(&y.column(column.index));
                assert!((plain - column.scores[i]).abs() < 1e-12);
            }
            columns += 1;
        })
        .unwrap();
        assert_eq!(columns, 30);
    }
}
