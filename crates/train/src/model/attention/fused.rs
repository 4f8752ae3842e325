//! The fused operation: attention of all heads as one node of the graph of derivatives, on burn's CPU
//! backend. Heads of all sequences are computed in parallel; each is computed by one thread.

use super::HeadSettings;
use super::kernel::{self, Head, HeadGradient, Scratch};
use crate::model::flex::{Number, at_type_of, tensor, values};
use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::Tensor;
use ndarray::{ArrayView2, ArrayView4, ArrayViewMut, ArrayViewMut2, ArrayViewMut4, Axis, RemoveAxis};
use rayon::prelude::*;
use std::sync::Arc;

/// Computes the outputs of the heads side by side (batch, tokens, d).
pub(super) fn heads(projected: Tensor<3>, settings: &Arc<HeadSettings>) -> Tensor<3> {
    Tensor::from_dispatch(Dispatch::fused_heads(projected.into_dispatch(), settings.clone()))
}

/// Computes the weights (batch, head, query, key), without derivatives.
pub(super) fn weights(projected: Tensor<3>, settings: &Arc<HeadSettings>) -> Tensor<4> {
    Tensor::from_dispatch(Dispatch::head_weights(projected.into_dispatch(), settings.clone()))
}

#[backend_extension(Flex, Autodiff)]
trait FusedAttention: Backend {
    fn fused_heads(projected: FloatTensor<Self>, settings: Arc<HeadSettings>) -> FloatTensor<Self>;

    fn head_weights(projected: FloatTensor<Self>, settings: Arc<HeadSettings>) -> FloatTensor<Self>;
}

impl FusedAttention for Flex {
    fn fused_heads(projected: FlexTensor, settings: Arc<HeadSettings>) -> FlexTensor {
        let projected = projected.to_contiguous();
        at_type_of!(projected, forward(&projected, &settings)).0
    }

    fn head_weights(projected: FlexTensor, settings: Arc<HeadSettings>) -> FlexTensor {
        let projected = projected.to_contiguous();
        at_type_of!(projected, weights_of(&projected, &settings))
    }
}

impl<C: CheckpointStrategy> FusedAttention for Autodiff<Flex, C> {
    fn fused_heads(projected: FloatTensor<Self>, settings: Arc<HeadSettings>) -> FloatTensor<Self> {
        let (projected, node) = projected.into_parts();
        let projected = projected.to_contiguous();
        let (heads, statistics) = at_type_of!(projected, forward(&projected, &settings));
        match FusedStep.prepare::<C>([node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(Kept { projected, statistics, settings }, heads),
            OpsKind::UnTracked(prepared) => prepared.finish(heads),
        }
    }

    fn head_weights(projected: FloatTensor<Self>, settings: Arc<HeadSettings>) -> FloatTensor<Self> {
        FloatTensor::<Self>::new(Flex::head_weights(projected.into_primitive(), settings))
    }
}

#[derive(Debug)]
struct FusedStep;

/// Values of the forward pass that the backward pass needs.
#[derive(Clone, Debug)]
struct Kept {
    projected: FlexTensor,
    /// Statistics of each query, (batch, head, tokens, 2).
    statistics: FlexTensor,
    settings: Arc<HeadSettings>,
}

impl Backward<Flex, 1> for FusedStep {
    type State = Kept;

    fn backward(self, ops: Ops<Kept, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let state = ops.state;
        unary::<Flex, _>(ops.parents, ops.node, gradients, |slope| {
            at_type_of!(state.projected, derivatives(&state, &slope.to_contiguous()))
        });
    }
}

/// Sizes of a batch of projected tokens.
#[derive(Clone, Copy)]
struct Sizes {
    batch: usize,
    tokens: usize,
    heads: usize,
    /// p, dimension of a head.
    p: usize,
    /// Number of matrices side by side.
    parts: usize,
}

impl Sizes {
    fn new(projected: &FlexTensor, settings: &HeadSettings) -> Self {
        let shape = projected.shape();
        let (heads, parts) = (settings.heads, settings.parts());
        Sizes { batch: shape[0], tokens: shape[1], heads, p: shape[2] / (parts * heads), parts }
    }

    fn width(&self) -> usize {
        self.heads * self.p
    }

