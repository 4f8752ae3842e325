//! Kernels for one prompt, at the full vector width of the CPU.
//!
//! A context is stored in blocks of [`WIDTH`] tokens: within a block the first component of all its
//! tokens, then the second, and so on. The last block is padded with zeros. Every sum uses a fixed number
//! of lanes without fused multiply-add, so that results are the same to the bit on every vector width.

use crate::attention::streaming::{Exp, LANES, exp_shifted, fold_lanes, largest};
use attnlab_core::linalg::Real;
use pulp::{Arch, NullaryFnOnce};

/// Number of tokens in a block.
pub(super) const WIDTH: usize = LANES;

/// Returns the number of values of a packed context of `tokens` tokens with `n` components.
pub(super) fn packed_len(n: usize, tokens: usize) -> usize {
    n * tokens.next_multiple_of(WIDTH)
}

/// Computes sum + w x, lane by lane. The arguments are values, so that sums stay in registers.
#[inline(always)]
fn plus<T: Real>(mut sum: [T; WIDTH], w: impl Fn(usize) -> T, x: &[T; WIDTH]) -> [T; WIDTH] {
    for l in 0..WIDTH {
        sum[l] += w(l) * x[l];
    }
    sum
}

/// Computes out_t = <X_t, v>. Components are taken in pairs: two sums hide the latency of each other.
#[inline(always)]
fn scores<T: Real>(x: &[T], v: &[T], out: &mut [T]) {
    let blocks = x.chunks_exact(v.len() * WIDTH);
    let (out, _) = out.as_chunks_mut::<WIDTH>();
    let (v_pairs, v_rest) = v.as_chunks::<2>();
    for (block, out) in blocks.zip(out) {
        let [mut even, mut odd] = [[T::zero(); WIDTH]; 2];
        let (components, _) = block.as_chunks::<WIDTH>();
        let (pairs, rest) = components.as_chunks::<2>();
        for ([a, b], [v, w]) in pairs.iter().zip(v_pairs) {
            even = plus(even, |_| *v, a);
            odd = plus(odd, |_| *w, b);
        }
        for (a, v) in rest.iter().zip(v_rest) {
            even = plus(even, |_| *v, a);
        }
        *out = plus(even, |_| T::one(), &odd);
    }
}

/// Computes out = Σ_t w_t X_t, two components at a time. The lanes of each sum are written to memory and folded in a
/// second loop; otherwise the compiler shuffles registers in the order of the fold throughout the first loop.
#[inline(always)]
fn weighted_sum<T: Real>(x: &[T], w: &[T], lanes: &mut [T], out: &mut [T]) {
    let n = out.len();
    let (w, _) = w.as_chunks::<WIDTH>();
    let (lanes, _) = lanes.as_chunks_mut::<WIDTH>();
    let (pairs, rest) = lanes.as_chunks_mut::<2>();
    let of_pairs = 2 * pairs.len();
    for (i, pair) in pairs.iter_mut().enumerate() {
        let [mut first, mut second] = [[T::zero(); WIDTH]; 2];
        for (block, w) in x.chunks_exact(n * WIDTH).zip(w) {
            let (components, _) = block[2 * i * WIDTH..].as_chunks::<WIDTH>();
            if let Some([a, b]) = components.first_chunk::<2>() {
                first = plus(first, |l| w[l], a);
                second = plus(second, |l| w[l], b);
            }
        }
        *pair = [first, second];
    }
    for lanes in rest {
        let mut sum = [T::zero(); WIDTH];
        for (block, w) in x.chunks_exact(n * WIDTH).zip(w) {
            if let Some(a) = block[of_pairs * WIDTH..].first_chunk::<WIDTH>() {
                sum = plus(sum, |l| w[l], a);
            }
        }
        *lanes = sum;
    }
    for (out, lanes) in out.iter_mut().zip(lanes) {
        *out = fold_lanes(*lanes);
    }
}

#[inline(always)]
fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    a.iter().zip(b).fold(T::zero(), |sum, (a, b)| sum + *a * *b)
}

/// Computes out = A v for A (m, n), column by column.
#[inline(always)]
fn times<T: Real>(a: &[T], v: &[T], out: &mut [T]) {
    out.fill(T::zero());
    for (column, v) in a.chunks_exact(out.len()).zip(v) {
        for (out, a) in out.iter_mut().zip(column) {
            *out += *a * *v;
        }
    }
}

/// Working memory for one prompt.
pub struct Scratch<T> {
    /// Softmax numerators exp(s_t - max s), zero beyond the last token.
    weights: Vec<T>,
    /// Scores of the second pass.
    work: Vec<T>,
    /// Derivative g = ∂ℓ/∂u.
    g: Vec<T>,
    /// Sums before they are folded, [`WIDTH`] lanes for each component.
    lanes: Vec<T>,
}

