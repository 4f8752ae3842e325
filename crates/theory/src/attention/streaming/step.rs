//! One weight for every score above a cut.

use super::exp::Exp;
use super::kernels::{count_columns, step_columns};
use super::problem::Problem;
use super::rules::TileRule;
use ndarray::ArrayViewMut2;
use std::ops::Range;

/// Treatment of a score that is too close to its cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The score is decided at once, from its f64 value.
    ByEntry,
    /// The whole column is reported as undecided.
    ByColumn,
}

/// Rule that gives one weight to every score above the cut of its column.
pub struct Step<'p, 'a, T: Exp> {
    /// Head whose scores are swept.
    pub problem: &'p Problem<'a, T>,
    /// Weight of the scores above the cut.
    pub value: f64,
    /// Cut of each query, on its scores.
    pub cut: Vec<f64>,
    /// Half-width of the doubtful interval around each cut.
    pub band: Vec<f64>,
    /// Treatment of scores in the doubtful interval.
    pub doubt: Doubt,
}

/// State of a block of queries: counts in the current tile, and the decisions so far.
pub struct StepState {
    queries: Range<usize>,
    near: Vec<u32>,
    above: Vec<u32>,
    undecided: Vec<bool>,
    resolved: usize,
}

impl<T: Exp> TileRule<T> for Step<'_, '_, T> {
    type State = StepState;
    /// Columns left undecided, and the number of entries decided in f64.
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

    fn absorb(&self, state: &mut StepState, keys: Range<usize>, scores: &mut [T], out: ArrayViewMut2<T>) {
        let (rows, queries) = (keys.len(), state.queries.clone());
        let edge = |sign: f64| -> Vec<T> {
            let pairs = self.cut[queries.clone()].iter().zip(&self.band[queries.clone()]);
            pairs.map(|(cut, band)| T::of_f64(cut + sign * band)).collect()
        };
        let (low, high) = (edge(-1.0), edge(1.0));
        count_columns(scores, rows, (&low, &high), &mut state.near, &mut state.above);
        for (j, column) in scores.chunks_exact_mut(rows).enumerate() {
            if state.near[j] == 0 {
            } else if self.doubt == Doubt::ByColumn {
                state.undecided[j] = true;
            } else {
                let query = self.problem.query_f64(queries.start + j);
                for (s, i) in column.iter_mut().zip(keys.clone()) {
                    if *s > low[j] && *s <= high[j] {
                        let above = self.problem.score_f64(i, &query) > self.cut[queries.start + j];
                        *s = if above { T::infinity() } else { T::neg_infinity() };
                        state.resolved += 1;
                    }
                }
            }
        }
        let empty = |counts: &[u32]| counts.iter().all(|c| *c == 0);
        if !(empty(&state.near) && empty(&state.above)) {
            step_columns(scores, rows, &high, T::of_f64(self.value));
            self.problem.accumulate(keys, scores, out);
        }
    }

    fn finish(&self, state: StepState, _out: ArrayViewMut2<T>) -> (Vec<usize>, usize) {
        let columns = state.queries.zip(state.undecided);
        (columns.filter_map(|(j, open)| open.then_some(j)).collect(), state.resolved)
    }
}
