//! Normalised ReLU: positive parts divided by their sum.

use super::{Constructor, GpuPass, Nonlinearity, map};
use crate::attention::streaming::at_full_width;
use crate::attention::streaming::{Exp, LANES, Problem, Streamed, Streaming, TileRule, Tiled, fold_lanes};
use ndarray::ArrayViewMut2;
use std::ops::Range;

/// Weights max(x_i, 0) / Σ_j max(x_j, 0), all 0 if no score is positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReluNormalised;

pub(super) const CONSTRUCTOR: Constructor =
    Constructor { name: "relu-normalised", with_tau: |_| ReluNormalised.into() };

impl Nonlinearity for ReluNormalised {
    fn name(&self) -> &str {
        CONSTRUCTOR.name
    }

    fn apply(&self, column: &mut [f64]) {
        map(column, |x| x.max(0.0));
        let sum: f64 = column.iter().sum();
        if sum > 0.0 {
            map(column, |x| x / sum);
        }
    }

    #[inline(never)]
    fn streaming(&self) -> Option<&dyn Streaming> {
        Some(self)
    }

    fn gpu(&self) -> Option<GpuPass> {
        Some(GpuPass::Entrywise {
            weight: "fn weight(score: f32) -> f32 { return max(score, 0.0); }".into(),
            normalise: true,
        })
    }
}

impl Tiled for ReluNormalised {
    fn attend<T: Exp>(&self, head: &Problem<T>) -> Streamed<T> {
        let mut output = head.zeros();
        head.sweep(&PositiveParts(head), &mut output);
        Streamed::smooth(output)
    }
}

/// Rule that accumulates positive parts tile by tile and divides by their sum at the end.
struct PositiveParts<'p, 'a, T: Exp>(&'p Problem<'a, T>);

impl<T: Exp> TileRule<T> for PositiveParts<'_, '_, T> {
    /// Sum of the weights of each column.
    type State = Vec<f64>;
    type Report = ();

    fn start(&self, queries: Range<usize>) -> Vec<f64> {
        vec![0.0; queries.len()]
    }

    fn absorb(&self, sums: &mut Vec<f64>, keys: Range<usize>, scores: &mut [T], out: ArrayViewMut2<T>) {
        relu_columns(scores, keys.len(), sums);
        self.0.accumulate(keys, scores, out);
    }

    fn finish(&self, sums: Vec<f64>, mut out: ArrayViewMut2<T>) {
        for (mut column, sum) in out.columns_mut().into_iter().zip(sums) {
            // A sum of 0 means that every weight is 0, and the column is 0 already. A NaN propagates.
            if sum != 0.0 {
                let inverse = T::of_f64(sum.recip());
                column.mapv_inplace(|x| x * inverse);
            }
        }
    }
}

/// Replaces each score by max(score, 0) and adds each column's sum to `sums`.
fn relu_columns<T: Exp>(scores: &mut [T], rows: usize, sums: &mut [f64]) {
    at_full_width(
        #[inline(always)]
        || {
            for (column, sum) in scores.chunks_exact_mut(rows).zip(sums) {
                let mut lanes = [T::zero(); LANES];
                for chunk in column.chunks_mut(LANES) {
                    for (s, lane) in chunk.iter_mut().zip(&mut lanes) {
                        // This comparison keeps NaN, unlike `max`.
                        *s = if *s < T::zero() { T::zero() } else { *s };
                        *lane += *s;
                    }
                }
                *sum += fold_lanes(lanes).as_f64();
            }
        },
    );
}
