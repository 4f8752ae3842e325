//! Softmax, the weights of standard attention.

use super::{Constructor, GpuPass, Nonlinearity, map};
use crate::attention::streaming::{Exp, Problem, Running, Streamed, Streaming, TileRule, Tiled};
use ndarray::ArrayViewMut2;
use std::ops::Range;

/// Softmax σ(x)_i = exp(x_i) / Σ_j exp(x_j).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Softmax;

pub(super) const CONSTRUCTOR: Constructor = Constructor { name: "softmax", with_tau: |_| Softmax.into() };

impl Nonlinearity for Softmax {
    fn name(&self) -> &str {
        CONSTRUCTOR.name
    }

    fn apply(&self, column: &mut [f64]) {
        let max = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        map(column, |x| (x - max).exp());
        let sum: f64 = column.iter().sum();
        map(column, |x| x / sum);
    }

    #[inline(never)]
    fn streaming(&self) -> Option<&dyn Streaming> {
        Some(self)
    }

    fn gpu(&self) -> Option<GpuPass> {
        Some(GpuPass::Softmax)
    }
}

impl Tiled for Softmax {
    fn attend<T: Exp>(&self, head: &Problem<T>) -> Streamed<T> {
        let mut output = head.zeros();
        head.sweep(&Exponentials(head), &mut output);
        Streamed::smooth(output)
    }
}

/// Rule that keeps the output relative to the running maximum and rescales it when the maximum rises.
struct Exponentials<'p, 'a, T: Exp>(&'p Problem<'a, T>);

impl<T: Exp> TileRule<T> for Exponentials<'_, '_, T> {
    type State = Running<T>;
    type Report = ();

    fn start(&self, queries: Range<usize>) -> Running<T> {
        Running::new(queries.len())
    }

    fn absorb(&self, state: &mut Running<T>, keys: Range<usize>, scores: &mut [T], mut out: ArrayViewMut2<T>) {
        state.exponentials(scores, keys.len(), out.view_mut());
        self.0.accumulate(keys, scores, out);
    }

    fn finish(&self, state: Running<T>, mut out: ArrayViewMut2<T>) {
        for (mut column, sum) in out.columns_mut().into_iter().zip(state.sums()) {
            let inverse = T::of_f64(sum.recip());
            column.mapv_inplace(|x| x * inverse);
        }
    }
}
