//! What each φ keeps of the tiles that pass by. A rule sees the scores of one block of queries
//! against one block of keys after another, in a fixed order, and never all of them.

use super::exp::Exp;
use super::kernels::*;
use super::problem::{Problem, matrix_mut};
use crate::linalg::{Threads, gemm};
use ndarray::{ArrayViewMut2, s};
use std::ops::Range;

/// How φ is accumulated over tiles.
pub(super) trait Rule<T>: Sync {
    /// What is kept for a block of queries.
    type State: Send;
    /// What is left to say about it at the end.
    type Report: Send;

    fn start(&self, queries: Range<usize>) -> Self::State;

    /// Takes in the scores of the block against `keys`: column-major, a column per query, masked
    /// entries -∞. It may overwrite them. `out` is the block's part of the output.
    fn absorb(
        &self,
        state: &mut Self::State,
        keys: Range<usize>,
        scores: &mut [T],
        out: ArrayViewMut2<T>,
    );

    fn finish(&self, state: Self::State, out: ArrayViewMut2<T>) -> Self::Report;
}

/// out += V_I W.
fn accumulate<T: Exp>(
    problem: &Problem<T>,
    keys: Range<usize>,
    weights: &mut [T],
    out: ArrayViewMut2<T>,
) {
    let rows = keys.len();
    let values = problem.values();
    let values = values.slice(s![.., keys]);
    let weights = matrix_mut(weights, rows);
    gemm(T::one(), values, weights.view(), true, out, Threads::One);
}

/// Running maximum and Σ exp(s - max) of each column.
pub(super) struct Running<T> {
    max: Vec<T>,
    sum: Vec<f64>,
    tile_max: Vec<T>,
}

impl<T: Exp> Running<T> {
    fn new(columns: usize) -> Self {
        Running {
            max: vec![T::neg_infinity(); columns],
            sum: vec![0.0; columns],
            tile_max: vec![T::neg_infinity(); columns],
        }
    }

    /// Raises the maxima to include the tile; `rescale(j, factor)` for each column that rose.
    fn raise(&mut self, scores: &[T], rows: usize, mut rescale: impl FnMut(usize, f64)) {
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

    /// Takes in a tile of which nothing but the sums is needed.
    fn absorb(&mut self, scores: &[T], rows: usize) {
        self.raise(scores, rows, |_, _| {});
        sum_exp_columns(scores, rows, &self.tile_max, &self.max, &mut self.sum);
    }

    /// log Σ exp(s) of column j.
    fn log_sum(&self, j: usize) -> f64 {
        self.max[j].as_f64() + self.sum[j].ln()
    }
}

/// σ: the output is kept relative to the running maximum and rescaled when that rises.
pub(super) struct Softmax<'p, 'a, T: Exp>(pub &'p Problem<'a, T>);

impl<T: Exp> Rule<T> for Softmax<'_, '_, T> {
    type State = Running<T>;
    type Report = ();

    fn start(&self, queries: Range<usize>) -> Running<T> {
        Running::new(queries.len())
    }

    fn absorb(
        &self,
        state: &mut Running<T>,
        keys: Range<usize>,
        scores: &mut [T],
        mut out: ArrayViewMut2<T>,
    ) {
        state.raise(scores, keys.len(), |j, factor| {
            if let Some(column) = out.column_mut(j).as_slice_mut() {
                scale(column, T::of_f64(factor));
            }
        });
        exp_columns(scores, keys.len(), &state.max, &mut state.sum);
        accumulate(self.0, keys, scores, out);
    }

    fn finish(&self, state: Running<T>, mut out: ArrayViewMut2<T>) {
        for (mut column, sum) in out.columns_mut().into_iter().zip(state.sum) {
            let inverse = T::of_f64(sum.recip());
            column.mapv_inplace(|x| x * inverse);
        }
    }
}

/// log Σ exp of every column: the first of two passes for a small τ.
pub(super) struct LogSum;

impl<T: Exp> Rule<T> for LogSum {
    type State = Running<T>;
    type Report = Vec<f64>;

    fn start(&self, queries: Range<usize>) -> Running<T> {
        Running::new(queries.len())
    }

    fn absorb(
        &self,
        state: &mut Running<T>,
        keys: Range<usize>,
        scores: &mut [T],
        _out: ArrayViewMut2<T>,
    ) {
        state.absorb(scores, keys.len());
    }

