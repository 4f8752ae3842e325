//! Outputs, loss and gradient of the layer on a batch of prompts.

use super::kernels::{Precision, Scratch, Share, Values};
use super::{Attention, Prompts, Weights};
use crate::attention::streaming::Exp;
use attnlab_core::error::Result;
use attnlab_core::linalg::{Threads, gemm};
use ndarray::{Array2, ArrayView2, Axis, ShapeBuilder};
use rayon::prelude::*;

/// Number of multiplications below which splitting a batch among threads costs more than it gains: some
/// tens of microseconds of work, against a few for handing it over.
const PIECE: usize = 400_000;

/// Computes the layer's predictions $\hat x$ for every prompt, as columns of (n, N).
///
/// # Errors
/// If shapes do not fit, or the prompts were not drawn for this attention.
pub fn outputs<T: Precision>(attention: Attention, prompts: &Prompts<T>, weights: &Weights<T>) -> Result<Array2<T>> {
    prompts.check(attention)?;
    weights.validate(prompts.ambient())?;
    Ok(predictions(attention, prompts, weights))
}

fn predictions<T: Precision>(attention: Attention, prompts: &Prompts<T>, weights: &Weights<T>) -> Array2<T> {
    let n = prompts.ambient();
    let v = product(weights.kq.view(), prompts.queries.view());
    let mut u = Array2::zeros(v.raw_dim().f());
    if let Some((v, u)) = v.as_slice_memory_order().zip(u.as_slice_memory_order_mut()) {
        let columns: Vec<(&[T], &mut [T])> = v.chunks_exact(n).zip(u.chunks_exact_mut(n)).collect();
        for_each(columns, attention, prompts, |i, (v, u), scratch| {
            T::forward(prompts.view(attention, i), v, u, scratch);
        });
    }
    product(weights.pv.view(), u.view())
}

/// Works on one item per prompt, with its number and a working memory: on several threads if they gain from it.
fn for_each<T: Exp, I: Send>(
    items: Vec<I>,
    attention: Attention,
    prompts: &Prompts<T>,
    work: impl Fn(usize, I, &mut Scratch<T>) + Send + Sync,
) {
    let piece = PIECE.div_ceil(prompts.work(attention));
    let scratch = || Scratch::new(prompts.ambient(), prompts.context());
    if piece >= items.len() {
        let mut scratch = scratch();
        return items.into_iter().enumerate().for_each(|(i, item)| work(i, item, &mut scratch));
    }
    let items = items.into_par_iter().enumerate().with_min_len(piece);
    items.for_each_init(scratch, |scratch, (i, item)| work(i, item, scratch));
}

/// Computes the loss $\frac{1}{nN}\sum_b\|\hat x_b - x_b\|^2$ over all prompts, summed in f64 in their order.
///
/// # Errors
/// As [`outputs`].
pub fn loss<T: Precision>(attention: Attention, prompts: &Prompts<T>, weights: &Weights<T>) -> Result<f64> {
    Ok(mean_square(&outputs(attention, prompts, weights)?, &prompts.targets))
}

/// Computes [`loss`] without checks, at weights that may not be finite.
pub fn loss_of<T: Precision>(attention: Attention, prompts: &Prompts<T>, weights: &Weights<T>) -> f64 {
    mean_square(&predictions(attention, prompts, weights), &prompts.targets)
}

fn mean_square<T: Exp>(predictions: &Array2<T>, targets: &Array2<T>) -> f64 {
    // Both matrices are column-major, so their transposes run through memory in order.
    let pairs = predictions.t().into_iter().zip(targets.t());
    let sum: f64 = pairs.map(|(a, b)| (a.as_f64() - b.as_f64()).powi(2)).sum();
    sum / predictions.len() as f64
}

