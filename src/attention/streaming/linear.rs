//! φ(x) = x: the products reassociate, and the scores are never formed.

use super::exp::Exp;
use super::problem::Problem;
use crate::attention::Mask;
use crate::linalg::{Threads, gemm};
use ndarray::{Array2, ArrayViewMut2, ShapeBuilder, s};

/// out <- (V Kᵀ) Q: 2Np² twice instead of 2N²p twice. Causal: the same with V Kᵀ of the blocks so
/// far, and the block's own masked scores.
pub(super) fn attend<T: Exp>(problem: &Problem<T>, out: &mut Array2<T>) {
    let (keys, queries, values) = (problem.keys(), problem.queries(), problem.values());
    let mut state = Array2::zeros((values.nrows(), keys.nrows()).f());
    match problem.mask() {
        Mask::None => {
            gemm(
                T::one(),
                values,
                keys.t(),
                false,
                state.view_mut(),
                Threads::All,
            );
            gemm(
                T::one(),
                state.view(),
                queries,
                false,
                out.view_mut(),
                Threads::All,
            );
        }
        Mask::Causal => {
            let blocks = problem.blocks();
            for range in (0..blocks.count()).map(|b| blocks.range(b)) {
                let own =
                    |a: ndarray::ArrayView2<'_, T>| a.slice_move(s![.., range.clone()]).to_owned();
                let (keys, queries, values) = (own(keys), own(queries), own(values));
                let mut scores = Array2::zeros((range.len(), range.len()).f());
                let mut out = out.slice_mut(s![.., range.clone()]);
                let all = Threads::All;
                gemm(
                    T::one(),
                    keys.t(),
                    queries.view(),
                    false,
                    scores.view_mut(),
                    all,
                );
                zero_below_diagonal(scores.view_mut());
                gemm(
                    T::one(),
                    state.view(),
                    queries.view(),
                    false,
                    out.view_mut(),
                    all,
                );
                gemm(
                    T::one(),
                    values.view(),
                    scores.view(),
                    true,
                    out.view_mut(),
                    all,
                );
                gemm(
                    T::one(),
                    values.view(),
                    keys.t(),
                    true,
                    state.view_mut(),
                    all,
                );
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

fn zero_below_diagonal<T: Exp>(mut scores: ArrayViewMut2<T>) {
    for (j, mut column) in scores.columns_mut().into_iter().enumerate() {
        column.slice_mut(s![j + 1..]).fill(T::zero());
    }
}