    fn finish(&self, state: Running<T>, _out: ArrayViewMut2<T>) -> Vec<f64> {
        (0..state.max.len()).map(|j| state.log_sum(j)).collect()
    }
}

/// Which few entries of a column carry all of its weight.
pub(super) enum Pick {
    /// Those with softmax weight > τ: fewer than 1/τ, so at most one where τ ≥ 1/2.
    Above { tau: f64 },
    /// The largest score.
    Largest,
}

/// φ with few non-zero weights: no product with V, only a gather at the end.
///
/// A softmax weight can only shrink as more keys are seen, so an entry that falls below τ never
/// returns and the list of a column stays shorter than 1/τ. Entries within the error bounds of the
/// cut are kept, and decided at the end: in or out for certain, or the column is reported.
pub(super) struct Peaks<'p, 'a, T: Exp> {
    pub problem: &'p Problem<'a, T>,
    pub pick: Pick,
}

pub(super) struct PeakState<T> {
    first: usize,
    running: Running<T>,
    /// E_j.
    error: Vec<f64>,
    /// The last cut: an entry below it is out for certain.
    cut: Vec<f64>,
    entries: Vec<Vec<(T, usize)>>,
}

impl<T: Exp> Rule<T> for Peaks<'_, '_, T> {
    type State = PeakState<T>;
    /// Columns that the bounds cannot decide.
    type Report = Vec<usize>;

    fn start(&self, queries: Range<usize>) -> PeakState<T> {
        PeakState {
            first: queries.start,
            running: Running::new(queries.len()),
            cut: vec![f64::NEG_INFINITY; queries.len()],
            entries: vec![Vec::new(); queries.len()],
            error: queries.map(|j| self.problem.score_error(j)).collect(),
        }
    }

    fn absorb(
        &self,
        state: &mut PeakState<T>,
        keys: Range<usize>,
        scores: &mut [T],
        _out: ArrayViewMut2<T>,
    ) {
        let rows = keys.len();
        match self.pick {
            Pick::Above { .. } => state.running.absorb(scores, rows),
            Pick::Largest => state.running.raise(scores, rows, |_, _| {}),
        }
        for (j, column) in scores.chunks_exact(rows).enumerate() {
            if state.running.tile_max[j].as_f64() < state.cut[j] {
                continue;
            }
            let cut = self.cut(&state.running, j, state.error[j]);
            let list = &mut state.entries[j];
            list.retain(|(s, _)| s.as_f64() >= cut);
            let inside = column
                .iter()
                .zip(keys.clone())
                .filter(|(s, _)| s.as_f64() >= cut);
            list.extend(inside.map(|(s, i)| (*s, i)));
            if let Pick::Largest = self.pick {
                // Two that are too close already send the column to be decided again; a tie of
                // thousands needs no more memory than that.
                list.sort_by(|a, b| b.0.as_f64().total_cmp(&a.0.as_f64()));
                list.truncate(2);
            }
            state.cut[j] = cut;
        }
    }

    fn finish(&self, state: PeakState<T>, mut out: ArrayViewMut2<T>) -> Vec<usize> {
        let mut undecided = vec![];
        for (j, list) in state.entries.iter().enumerate() {
            let picked = match self.pick {
                Pick::Above { tau } => self
                    .above(&state, j, tau)
                    .map(|list| (T::of_f64(tau), list)),
                Pick::Largest if list.len() == 1 => Some((T::one(), vec![list[0].1])),
                Pick::Largest => None,
            };
            let Some((weight, picked)) = picked else {
                undecided.push(state.first + j);
                continue;
            };
            for i in picked {
                out.column_mut(j)
                    .scaled_add(weight, &self.problem.values().column(i));
            }
        }
        undecided
    }
}

impl<T: Exp> Peaks<'_, '_, T> {
    /// A score below this is out for certain, whatever comes.
    fn cut(&self, running: &Running<T>, j: usize, error: f64) -> f64 {
        match self.pick {
            Pick::Largest => running.max[j].as_f64() - 2.0 * error,
            Pick::Above { tau } => {
                running.log_sum(j) + tau.ln() - 2.0 * error - 2.0 * self.problem.sum_error()
            }
        }
    }

    /// The entries of column j with weight > τ, or `None` where the bounds leave one open.
    fn above(&self, state: &PeakState<T>, j: usize, tau: f64) -> Option<Vec<usize>> {
        let running = &state.running;
        let mut picked = vec![];
        for &(s, i) in &state.entries[j] {
            let sum = running.sum[j] * (running.max[j].as_f64() - s.as_f64()).exp();
            if weight_exceeds(tau, sum, state.error[j], self.problem.sum_error())? {
                picked.push(i);
            }
        }
        picked.sort_unstable();
        Some(picked)
    }
}

/// Whether an entry has softmax weight > τ, from the computed `sum` = Σ_k exp(s_k - s_i); `None` where
/// the bounds leave it open. No score errs by more than `error`, the sum by more than `relative`.
///
/// The weight is above τ exactly when r = Σ_{k≠i} exp(s_k - s_i) < 1/τ - 1. Each s_k - s_i is known to
/// 2E, so r to a factor exp(2E); the subtraction of the entry's own 1 from the computed sum leaves an
/// absolute error of (1 + r) times the relative error of the sum. In this form a weight close to 1 is
/// decided even when τ is close to 1 too.
pub(crate) fn weight_exceeds(tau: f64, sum: f64, error: f64, relative: f64) -> Option<bool> {
    let (spread, limit) = ((2.0 * error).exp(), tau.recip() - 1.0);
    let (rest, absolute) = ((sum - 1.0).max(0.0), sum * relative);
    if rest * spread + absolute < limit {
        Some(true)
    } else if rest / spread - absolute < limit {
        None
    } else {
        Some(false)
    }
}

/// How a score too close to the cut is decided.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Doubt {
    /// At once, from the f64 score.
    ByEntry,
    /// By doing the whole column again.
    ByColumn,
}

