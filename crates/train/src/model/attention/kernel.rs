//! Softmax attention of one head on the CPU, and its derivatives.
//!
//! Queries are taken [`BLOCK`] at a time, against the keys that at least one of them sees; scores exist for
//! one block only. The backward pass computes them again from the row statistics of the forward pass, so
//! that memory is O(tokens) per head. Blocks and sums have a fixed order.

use super::HeadSettings;
use crate::model::flex::sum;
use attnlab_core::linalg::{Threads, gemm};
use attnlab_theory::attention::streaming::{Exp, LANES, at_full_width, exp_shifted, largest};
use ndarray::{ArrayView2, ArrayViewMut2, Zip};

/// Number of queries in a block.
pub(super) const BLOCK: usize = 32;
/// Number added to the squared length of a query, so that the derivative at zero is finite.
pub(super) const TINY: f64 = 1e-20;

/// Queries, keys and values (tokens, p) of a head: three views of the projected tokens, or three times the same view.
#[derive(Clone, Copy)]
pub(super) struct Head<'a, T> {
    pub(super) query: ArrayView2<'a, T>,
    pub(super) key: ArrayView2<'a, T>,
    pub(super) value: ArrayView2<'a, T>,
}

/// Derivatives (tokens, p) of a head, in the layout of [`Head`].
pub(super) enum HeadGradient<'a, T> {
    /// One projection for queries, keys and values.
    Shared(ArrayViewMut2<'a, T>),
    /// Queries, keys and values.
    Separate([ArrayViewMut2<'a, T>; 3]),
}

#[derive(Default)]
pub(super) struct Scratch<T> {
    /// Queries as the scores use them: of unit length if the form says so, turned, times the scale.
    query: Vec<T>,
    /// Keys, turned.
    key: Vec<T>,
    value: Vec<T>,
    /// Inverse lengths of the queries.
    inverse: Vec<T>,
    /// Scores of a block, and below them what multiplies the derivatives of the output.
    scores: Vec<T>,
    /// Queries of a block, and below them the derivatives of its outputs.
    rows: Vec<T>,
    /// Derivatives with respect to `query`, `key` and `value`.
    gradients: [Vec<T>; 3],
}

/// Returns the range of queries of each block and the number of keys that its last query sees.
fn blocks<T>(head: &Head<T>, settings: &HeadSettings) -> impl Iterator<Item = (usize, usize, usize)> + use<T> {
    let n = head.query.nrows();
    let visible = settings.visible;
    (0..n).step_by(BLOCK).map(move |start| {
        let end = n.min(start + BLOCK);
        (start, end, visible(end - 1, n))
    })
}

/// Computes the output (tokens, p) of a head, and per query the largest score and the inverse of
/// Σ exp(score - largest). A query that sees no key has output 0 and statistics 0.
pub(super) fn forward<T: Exp>(
    head: Head<T>,
    settings: &HeadSettings,
    scratch: &mut Scratch<T>,
    mut out: ArrayViewMut2<T>,
    statistics: &mut [[T; 2]],
) {
    let (n, p) = head.query.dim();
    scratch.pack(&head, settings);
    for (start, end, keys) in blocks(&head, settings) {
        scratch.score(start, end, keys, p);
        let scores = &mut scratch.scores[..(end - start) * keys];
        softmax_terms(scores, start, n, keys, settings, &mut statistics[start..end]);
        let scores = matrix(scores, end - start, keys);
        let values = matrix(&scratch.value[..keys * p], keys, p);
        let mut out = out.slice_mut(ndarray::s![start..end, ..]);
        gemm(T::one(), scores, values, false, out.view_mut(), Threads::One);
        for (mut row, [_, inverse]) in out.outer_iter_mut().zip(&statistics[start..end]) {
            row.mapv_inplace(|x| x * *inverse);
        }
    }
}

/// Computes the weights (query, key) of a head.
pub(super) fn weights<T: Exp>(head: Head<T>, settings: &HeadSettings, scratch: &mut Scratch<T>, out: &mut [T]) {
    let (n, p) = head.query.dim();
    let mut statistics = [[T::zero(); 2]; BLOCK];
    scratch.pack(&head, settings);
    for (start, end, keys) in blocks(&head, settings) {
        scratch.score(start, end, keys, p);
        let scores = &mut scratch.scores[..(end - start) * keys];
        let statistics = &mut statistics[..end - start];
        softmax_terms(scores, start, n, keys, settings, statistics);
        for (i, [_, inverse]) in statistics.iter().enumerate() {
            let row = &mut out[(start + i) * n..(start + i + 1) * n];
            row.fill(T::zero());
            for (out, term) in row.iter_mut().zip(&scores[i * keys..(i + 1) * keys]) {
                *out = *term * *inverse;
            }
        }
    }
}

/// Computes the derivatives of a head from those of its output, `slope` (tokens, p), and the statistics of [`forward`].
pub(super) fn backward<T: Exp>(
    head: Head<T>,
    settings: &HeadSettings,
    scratch: &mut Scratch<T>,
    slope: ArrayView2<T>,
    statistics: &[[T; 2]],
    gradient: HeadGradient<T>,
) {
    let (n, p) = head.query.dim();
    scratch.pack(&head, settings);
    // With keys equal to values their derivatives have one buffer, and their products are one.
    let joint = settings.shared && settings.rotation.is_none();
    for gradient in &mut scratch.gradients {
        gradient.clear();
        gradient.resize(n * p, T::zero());
    }
    for (start, end, keys) in blocks(&head, settings) {
        let count = end - start;
        let Scratch { query, key, value, scores, rows, gradients: [of_query, of_key, of_value], .. } = scratch;
        // Q above dO: their products with keys and values are the scores above the derivatives of the weights.
        let rows = filled(rows, 2 * count * p);
        rows[..count * p].copy_from_slice(&query[start * p..end * p]);
        let slopes = slope.slice(ndarray::s![start..end, ..]);
        copy(slopes, &mut rows[count * p..]);
        let scores = filled(scores, 2 * count * keys);
        let (key, value) = (matrix(&key[..keys * p], keys, p), matrix(&value[..keys * p], keys, p));
        if joint {
            multiply(matrix(rows, 2 * count, p), key.t(), false, scores);
        } else {
            let (above, below) = scores.split_at_mut(count * keys);
            multiply(matrix(&rows[..count * p], count, p), key.t(), false, above);
            multiply(matrix(&rows[count * p..], count, p), value.t(), false, below);
        }
        slopes_of_scores(scores, start, n, keys, settings, &statistics[start..end]);
        let scores = &*scores;
        let (above, below) = scores.split_at(count * keys);
        let (above, below) = (matrix(above, count, keys), matrix(below, count, keys));
        multiply(above, key, false, &mut of_query[start * p..end * p]);
        if joint {
            multiply(matrix(scores, 2 * count, keys).t(), matrix(rows, 2 * count, p), true, &mut of_key[..keys * p]);
        } else {
            let (queries, slopes) = rows.split_at(count * p);
            multiply(above.t(), matrix(queries, count, p), true, &mut of_key[..keys * p]);
            multiply(below.t(), matrix(slopes, count, p), true, &mut of_value[..keys * p]);
        }
    }
    scratch.unpack(&head, settings, joint, gradient);
}

impl<T: Exp> Scratch<T> {
    /// Copies a head, with its queries and keys as the scores use them.
    fn pack(&mut self, head: &Head<T>, settings: &HeadSettings) {
        let (n, p) = head.query.dim();
        let scale = T::of_f64(settings.scale);
        copy(head.query, filled(&mut self.query, n * p));
        copy(head.key, filled(&mut self.key, n * p));
        copy(head.value, filled(&mut self.value, n * p));
        let inverse = filled(&mut self.inverse, n);
        at_full_width(
            #[inline(always)]
            || {
                for (i, query) in self.query[..n * p].chunks_exact_mut(p).enumerate() {
                    if settings.normalise_queries {
                        inverse[i] = (dot(query, query) + T::of_f64(TINY)).sqrt().recip();
                        scale_row(query, inverse[i]);
                    }
                    if let Some(rotation) = &settings.rotation {
                        rotation.turn(i, query, false);
                        rotation.turn(i, &mut self.key[i * p..(i + 1) * p], false);
                    }
                    scale_row(query, scale);
                }
            },
        );
    }

    /// Computes the scores (query, key) of a block.
    fn score(&mut self, start: usize, end: usize, keys: usize, p: usize) {
        let scores = filled(&mut self.scores, (end - start) * keys);
        let queries = matrix(&self.query[start * p..end * p], end - start, p);
        multiply(queries, matrix(&self.key[..keys * p], keys, p).t(), false, scores);
    }

    /// Takes the derivatives back through scale, rotation and unit length, and adds those of one projection.
    fn unpack(&mut self, head: &Head<T>, settings: &HeadSettings, joint: bool, gradient: HeadGradient<T>) {
        let p = head.query.ncols();
        let scale = T::of_f64(settings.scale);
        let [of_query, of_key, of_value] = &mut self.gradients;
        at_full_width(
            #[inline(always)]
            || {
                for (i, of_query) in of_query.chunks_exact_mut(p).enumerate() {
                    scale_row(of_query, scale);
                    if let Some(rotation) = &settings.rotation {
                        rotation.turn(i, of_query, true);
                        rotation.turn(i, &mut of_key[i * p..(i + 1) * p], true);
                    }
                    if settings.normalise_queries {
                        // y / |y| has the derivative (1 - ŷ ŷᵀ) / |y|.
                        let (row, inverse) = (head.query.row(i), self.inverse[i]);
                        let y = row.as_slice().expect("rows of heads are contiguous");
                        let along = dot(y, of_query) * inverse * inverse;
                        for (g, y) in of_query.iter_mut().zip(y) {
                            *g = inverse * (*g - *y * along);
                        }
                    }
                }
            },
        );
        match gradient {
            HeadGradient::Shared(mut out) => {
                let (n, p) = out.dim();
                Zip::from(&mut out)
                    .and(matrix(of_query, n, p))
                    .and(matrix(of_key, n, p))
                    .for_each(|out, q, k| *out = *q + *k);
                if !joint {
                    out += &matrix(of_value, n, p);
                }
            }
            HeadGradient::Separate(outs) => {
                for (mut out, gradient) in outs.into_iter().zip([of_query, of_key, of_value]) {
                    let (n, p) = out.dim();
                    out.assign(&matrix(gradient, n, p));
                }
            }
        }
    }
}

/// Replaces the scores of a block, whose first query is `start` of `n`, by exp(score - largest), and by 0
/// where the mask hides the key.
fn softmax_terms<T: Exp>(
    scores: &mut [T],
    start: usize,
    n: usize,
    keys: usize,
    settings: &HeadSettings,
    statistics: &mut [[T; 2]],
) {
    at_full_width(
        #[inline(always)]
        || {
            for (i, statistics) in statistics.iter_mut().enumerate() {
                let row = hide(&mut scores[i * keys..(i + 1) * keys], (settings.visible)(start + i, n));
                let max = largest(row);
                let sum = exp_shifted(row, max);
                *statistics = if row.is_empty() { [T::zero(); 2] } else { [max, sum.recip()] };
            }
        },
    );
}

/// Replaces the scores S and the derivatives dP of the weights P below them by dS = P (dP - Σ P dP) and P.
fn slopes_of_scores<T: Exp>(
    scores: &mut [T],
    start: usize,
    n: usize,
    keys: usize,
    settings: &HeadSettings,
    statistics: &[[T; 2]],
) {
    let (above, below) = scores.split_at_mut(statistics.len() * keys);
    at_full_width(
        #[inline(always)]
        || {
            for (i, [max, inverse]) in statistics.iter().enumerate() {
                let range = i * keys..(i + 1) * keys;
                let visible = (settings.visible)(start + i, n);
                let s = hide(&mut above[range.clone()], visible);
                let d = &mut below[range];
                d[visible..].fill(T::zero());
                exp_shifted(s, *max);
                let mean = dot(s, d) * *inverse;
                for (s, d) in s.iter_mut().zip(d) {
                    let weight = *s * *inverse;
                    (*s, *d) = (weight * (*d - mean), weight);
                }
            }
        },
    );
}

/// Returns the part of a row whose exponentials are needed, and writes 0 behind it: the `visible` scores,
/// and up to the end of their last vector -∞, whose exponential is 0 and costs nothing there.
#[inline(always)]
fn hide<T: Exp>(row: &mut [T], visible: usize) -> &mut [T] {
    let whole = visible.next_multiple_of(LANES).min(row.len());
    let (vectors, hidden) = row.split_at_mut(whole);
    vectors[visible..].fill(T::neg_infinity());
    hidden.fill(T::zero());
    vectors
}

/// Computes Σ_i a_i b_i in a fixed number of lanes.
#[inline(always)]
fn dot<T: Exp>(a: &[T], b: &[T]) -> T {
    sum(a, b, |a, b| a * b)
}

#[inline(always)]
fn scale_row<T: Exp>(row: &mut [T], factor: T) {
    if factor != T::one() {
        row.iter_mut().for_each(|x| *x *= factor);
    }
}

/// Copies rows one after the other.
fn copy<T: Exp>(from: ArrayView2<T>, to: &mut [T]) {
    for (to, from) in to.chunks_exact_mut(from.ncols()).zip(from.outer_iter()) {
        to.copy_from_slice(from.as_slice().expect("rows of heads are contiguous"));
    }
}

/// Makes room for `length` numbers of any value.
fn filled<T: Exp>(buffer: &mut Vec<T>, length: usize) -> &mut [T] {
    if buffer.len() < length {
        buffer.resize(length, T::zero());
    }
    &mut buffer[..length]
}

fn matrix<T: Exp>(values: &[T], rows: usize, columns: usize) -> ArrayView2<'_, T> {
    ArrayView2::from_shape((rows, columns), values).expect("a buffer of exactly this size")
}

/// Computes A B into `out`, row by row, or adds it.
fn multiply<T: Exp>(a: ArrayView2<T>, b: ArrayView2<T>, add: bool, out: &mut [T]) {
    let shape = (a.nrows(), b.ncols());
    let out = ArrayViewMut2::from_shape(shape, out).expect("a buffer of exactly this size");
    gemm(T::one(), a, b, add, out, Threads::One);
}
