//! One prompt at a time, at the machine's full vector width.
//!
//! A context lies in blocks of [`WIDTH`] tokens: within a block the first component of all its
//! tokens, then the second, and so on. The last block is filled up with zeros. Every sum runs in a
//! fixed number of lanes without fused multiply-add, so results are the same to the bit on every
//! vector width.

use crate::attention::streaming::{Exp, LANES, exp_shifted, fold_lanes};
use crate::linalg::Real;
use pulp::Arch;

/// Tokens in a block.
pub(super) const WIDTH: usize = LANES;

/// Values that a context of `tokens` tokens of `n` components takes.
pub(super) fn packed_len(n: usize, tokens: usize) -> usize {
    n * tokens.next_multiple_of(WIDTH)
}

/// out_t = <X_t, v>.
#[inline(always)]
fn scores<T: Real>(x: &[T], v: &[T], out: &mut [T]) {
    let blocks = x.chunks_exact(v.len() * WIDTH);
    let (out, _) = out.as_chunks_mut::<WIDTH>();
    for (block, out) in blocks.zip(out) {
        let mut sum = [T::zero(); WIDTH];
        let (components, _) = block.as_chunks::<WIDTH>();
        for (component, v) in components.iter().zip(v) {
            for l in 0..WIDTH {
                sum[l] += *v * component[l];
            }
        }
        *out = sum;
    }
}

/// out_i = Σ_t w_t X_it for the components `first..first + C`, whose sums stay in registers.
#[inline(always)]
fn some_sums<T: Real, const C: usize>(x: &[T], w: &[T], n: usize, first: usize, out: &mut [T]) {
    let mut sums = [[T::zero(); WIDTH]; C];
    let (w, _) = w.as_chunks::<WIDTH>();
    for (block, w) in x.chunks_exact(n * WIDTH).zip(w) {
        let (components, _) = block[first * WIDTH..].as_chunks::<WIDTH>();
        for (sum, component) in sums.iter_mut().zip(components) {
            for l in 0..WIDTH {
                sum[l] += w[l] * component[l];
            }
        }
    }
    for (out, sum) in out[first..].iter_mut().zip(sums) {
        *out = fold_lanes(sum);
    }
}

/// out = Σ_t w_t X_t. `C` components at a time: as many as fit into the registers.
#[inline(always)]
fn weighted_sum<T: Real, const C: usize>(x: &[T], w: &[T], out: &mut [T]) {
    let n = out.len();
    let whole = n - n % C;
    for first in (0..whole).step_by(C) {
        some_sums::<T, C>(x, w, n, first, out);
    }
    for first in whole..n {
        some_sums::<T, 1>(x, w, n, first, out);
    }
}

#[inline(always)]
fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    a.iter().zip(b).fold(T::zero(), |sum, (a, b)| sum + *a * *b)
}

/// out = A v for A (m, n) column by column.
#[inline(always)]
fn times<T: Real>(a: &[T], v: &[T], out: &mut [T]) {
    out.fill(T::zero());
    for (column, v) in a.chunks_exact(out.len()).zip(v) {
        for (out, a) in out.iter_mut().zip(column) {
            *out += *a * *v;
        }
    }
}

/// What a prompt gives beside its prediction.
pub(super) struct Scratch<T> {
    /// Softmax numerators exp(s_t - max s), zero beyond the last token.
    weights: Vec<T>,
    /// Scores of the second pass.
    work: Vec<T>,
    /// ∂ℓ/∂u.
    g: Vec<T>,
}

impl<T: Real> Scratch<T> {
    pub(super) fn new(n: usize, tokens: usize) -> Self {
        let padded = tokens.next_multiple_of(WIDTH);
        Scratch {
            weights: vec![T::zero(); padded],
            work: vec![T::zero(); padded],
            g: vec![T::zero(); n],
        }
    }
}