/// Weight `value` on every score above the cut of its column.
pub(super) struct Step<'p, 'a, T: Exp> {
    pub problem: &'p Problem<'a, T>,
    pub value: f64,
    /// Cut of each query.
    pub cut: Vec<f64>,
    /// Half-width of the doubtful interval around each cut.
    pub band: Vec<f64>,
    pub doubt: Doubt,
}

pub(super) struct StepState {
    queries: Range<usize>,
    near: Vec<u32>,
    above: Vec<u32>,
    undecided: Vec<bool>,
    resolved: usize,
}

impl<T: Exp> Rule<T> for Step<'_, '_, T> {
    type State = StepState;
    /// Columns left undecided, and the number of entries that were decided in f64.
    type Report = (Vec<usize>, usize);

    fn start(&self, queries: Range<usize>) -> StepState {
        StepState {
            near: vec![0; queries.len()],
            above: vec![0; queries.len()],
            undecided: vec![false; queries.len()],
            queries,
            resolved: 0,
        }
    }

    fn absorb(
        &self,
        state: &mut StepState,
        keys: Range<usize>,
        scores: &mut [T],
        out: ArrayViewMut2<T>,
    ) {
        let (rows, queries) = (keys.len(), state.queries.clone());
        let edge = |sign: f64| -> Vec<T> {
            let pairs = self.cut[queries.clone()]
                .iter()
                .zip(&self.band[queries.clone()]);
            pairs
                .map(|(cut, band)| T::of_f64(cut + sign * band))
                .collect()
        };
        let (low, high) = (edge(-1.0), edge(1.0));
        count_columns(
            scores,
            rows,
            (&low, &high),
            &mut state.near,
            &mut state.above,
        );
        for (j, column) in scores.chunks_exact_mut(rows).enumerate() {
            if state.near[j] == 0 {
            } else if self.doubt == Doubt::ByColumn {
                state.undecided[j] = true;
            } else {
                let query = self.problem.query_f64(queries.start + j);
                for (s, i) in column.iter_mut().zip(keys.clone()) {
                    if *s > low[j] && *s <= high[j] {
                        let above = self.problem.score_f64(i, &query) > self.cut[queries.start + j];
                        *s = if above {
                            T::infinity()
                        } else {
                            T::neg_infinity()
                        };
                        state.resolved += 1;
                    }
                }
            }
        }
        let empty = |counts: &[u32]| counts.iter().all(|c| *c == 0);
        if !(empty(&state.near) && empty(&state.above)) {
            step_columns(scores, rows, &high, T::of_f64(self.value));
            accumulate(self.problem, keys, scores, out);
        }
    }

    fn finish(&self, state: StepState, _out: ArrayViewMut2<T>) -> (Vec<usize>, usize) {
        let columns = state.queries.zip(state.undecided);
        (
            columns.filter_map(|(j, open)| open.then_some(j)).collect(),
            state.resolved,
        )
    }
}

/// Weights that need no maximum: φ(x) = x, and max(x, 0) divided by its sum.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Direct {
    Linear,
    ReluNormalised,
}

/// [`Direct`] weights, accumulated as they come.
pub(super) struct Weighted<'p, 'a, T: Exp> {
    pub problem: &'p Problem<'a, T>,
    pub weights: Direct,
}

impl<T: Exp> Rule<T> for Weighted<'_, '_, T> {
    /// Sum of the weights of each column.
    type State = Vec<f64>;
    type Report = ();

    fn start(&self, queries: Range<usize>) -> Vec<f64> {
        vec![0.0; queries.len()]
    }

    fn absorb(
        &self,
        sums: &mut Vec<f64>,
        keys: Range<usize>,
        scores: &mut [T],
        out: ArrayViewMut2<T>,
    ) {
        match self.weights {
            Direct::Linear => masked_to_zero(scores),
            Direct::ReluNormalised => relu_columns(scores, keys.len(), sums),
        }
        accumulate(self.problem, keys, scores, out);
    }

    fn finish(&self, sums: Vec<f64>, mut out: ArrayViewMut2<T>) {
        if self.weights == Direct::Linear {
            return;
        }
        for (mut column, sum) in out.columns_mut().into_iter().zip(sums) {
            // No positive score: every weight is 0, and so is the column already. A NaN goes on.
            if sum != 0.0 {
                let inverse = T::of_f64(sum.recip());
                column.mapv_inplace(|x| x * inverse);
            }
        }
    }
}
