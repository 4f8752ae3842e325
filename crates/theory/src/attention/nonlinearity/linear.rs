//! Linear attention: the products are reassociated, so that the scores are never formed.

use super::{Constructor, GpuPass, Nonlinearity, map};
use crate::attention::Mask;
use crate::attention::streaming::{Exp, Problem, Streamed, Streaming, TileRule, Tiled, at_full_width};
use attnlab_core::linalg::{Threads, gemm};
use ndarray::{Array2, ArrayViewMut2, ShapeBuilder, s};
use std::ops::Range;

/// Identity φ(x) = x; masked scores count as 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear;

pub(super) const CONSTRUCTOR: Constructor = Constructor { name: "linear", with_tau: |_| Linear.into() };

impl Nonlinearity for Linear {
    fn name(&self) -> &str {
        CONSTRUCTOR.name
    }

    fn apply(&self, column: &mut [f64]) {
        map(column, |x| if x == f64::NEG_INFINITY { 0.0 } else { x });
    }

    #[inline(never)]
    fn streaming(&self) -> Option<&dyn Streaming> {
        Some(self)
    }

    fn gpu(&self) -> Option<GpuPass> {
        Some(GpuPass::Entrywise { weight: "fn weight(score: f32) -> f32 { return score; }".into(), normalise: false })
    }
}

impl Tiled for Linear {
    fn attend<T: Exp>(&self, head: &Problem<T>) -> Streamed<T> {
        let mut output = head.zeros();
        // For N ≤ p the scores (N, N) are no larger than KVᵀ.
        if head.tokens() <= head.dim() {
            head.sweep(&Scores(head), &mut output);
        } else {
            reassociated(head, &mut output);
        }
        Streamed::smooth(output)
    }
}

/// Rule whose weights are the scores.
struct Scores<'p, 'a, T: Exp>(&'p Problem<'a, T>);

impl<T: Exp> TileRule<T> for Scores<'_, '_, T> {
    type State = ();
    type Report = ();

    fn start(&self, _queries: Range<usize>) {}

    fn absorb(&self, _state: &mut (), keys: Range<usize>, scores: &mut [T], out: ArrayViewMut2<T>) {
        masked_to_zero(scores);
        self.0.accumulate(keys, scores, out);
    }

    fn finish(&self, _state: (), _out: ArrayViewMut2<T>) {}
}

/// Replaces masked scores, -∞, by 0.
fn masked_to_zero<T: Exp>(scores: &mut [T]) {
    at_full_width(
        #[inline(always)]
        || {
            for s in scores {
                *s = if *s == T::neg_infinity() { T::zero() } else { *s };
            }
        },
    );
}

/// Computes out <- (V Kᵀ) Q with 4Np² floating-point operations instead of 4N²p. With the causal mask V
/// Kᵀ covers the blocks before a block, and the block's own masked scores are added.
fn reassociated<T: Exp>(problem: &Problem<T>, out: &mut Array2<T>) {
    let (keys, queries, values) = (problem.keys(), problem.queries(), problem.values());
    let mut state = Array2::zeros((values.nrows(), keys.nrows()).f());
    match problem.mask() {
        Mask::None => {
            gemm(T::one(), values, keys.t(), false, state.view_mut(), Threads::All);
            gemm(T::one(), state.view(), queries, false, out.view_mut(), Threads::All);
        }
        Mask::Causal => {
            let blocks = problem.blocks();
            for range in (0..blocks.count()).map(|b| blocks.range(b)) {
                let block_of = |a: ndarray::ArrayView2<'_, T>| a.slice_move(s![.., range.clone()]).to_owned();
                let (keys, queries, values) = (block_of(keys), block_of(queries), block_of(values));
                let mut scores = Array2::zeros((range.len(), range.len()).f());
                let mut out = out.slice_mut(s![.., range.clone()]);
                let threads = Threads::All;
                gemm(T::one(), keys.t(), queries.view(), false, scores.view_mut(), threads);
                for (j, mut column) in scores.columns_mut().into_iter().enumerate() {
                    column.slice_mut(s![j + 1..]).fill(T::zero());
                }
                gemm(T::one(), state.view(), queries.view(), false, out.view_mut(), threads);
                gemm(T::one(), values.view(), scores.view(), true, out.view_mut(), threads);
                gemm(T::one(), values.view(), keys.t(), true, state.view_mut(), threads);
            }
        }
    }
    for (j, mut column) in out.columns_mut().into_iter().enumerate() {
        let factor = T::of_f64(problem.factor(j));
        if factor != T::one() {
            column.mapv_inplace(|x| x * factor);
        }
    }
}