/// Computes loss and gradient on the prompts `which`, in this order.
///
/// # Errors
/// As [`outputs`].
///
/// # Panics
/// If `which` is empty or contains an index out of range, which is a defect of the caller.
///
/// ```
/// use attnlab_theory::dynamics::{Attention, Example, Prompts, Weights, gradient, loss};
/// use attnlab_core::{linalg::normal_matrix, rng::Streams};
/// let data = Streams::new(1, "doc", 0, 0);
/// let draw = |i| {
///     let context = normal_matrix(6, 50, &mut data.part("context", i));
///     let target = context.column(0).to_owned();
///     Ok(Example { query: &target * 0.5, target, context })
/// };
/// let (prompts, _) = Prompts::<f64>::draw(40, &[Attention::Linear], draw, |_| Ok(()))?;
/// let zero = Weights::scaled_identity(6, 0.0, 1.0);
/// let indices: Vec<usize> = (0..40).collect();
/// let (value, slope) = gradient(Attention::Linear, &prompts, &zero, &indices)?;
/// let predicting_zero = loss(Attention::Linear, &prompts, &zero)?;
/// assert!((value / predicting_zero - 1.0).abs() < 1e-14);
/// assert!(slope.alpha() < 0.0); // more of the query is better
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn gradient<T: Precision>(
    attention: Attention,
    prompts: &Prompts<T>,
    weights: &Weights<T>,
    which: &[usize],
) -> Result<(f64, Weights<T>)> {
    prompts.check(attention)?;
    weights.validate(prompts.ambient())?;
    Ok(gradient_of(attention, prompts, weights, which))
}

/// Computes [`gradient`] without checks, for a loop that has made them.
pub fn gradient_of<T: Precision>(
    attention: Attention,
    prompts: &Prompts<T>,
    weights: &Weights<T>,
    which: &[usize],
) -> (f64, Weights<T>) {
    let (n, count) = (prompts.ambient(), which.len());
    let queries = gathered(prompts.queries.view(), which);
    let targets = gathered(prompts.targets.view(), which);
    let v = product(weights.kq.view(), queries.view());
    let [mut u, mut r, mut d] = [(); 3].map(|()| Array2::zeros((n, count).f()));
    let scale = T::of_f64(2.0 / (n * count) as f64);
    let transposed = |w: ArrayView2<T>| w.iter().copied().collect::<Vec<T>>();
    let values = Values { pv: transposed(weights.pv.t()), pv_t: transposed(weights.pv.view()) };
    let shares: Vec<Share<T>> = shares(&v, &targets, [&mut u, &mut r, &mut d]);
    for_each(shares, attention, prompts, |b, share, scratch| {
        T::forward_back(prompts.view(attention, which[b]), &values, scale, share, scratch);
    });
    // |r|² carries the factor scale²: the loss is |x̂ - x|²/(nB).
    let sum: f64 = r.t().iter().map(|x| x.as_f64().powi(2)).sum();
    let loss = sum / scale.as_f64().powi(2) / (n * count) as f64;
    (loss, Weights { kq: product(d.view(), queries.t()), pv: product(r.view(), u.t()) })
}

fn shares<'a, T: Exp>(v: &'a Array2<T>, targets: &'a Array2<T>, outs: [&'a mut Array2<T>; 3]) -> Vec<Share<'a, T>> {
    let n = v.nrows();
    let [u, r, d] = outs.map(|a| a.as_slice_memory_order_mut().unwrap_or_default());
    let given = [v, targets].map(|a| a.as_slice_memory_order().unwrap_or_default());
    let given = given[0].chunks_exact(n).zip(given[1].chunks_exact(n));
    let outs = u.chunks_exact_mut(n).zip(r.chunks_exact_mut(n));
    let columns = given.zip(outs).zip(d.chunks_exact_mut(n));
    columns.map(|(((v, target), (u, r)), d)| Share { v, target, u, r, d }).collect()
}

fn gathered<T: Exp>(matrix: ArrayView2<T>, which: &[usize]) -> Array2<T> {
    let mut some = Array2::zeros((matrix.nrows(), which.len()).f());
    for (mut column, i) in some.axis_iter_mut(Axis(1)).zip(which) {
        column.assign(&matrix.column(*i));
    }
    some
}

/// Computes a product on one thread: training runs are parallel, and these products are small.
fn product<T: Exp>(a: ArrayView2<T>, b: ArrayView2<T>) -> Array2<T> {
    let mut c = Array2::zeros((a.nrows(), b.ncols()).f());
    gemm(T::one(), a, b, false, c.view_mut(), Threads::One);
    c
}