impl<T: Real> Scratch<T> {
    pub(super) fn new(n: usize, tokens: usize) -> Self {
        let padded = tokens.next_multiple_of(WIDTH);
        Scratch {
            weights: vec![T::zero(); padded],
            work: vec![T::zero(); padded],
            g: vec![T::zero(); n],
            lanes: vec![T::zero(); n * WIDTH],
        }
    }
}

/// Context of one prompt, in the form that its attention needs.
#[derive(Clone, Copy)]
pub enum View<'a, T> {
    /// Second moment $\hat\Sigma$ (n, n).
    Moment(&'a [T]),
    /// Packed tokens, and their number.
    Tokens(&'a [T], usize),
}

/// Computes u from v, both (n,). Returns the number by which the scratch must be divided to give softmax weights.
#[inline(always)]
fn read<T: Exp>(view: View<T>, v: &[T], u: &mut [T], scratch: &mut Scratch<T>) -> T {
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
            weighted_sum(x, p, &mut scratch.lanes, u);
            for u in u {
                *u /= sum;
            }
            sum
        }
    }
}

/// Weights of the layer in the form that a prompt needs, column by column.
pub struct Values<T> {
    /// Matrix $W_{PV}$ (n, n).
    pub pv: Vec<T>,
    /// Transpose of $W_{PV}$.
    pub pv_t: Vec<T>,
}

/// One prompt's part of a batch; all vectors are (n,).
pub struct Share<'a, T> {
    /// Input $v = W_{KQ}\, q$.
    pub v: &'a [T],
    /// Input: the clean token.
    pub target: &'a [T],
    /// Output u.
    pub u: &'a mut [T],
    /// Output $r = 2(\hat x - x)/(nB)$.
    pub r: &'a mut [T],
    /// Output J g.
    pub d: &'a mut [T],
}

/// Forward pass alone. It is a type instead of a closure because its `call` must be inlined into the
/// function that is compiled for the vector width of the CPU, and a closure of this size is not inlined.
struct Forward<'a, T> {
    view: View<'a, T>,
    v: &'a [T],
    u: &'a mut [T],
    scratch: &'a mut Scratch<T>,
}

impl<T: Exp> NullaryFnOnce for Forward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        read(self.view, self.v, self.u, self.scratch);
    }
}

/// Forward and backward pass; a type for the same reason as [`Forward`].
struct ForwardBack<'a, T> {
    view: View<'a, T>,
    values: &'a Values<T>,
    scale: T,
    share: Share<'a, T>,
    scratch: &'a mut Scratch<T>,
}

impl<T: Exp> NullaryFnOnce for ForwardBack<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let ForwardBack { view, values, scale, share, scratch } = self;
        pass(view, values, scale, share, scratch);
    }
}

/// Precision in which a layer is trained, `f32` or `f64`.
///
/// Both are compiled in this crate, where sums in lanes become vectors: that takes level 3 of optimisation. A generic
/// function is compiled by the crate that calls it, at its level, which is 2 for the papers' in the profile of `cargo run`.
pub trait Precision: Exp {
    /// Runs the forward pass: computes u from v.
    #[doc(hidden)]
    fn forward(view: View<Self>, v: &[Self], u: &mut [Self], scratch: &mut Scratch<Self>);

    /// Runs the forward and the backward pass and fills the share; `scale` is 2/(nB).
    #[doc(hidden)]
    fn forward_back(
        view: View<Self>,
        values: &Values<Self>,
        scale: Self,
        share: Share<Self>,
        scratch: &mut Scratch<Self>,
    );
}

macro_rules! precisions {
    ($($t:ty),*) => {$(
        impl Precision for $t {
            #[inline(never)]
            fn forward(view: View<$t>, v: &[$t], u: &mut [$t], scratch: &mut Scratch<$t>) {
                Arch::new().dispatch(Forward { view, v, u, scratch });
            }

            #[inline(never)]
            fn forward_back(
                view: View<$t>,
                values: &Values<$t>,
                scale: $t,
                share: Share<$t>,
                scratch: &mut Scratch<$t>,
            ) {
                Arch::new().dispatch(ForwardBack { view, values, scale, share, scratch });
            }
        }
    )*};
}
precisions!(f32, f64);

#[inline(always)]
fn pass<T: Exp>(view: View<T>, values: &Values<T>, scale: T, share: Share<T>, scratch: &mut Scratch<T>) {
    let Share { v, target, u, r, d } = share;
    let sum = read(view, v, u, scratch);
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
            weighted_sum(x, &scratch.work, &mut scratch.lanes, d);
            for d in d {
                *d /= sum;
            }
        }
    }
}
