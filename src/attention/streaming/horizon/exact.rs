//! Chosen columns in f64, without the other N² scores: 2 N p operations per column.

use super::require_orthonormal;
use crate::attention::horizon::{Break, Column, validate};
use crate::error::{Error, Result};
use crate::linalg::{Real, Threads, gemm};
use crate::rng::Streams;
use crate::sample::Mixture;
use ndarray::parallel::prelude::*;
use ndarray::{Array2, ArrayView2, Axis, ShapeBuilder, s};
use std::ops::Range;

/// Columns at a time in the pass: 64 columns of N = 200 000 scores are 100 MB.
pub(super) const BATCH: usize = 64;

/// Bytes of scores at a time for columns of a mixture, whose keys are drawn again for every batch.
const SAMPLED_BYTES: usize = 1 << 29;

/// The first break of the given columns of one head, exact to f64 rounding for the coefficients
/// `y` (p, N); None for columns that never break.
///
/// # Panics
/// When a column is not one of the tokens, or τ not in (0, 1].
pub fn horizon_of_columns<T: Real>(
    y: ArrayView2<T>,
    own: &Range<usize>,
    columns: &[usize],
    tau: f64,
) -> Vec<Option<Break>> {
    assert!(tau > 0.0 && tau <= 1.0, "tau = {tau}");
    let batch = |columns: &[usize]| first_breaks(&scores(y, columns), own, columns, tau);
    columns.chunks(BATCH).flat_map(batch).collect()
}

/// The first break of the given columns of head k in a draw of `mixture` (f32 coefficients, as in
/// [`super::horizon_of_mixture`]), without the head in memory: every block of tokens is drawn when
/// it is needed. At N = 200 000, p = 1300 a few hundred columns take seconds and 0.6 GB.
///
/// # Errors
/// When a column is not a token, τ is outside (0, 1] or the bases are not jointly orthonormal.
///
/// ```
/// use attnlab::attention::streaming::horizon::sampled_columns;
/// use attnlab::{rng::Streams, sample::Mixture};
/// let mixture = Mixture::balanced(2000, 2, 100, 0.06)?;
/// let breaks = sampled_columns(&mixture, 0, &[1000, 1500], 0.55, &Streams::new(1, "doc", 0, 0))?;
/// assert!(breaks.iter().flatten().all(|b| b.theta > 1.0 && b.row < 1000));
/// # Ok::<(), attnlab::Error>(())
/// ```
pub fn sampled_columns(
    mixture: &Mixture,
    head: usize,
    columns: &[usize],
    tau: f64,
    streams: &Streams,
) -> Result<Vec<Option<Break>>> {
    let own = checked_head(mixture, head, columns)?;
    validate(mixture.tokens(), &own, tau)?;
    let at_once = (SAMPLED_BYTES / (8 * mixture.tokens())).max(1);
    let batch = |columns: &[usize]| {
        let scores = drawn_scores(mixture, head, columns, streams);
        first_breaks(&scores, &own, columns, tau)
    };
    Ok(columns.chunks(at_once).flat_map(batch).collect())
}

/// The softmax weight that column `column` of head k gives to key `row` at θ, in f64, in a draw of
/// `mixture`: how a witness is checked without the pass that found it.
///
/// # Errors
/// As [`sampled_columns`].
pub fn weight_in_draw(
    mixture: &Mixture,
    head: usize,
    (column, row): (usize, usize),
    theta: f64,
    streams: &Streams,
) -> Result<f64> {
    let own = checked_head(mixture, head, &[column, row])?;
    let scores = drawn_scores(mixture, head, &[column], streams).row(0).to_vec();
    Ok(Column::new(&scores, &own, column).weight(row, theta))
}

/// The tokens of cluster `head`, after everything that a caller may get wrong.
fn checked_head(mixture: &Mixture, head: usize, columns: &[usize]) -> Result<Range<usize>> {
    require_orthonormal(mixture)?;
    if head >= mixture.clusters() {
        let allowed = format!("a whole number below clusters = {}", mixture.clusters());
        return Err(Error::invalid("head", head, allowed));
    }
    if let Some(j) = columns.iter().find(|j| **j >= mixture.tokens()) {
        let allowed = format!("a whole number below tokens = {}", mixture.tokens());
        return Err(Error::invalid("column", j, allowed));
    }
    Ok(mixture.cluster(head))
}

fn first_breaks(
    scores: &Array2<f64>,
    own: &Range<usize>,
    columns: &[usize],
    tau: f64,
) -> Vec<Option<Break>> {
    let rows: Vec<_> = scores.rows().into_iter().zip(columns).collect();
    let first = |(row, j): (ndarray::ArrayView1<f64>, &usize)| {
        Column::new(&row.to_vec(), own, *j).first_break(tau)
    };
    rows.into_par_iter().map(first).collect()
}

/// Scores (m, N) of m columns of a head in memory.
fn scores<T: Real>(y: ArrayView2<T>, columns: &[usize]) -> Array2<f64> {
    let block = |b: usize| {
        let end = ((b + 1) * Mixture::BLOCK).min(y.ncols());
        widen(y.slice(s![.., b * Mixture::BLOCK..end]))
    };
    let queries = y.select(Axis(1), columns).mapv(T::as_f64);
    scores_by_block(queries.view(), y.ncols(), block)
}

/// The same for a head that is drawn block by block.
fn drawn_scores(
    mixture: &Mixture,
    head: usize,
    columns: &[usize],
    streams: &Streams,
) -> Array2<f64> {
    let block = |b: usize| widen(mixture.head_block::<f32>(head, b, streams).view());
    let mut queries = Array2::zeros((mixture.dims[head], columns.len()).f());
    for (mut query, j) in queries.columns_mut().into_iter().zip(columns) {
        query.assign(&block(j / Mixture::BLOCK).column(j % Mixture::BLOCK));
    }
    scores_by_block(queries.view(), mixture.tokens(), block)
}

fn widen<T: Real>(y: ArrayView2<T>) -> Array2<f64> {
    let mut wide = Array2::zeros(y.raw_dim().f());
    wide.zip_mut_with(&y, |w, x| *w = x.as_f64());
    wide
}

/// Scores (m, N) of `queries` (p, m) with all tokens, in f64; `block(b)` gives the coefficients of
/// the b-th [`Mixture::BLOCK`] tokens.
fn scores_by_block(
    queries: ArrayView2<f64>,
    tokens: usize,
    block: impl Fn(usize) -> Array2<f64> + Sync,
) -> Array2<f64> {
    let mut scores = Array2::zeros((queries.ncols(), tokens).f());
    scores
        .axis_chunks_iter_mut(Axis(1), Mixture::BLOCK)
        .into_par_iter()
        .enumerate()
        .for_each(|(b, scores)| {
            gemm(1.0, queries.t(), block(b).view(), false, scores, Threads::One);
        });
    scores
}
