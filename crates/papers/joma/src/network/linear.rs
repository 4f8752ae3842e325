//! Linear maps of columns, y = W x + b, and their derivatives.

use super::layout::LinearSlots;
use attnlab_core::linalg::{Real, Threads, gemm};
use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut1, ShapeBuilder};

/// Computes W X + b for X (in, T): (out, T).
pub fn forward<T: Real>(slots: LinearSlots, flat: &[T], x: ArrayView2<T>) -> Array2<T> {
    let weight = slots.weight.of(flat);
    let mut y = Array2::zeros((weight.nrows(), x.ncols()).f());
    gemm(T::one(), weight, x, false, y.view_mut(), Threads::All);
    if let Some(bias) = slots.bias {
        let bias = ArrayView1::from(bias.slice(flat));
        y.columns_mut().into_iter().for_each(|mut column| column += &bias);
    }
    y
}

/// Adds the derivatives by W and b to `gradient`, and returns that by X: Wᵀ dY.
pub fn backward<T: Real>(
    slots: LinearSlots,
    flat: &[T],
    x: ArrayView2<T>,
    upstream: ArrayView2<T>,
    gradient: &mut [T],
) -> Array2<T> {
    let mut dx = Array2::zeros((x.nrows(), x.ncols()).f());
    backward_into(slots, flat, x, upstream, gradient, &mut dx);
    dx
}

/// As [`backward`], and adds the derivative by X to `dx`.
pub fn backward_into<T: Real>(
    slots: LinearSlots,
    flat: &[T],
    x: ArrayView2<T>,
    upstream: ArrayView2<T>,
    gradient: &mut [T],
    dx: &mut Array2<T>,
) {
    let (one, threads) = (T::one(), Threads::All);
    gemm(one, upstream, x.t(), true, slots.weight.of_mut(gradient), threads);
    if let Some(bias) = slots.bias {
        let mut sum = ArrayViewMut1::from(bias.slice_mut(gradient));
        upstream.columns().into_iter().for_each(|column| sum += &column);
    }
    gemm(one, slots.weight.of(flat).t(), upstream, true, dx.view_mut(), threads);
}
