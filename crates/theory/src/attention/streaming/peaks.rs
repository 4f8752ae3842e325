//! Weights that are 0 for all but a few entries of a column.

use super::exp::Exp;
use super::problem::Problem;
use super::rules::{Running, TileRule};
use ndarray::ArrayViewMut2;
use std::ops::Range;

/// Choice of the few entries of a column that carry all of its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pick {
    /// Entries with softmax weight above a cut c: fewer than 1/c, so at most one if c ≥ 1/2.
    Above {
        /// Cut c > 0 on the softmax weight.
        cut: f64,
        /// Weight of each entry above the cut.
        value: f64,
    },
    /// The entry with the largest score, with weight 1.
    Largest,
}

/// Rule for weights with few non-zero entries: no product with V, only a gather at the end. It reports
/// the columns that rounding leaves undecided, and adds nothing to their output.
///
/// A softmax weight can only shrink as more keys arrive, so an entry that falls below the cut c never
/// returns, and the list of a column stays shorter than 1/c. Entries within the error bounds of the cut
/// are kept and decided at the end: in, out, or undecided, in which case the column is reported.
pub struct Peaks<'p, 'a, T: Exp> {
    /// Head whose scores are swept.
    pub problem: &'p Problem<'a, T>,
    /// Choice of the entries with non-zero weight.
    pub pick: Pick,
}

/// Entries of a block of queries that may still get a non-zero weight.
pub struct PeakState<T> {
    first: usize,
    running: Running<T>,
    /// Error bounds E_j of the scores.
    error: Vec<f64>,
    /// Last cut of each column: an entry below it is certainly out.
    cut: Vec<f64>,
    entries: Vec<Vec<(T, usize)>>,
}

impl<T: Exp> TileRule<T> for Peaks<'_, '_, T> {
    type State = PeakState<T>;
    /// Columns that remain undecided within the bounds.
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

    fn absorb(&self, state: &mut PeakState<T>, keys: Range<usize>, scores: &mut [T], _out: ArrayViewMut2<T>) {
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
            let inside = column.iter().zip(keys.clone()).filter(|(s, _)| s.as_f64() >= cut);
            list.extend(inside.map(|(s, i)| (*s, i)));
            if let Pick::Largest = self.pick {
                // Two entries that are too close already make the column undecided, so a tie of thousands
                // needs no more memory than that.
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
                Pick::Above { cut, value } => self.above(&state, j, cut).map(|list| (T::of_f64(value), list)),
                Pick::Largest if list.len() == 1 => Some((T::one(), vec![list[0].1])),
                Pick::Largest => None,
            };
            let Some((weight, picked)) = picked else {
                undecided.push(state.first + j);
                continue;
            };
            for i in picked {
                out.column_mut(j).scaled_add(weight, &self.problem.values().column(i));
            }
        }
        undecided
    }
}

impl<T: Exp> Peaks<'_, '_, T> {
    /// Returns the score below which an entry is certainly out, whatever keys follow.
    fn cut(&self, running: &Running<T>, j: usize, error: f64) -> f64 {
        match self.pick {
            Pick::Largest => running.max[j].as_f64() - 2.0 * error,
            Pick::Above { cut, .. } => running.log_sum(j) + cut.ln() - 2.0 * error - 2.0 * self.problem.sum_error(),
        }
    }

    /// Returns the entries of column j with weight > c, or `None` if the bounds leave one undecided.
    fn above(&self, state: &PeakState<T>, j: usize, cut: f64) -> Option<Vec<usize>> {
        let running = &state.running;
        let mut picked = vec![];
        for &(s, i) in &state.entries[j] {
            let sum = running.sum[j] * (running.max[j].as_f64() - s.as_f64()).exp();
            if weight_exceeds(cut, sum, state.error[j], self.problem.sum_error())? {
                picked.push(i);
            }
        }
        picked.sort_unstable();
        Some(picked)
    }
}

/// Decides whether an entry has softmax weight > τ, given the computed `sum` = Σ_k exp(s_k - s_i); `None` if the bounds
/// leave it undecided. `error` bounds the error E of every score, `relative` the relative error of the sum.
///
/// The weight is above τ exactly if r = Σ_{k≠i} exp(s_k - s_i) < 1/τ - 1. Each s_k - s_i has an error of at most 2E, so
/// r is known to a factor exp(2E); subtracting the entry's own 1 from the computed sum adds an absolute error of
/// (1 + r) times the relative error of the sum. In this form a weight close to 1 is decided also if τ is close to 1.
pub fn weight_exceeds(tau: f64, sum: f64, error: f64, relative: f64) -> Option<bool> {
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
