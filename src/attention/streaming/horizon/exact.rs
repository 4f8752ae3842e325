//! Chosen columns in f64, without the other N² scores: 2 N p operations per column.

use crate::attention::horizon::{Break, Column};
use crate::linalg::{Real, Threads, gemm};
use ndarray::parallel::prelude::*;
use ndarray::{Array2, ArrayView2, Axis, ShapeBuilder};
use std::ops::Range;

/// Columns at a time: 64 columns of N = 200 000 scores are 100 MB.
pub(super) const BATCH: usize = 64;

/// Tokens converted to f64 at a time.
const CHUNK: usize = 256;

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
    let batch = |columns: &[usize]| {
        let scores = scores(y, columns);
        let rows: Vec<_> = scores.rows().into_iter().zip(columns).collect();
        let first = |(row, j): (ndarray::ArrayView1<f64>, &usize)| {
            Column::new(&row.to_vec(), own, *j).first_break(tau)
        };
        rows.into_par_iter().map(first).collect::<Vec<_>>()
    };
    columns.chunks(BATCH).flat_map(batch).collect()
}

/// The softmax weight that column `column` of one head gives to key `row` at θ, in f64 from the
/// coefficients `y` (p, N).
///
/// # Panics
/// When `column` or `row` is not one of the tokens.
pub fn weight_of<T: Real>(
    y: ArrayView2<T>,
    own: &Range<usize>,
    column: usize,
    row: usize,
    theta: f64,
) -> f64 {
    let scores = scores(y, &[column]).row(0).to_vec();
    Column::new(&scores, own, column).weight(row, theta)
}

/// Scores (m, N) of m columns with all tokens, accumulated in f64.
fn scores<T: Real>(y: ArrayView2<T>, columns: &[usize]) -> Array2<f64> {
    let queries = y.select(Axis(1), columns).mapv(T::as_f64);
    let mut scores = Array2::zeros((columns.len(), y.ncols()).f());
    let keys = y.axis_chunks_iter(Axis(1), CHUNK).into_par_iter();
    scores
        .axis_chunks_iter_mut(Axis(1), CHUNK)
        .into_par_iter()
        .zip(keys)
        .for_each(|(scores, keys)| {
            let mut wide = Array2::zeros(keys.raw_dim().f());
            wide.zip_mut_with(&keys, |w, k| *w = k.as_f64());
            gemm(1.0, queries.t(), wide.view(), false, scores, Threads::One);
        });
    scores
}