    /// Views (batch, tokens, parts · d) as (batch, part and head, tokens, p).
    fn view<'a, T>(&self, values: &'a [T], parts: usize) -> ArrayView4<'a, T> {
        let shape = (self.batch, self.tokens, parts * self.heads, self.p);
        ArrayView4::from_shape(shape, values).expect("the tensor has this shape").permuted_axes([0, 2, 1, 3])
    }

    /// Returns the views (tokens, p) of [`Sizes::view`] for writing, one list for each sequence.
    fn split<'a, T>(&self, values: &'a mut [T], parts: usize) -> Vec<Vec<ArrayViewMut2<'a, T>>> {
        let shape = (self.batch, self.tokens, parts * self.heads, self.p);
        let view = ArrayViewMut4::from_shape(shape, values).expect("the tensor has this shape");
        outer(view.permuted_axes([0, 2, 1, 3])).into_iter().map(outer).collect()
    }

    /// Returns the views for the derivatives of each head.
    fn gradients<'a, T>(&self, values: &'a mut [T]) -> Vec<HeadGradient<'a, T>> {
        let sequences = self.split(values, self.parts).into_iter();
        let of_sequence = |mut views: Vec<ArrayViewMut2<'a, T>>| -> Vec<HeadGradient<'a, T>> {
            if self.parts == 1 {
                return views.into_iter().map(HeadGradient::Shared).collect();
            }
            let values = views.split_off(2 * self.heads);
            let keys = views.split_off(self.heads);
            views.into_iter().zip(keys).zip(values).map(|((q, k), v)| HeadGradient::Separate([q, k, v])).collect()
        };
        sequences.flat_map(of_sequence).collect()
    }

    /// Returns a part of head `i`, counted through all sequences.
    fn part<'a, T>(&self, view: &ArrayView4<'a, T>, i: usize, part: usize) -> ArrayView2<'a, T> {
        (*view).index_axis_move(Axis(0), i / self.heads).index_axis_move(Axis(0), part * self.heads + i % self.heads)
    }

    fn head<'a, T>(&self, view: &ArrayView4<'a, T>, i: usize) -> Head<'a, T> {
        let part = |part: usize| self.part(view, i, part.min(self.parts - 1));
        Head { query: part(0), key: part(1), value: part(2) }
    }
}

/// Splits a view along its first axis.
fn outer<T, D: RemoveAxis>(mut view: ArrayViewMut<'_, T, D>) -> Vec<ArrayViewMut<'_, T, D::Smaller>> {
    let mut parts = vec![];
    while view.len_of(Axis(0)) > 0 {
        let (first, rest) = view.split_at(Axis(0), 1);
        parts.push(first.index_axis_move(Axis(0), 0));
        view = rest;
    }
    parts
}

/// Computes outputs and statistics.
fn forward<T: Number>(projected: &FlexTensor, settings: &HeadSettings) -> (FlexTensor, FlexTensor) {
    let sizes = Sizes::new(projected, settings);
    let view = sizes.view(values::<T>(projected), sizes.parts);
    let mut out = vec![T::zero(); sizes.batch * sizes.tokens * sizes.width()];
    let mut statistics = vec![T::zero(); 2 * sizes.batch * sizes.heads * sizes.tokens];
    let outs: Vec<_> = sizes.split(&mut out, 1).into_iter().flatten().collect();
    let (pairs, _) = statistics.as_chunks_mut::<2>();
    let tasks = outs.into_par_iter().zip(pairs.par_chunks_mut(sizes.tokens.max(1)));
    tasks.enumerate().for_each_init(Scratch::default, |scratch, (i, (out, statistics))| {
        kernel::forward(sizes.head(&view, i), settings, scratch, out, statistics);
    });
    let shape = [sizes.batch, sizes.heads, sizes.tokens, 2];
    (tensor(out, [sizes.batch, sizes.tokens, sizes.width()]), tensor(statistics, shape))
}

fn weights_of<T: Number>(projected: &FlexTensor, settings: &HeadSettings) -> FlexTensor {
    let sizes = Sizes::new(projected, settings);
    let view = sizes.view(values::<T>(projected), sizes.parts);
    let (count, n) = (sizes.batch * sizes.heads, sizes.tokens);
    let mut out = vec![T::zero(); count * n * n];
    out.par_chunks_mut((n * n).max(1)).enumerate().for_each_init(Scratch::default, |scratch, (i, out)| {
        kernel::weights(sizes.head(&view, i), settings, scratch, out);
    });
    tensor(out, [sizes.batch, sizes.heads, n, n])
}

/// Computes the derivatives with respect to the projected tokens.
fn derivatives<T: Number>(state: &Kept, slope: &FlexTensor) -> FlexTensor {
    let settings = state.settings.as_ref();
    let sizes = Sizes::new(&state.projected, settings);
    let view = sizes.view(values::<T>(&state.projected), sizes.parts);
    let slopes = sizes.view(values::<T>(slope), 1);
    let (statistics, _) = values::<T>(&state.statistics).as_chunks::<2>();
    let width = sizes.parts * sizes.width();
    let mut out = vec![T::zero(); sizes.batch * sizes.tokens * width];
    sizes.gradients(&mut out).into_par_iter().enumerate().for_each_init(Scratch::default, |scratch, (i, gradient)| {
        let (head, slope) = (sizes.head(&view, i), sizes.part(&slopes, i, 0));
        let statistics = &statistics[i * sizes.tokens..(i + 1) * sizes.tokens];
        kernel::backward(head, settings, scratch, slope, statistics, gradient);
    });
    tensor(out, [sizes.batch, sizes.tokens, width])
}
