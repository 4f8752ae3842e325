//! Rules that accumulate a φ over tiles. A rule receives the scores of one block of queries against one
//! block of keys after another, in a fixed order, and never all of them.

use super::exp::Exp;
use super::kernels::{column_maxima, exp_columns, scale, sum_exp_columns};
use ndarray::ArrayViewMut2;
use std::ops::Range;

/// A φ, or a part of one, accumulated from the scores of a head tile by tile: the argument of
/// [`Problem::sweep`](super::Problem::sweep).
pub trait TileRule<T>: Sync {
    /// State of a block of queries.
    type State: Send;
    /// Result for a block of queries, in addition to its columns of the output.
    type Report: Send;

    /// Returns the state before the first tile.
    fn start(&self, queries: Range<usize>) -> Self::State;

    /// Adds the scores of the block against `keys`: column-major, a column per query, masked entries -∞.
    /// The method may overwrite the scores. `out` is the block's part of the output.
    fn absorb(&self, state: &mut Self::State, keys: Range<usize>, scores: &mut [T], out: ArrayViewMut2<T>);

    /// Completes the block's part of the output after the last tile.
    fn finish(&self, state: Self::State, out: ArrayViewMut2<T>) -> Self::Report;
}

/// Running maximum and Σ exp(s - max) of each column of a block.
pub struct Running<T> {
    pub(super) max: Vec<T>,
    pub(super) sum: Vec<f64>,
    pub(super) tile_max: Vec<T>,
}

impl<T: Exp> Running<T> {
    /// Makes the state of `columns` columns before any score.
    pub fn new(columns: usize) -> Self {
        Running {
            max: vec![T::neg_infinity(); columns],
            sum: vec![0.0; columns],
            tile_max: vec![T::neg_infinity(); columns],
        }
    }

    /// Raises the maxima to include the tile; calls `rescale(j, factor)` for each column whose maximum rose.
    pub(super) fn raise(&mut self, scores: &[T], rows: usize, mut rescale: impl FnMut(usize, f64)) {
        column_maxima(scores, rows, &mut self.tile_max);
        for (j, &new) in self.tile_max.iter().enumerate() {
            if new > self.max[j] {
                let factor = (self.max[j].as_f64() - new.as_f64()).exp();
                self.sum[j] *= factor;
                self.max[j] = new;
                rescale(j, factor);
            }
        }
    }

    /// Adds a tile of `rows` keys and leaves its scores unchanged.
    pub fn absorb(&mut self, scores: &[T], rows: usize) {
        self.raise(scores, rows, |_, _| {});
        sum_exp_columns(scores, rows, &self.tile_max, &self.max, &mut self.sum);
    }

    /// Adds a tile of `rows` keys, replaces its scores by exp(s - max), and rescales the columns of the
    /// output whose maximum rose.
    pub fn exponentials(&mut self, scores: &mut [T], rows: usize, mut out: ArrayViewMut2<T>) {
        self.raise(scores, rows, |j, factor| {
            if let Some(column) = out.column_mut(j).as_slice_mut() {
                scale(column, T::of_f64(factor));
            }
        });
        exp_columns(scores, rows, &self.max, &mut self.sum);
    }

    /// Returns Σ exp(s - max) of every column.
    pub fn sums(&self) -> &[f64] {
        &self.sum
    }

    /// Returns log Σ exp(s) of column j.
    pub fn log_sum(&self, j: usize) -> f64 {
        self.max[j].as_f64() + self.sum[j].ln()
    }
}

/// Rule that reports log Σ exp of every column and writes no output.
pub struct LogSum;

impl<T: Exp> TileRule<T> for LogSum {
    type State = Running<T>;
    type Report = Vec<f64>;

    fn start(&self, queries: Range<usize>) -> Running<T> {
        Running::new(queries.len())
    }

    fn absorb(&self, state: &mut Running<T>, keys: Range<usize>, scores: &mut [T], _out: ArrayViewMut2<T>) {
        state.absorb(scores, keys.len());
    }

    fn finish(&self, state: Running<T>, _out: ArrayViewMut2<T>) -> Vec<f64> {
        (0..state.max.len()).map(|j| state.log_sum(j)).collect()
    }
}