/// One prompt's context, as its attention needs it.
#[derive(Clone, Copy)]
pub(super) enum View<'a, T> {
    /// $\hat\Sigma$ (n, n).
    Moment(&'a [T]),
    /// The packed tokens, and their number.
    Tokens(&'a [T], usize),
}

/// u for v, both (n,). Returns what the scratch must be divided by to give softmax weights.
#[inline(always)]
fn read<T: Exp, const C: usize>(
    view: View<T>,
    v: &[T],
    u: &mut [T],
    scratch: &mut Scratch<T>,
) -> T {
    match view {
        View::Moment(moment) => {
            times(moment, v, u);
            T::one()
        }
        View::Tokens(x, tokens) => {
            let p = &mut scratch.weights;
            scores(x, v, p);
            p[tokens..].fill(T::neg_infinity());
            let max = largest(p);
            let sum = exp_shifted(p, max);
            weighted_sum::<T, C>(x, p, u);
            for u in u {
                *u /= sum;
            }
            sum
        }
    }
}

#[inline(always)]
fn largest<T: Real>(x: &[T]) -> T {
    let mut lanes = [T::neg_infinity(); WIDTH];
    for chunk in x.as_chunks::<WIDTH>().0 {
        for l in 0..WIDTH {
            lanes[l] = if chunk[l] > lanes[l] {
                chunk[l]
            } else {
                lanes[l]
            };
        }
    }
    lanes
        .into_iter()
        .fold(T::neg_infinity(), |max, x| if x > max { x } else { max })
}

/// The weights that a prompt needs, column by column.
pub(super) struct Values<T> {
    /// $W_{PV}$ (n, n).
    pub pv: Vec<T>,
    /// Its transpose.
    pub pv_t: Vec<T>,
}

/// One prompt's share of a batch, all (n,).
pub(super) struct Share<'a, T> {
    /// $v = W_{KQ}\, q$, given.
    pub v: &'a [T],
    /// The clean token, given.
    pub target: &'a [T],
    /// u, found.
    pub u: &'a mut [T],
    /// $r = 2(\hat x - x)/(nB)$, found.
    pub r: &'a mut [T],
    /// J g, found.
    pub d: &'a mut [T],
}

/// As few registers as the type needs: AVX2 has 16 of 32 bytes, a sum of [`WIDTH`] lanes takes two
/// (f32) or four (f64).
macro_rules! by_type {
    ($function:ident::<$t:ident>($($argument:expr),*)) => {
        if size_of::<$t>() <= 4 {
            $function::<$t, 4>($($argument),*)
        } else {
            $function::<$t, 2>($($argument),*)
        }
    };
}

/// Forward alone: u for v.
pub(super) fn forward<T: Exp>(view: View<T>, v: &[T], u: &mut [T], scratch: &mut Scratch<T>) {
    Arch::new().dispatch(|| {
        by_type!(read::<T>(view, v, u, scratch));
    });
}

/// Forward and back: fills the share; `scale` is 2/(nB).
pub(super) fn forward_back<T: Exp>(
    view: View<T>,
    values: &Values<T>,
    scale: T,
    share: Share<T>,
    scratch: &mut Scratch<T>,
) {
    Arch::new().dispatch(|| {
        by_type!(pass::<T>(view, values, scale, share, scratch));
    });
}

#[inline(always)]
fn pass<T: Exp, const C: usize>(
    view: View<T>,
    values: &Values<T>,
    scale: T,
    share: Share<T>,
    scratch: &mut Scratch<T>,
) {
    let Share { v, target, u, r, d } = share;
    let sum = read::<T, C>(view, v, u, scratch);
    times(&values.pv, u, r);
    for (r, x) in r.iter_mut().zip(target) {
        *r = (*r - *x) * scale;
    }
    times(&values.pv_t, r, &mut scratch.g);
    match view {
        View::Moment(moment) => times(moment, &scratch.g, d),
        View::Tokens(x, _) => {
            scores(x, &scratch.g, &mut scratch.work);
            let mean = dot(u, &scratch.g);
            for (h, p) in scratch.work.iter_mut().zip(&scratch.weights) {
                *h = *p * (*h - mean);
            }
            weighted_sum::<T, C>(x, &scratch.work, d);
            for d in d {
                *d /= sum;
            }
        }
    }
}
