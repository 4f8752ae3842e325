//! Selected columns in f64, without the other N² scores: 2Np floating-point operations per column.

use crate::attention::horizon::{Break, Column};
use attnlab_core::linalg::{Real, Threads, gemm};
use ndarray::parallel::prelude::*;
use ndarray::{Array2, ArrayView2, Axis, ShapeBuilder, s};
use std::ops::Range;

/// Bytes of scores computed at a time: 64 columns of N = 200 000.
const SCORE_BYTES: usize = 100 << 20;

/// Number of tokens converted to f64 at a time if the head is in memory.
const WIDTH: usize = 256;

/// Coefficients (p, N) of one head as a function that returns one block of tokens: `block(b)` holds tokens
/// `b * width ..` up to `(b + 1) * width` or N. The head can thus be drawn block by block and need not be in memory.
pub struct Blockwise<F> {
    /// Number N of tokens.
    pub tokens: usize,
    /// Number of tokens per block.
    pub width: usize,
    /// Function that returns the coefficients of block b, in f64.
    pub block: F,
}

/// Computes the first break of the given columns of one head, exact to f64 rounding for the coefficients
/// `y` (p, N); `None` for columns that never break.
///
/// # Panics
/// If a column is not one of the tokens, or τ is not in (0, 1].
pub fn horizon_of_columns<T: Real>(
    y: ArrayView2<T>,
    own: &Range<usize>,
    columns: &[usize],
    tau: f64,
) -> Vec<Option<Break>> {
    in_memory(y).first_breaks(own, columns, tau)
}

/// Computes, in f64, the softmax weight that `column` of one head gives to key `row` at θ, from its
/// coefficients `y` (p, N).
///
/// # Panics
/// If `column` or `row` is not one of the tokens.
pub fn weight_of_column<T: Real>(
    y: ArrayView2<T>,
    own: &Range<usize>,
    (column, row): (usize, usize),
    theta: f64,
) -> f64 {
    in_memory(y).weight(own, column, row, theta)
}

fn in_memory<T: Real>(y: ArrayView2<T>) -> Blockwise<impl Fn(usize) -> Array2<f64> + Sync> {
    let block = move |b: usize| {
        let end = ((b + 1) * WIDTH).min(y.ncols());
        y.slice(s![.., b * WIDTH..end]).mapv(T::as_f64)
    };
    Blockwise { tokens: y.ncols(), width: WIDTH, block }
}

impl<F: Fn(usize) -> Array2<f64> + Sync> Blockwise<F> {
    /// Computes the first break of the given columns; `own` are the tokens of the head's cluster.
    ///
    /// # Panics
    /// If a column is not one of the tokens, or τ is not in (0, 1].
    pub fn first_breaks(&self, own: &Range<usize>, columns: &[usize], tau: f64) -> Vec<Option<Break>> {
        assert!(tau > 0.0 && tau <= 1.0, "tau = {tau}");
        let at_once = (SCORE_BYTES / (8 * self.tokens)).max(1);
        let batch = |columns: &[usize]| {
            let scores = self.scores(columns);
            let rows: Vec<_> = scores.rows().into_iter().zip(columns).collect();
            let first =
                |(row, j): (ndarray::ArrayView1<f64>, &usize)| Column::new(&row.to_vec(), own, *j).first_break(tau);
            rows.into_par_iter().map(first).collect::<Vec<_>>()
        };
        columns.chunks(at_once).flat_map(batch).collect()
    }

    /// Computes the softmax weight that `column` gives to key `row` at θ.
    ///
    /// # Panics
    /// If `column` or `row` is not one of the tokens.
    pub fn weight(&self, own: &Range<usize>, column: usize, row: usize, theta: f64) -> f64 {
        let scores = self.scores(&[column]).row(0).to_vec();
        Column::new(&scores, own, column).weight(row, theta)
    }

    /// Computes the scores (m, N) of m columns with all tokens, accumulated in f64.
    fn scores(&self, columns: &[usize]) -> Array2<f64> {
        let queries: Vec<_> =
            columns.par_iter().map(|j| (self.block)(j / self.width).column(j % self.width).to_owned()).collect();
        let views: Vec<_> = queries.iter().map(|q| q.view()).collect();
        let queries = ndarray::stack(Axis(0), &views).expect("columns of equal length");
        let mut scores = Array2::zeros((columns.len(), self.tokens).f());
        scores.axis_chunks_iter_mut(Axis(1), self.width).into_par_iter().enumerate().for_each(|(b, scores)| {
            gemm(1.0, queries.view(), (self.block)(b).view(), false, scores, Threads::One);
        });
        scores
    }
}
