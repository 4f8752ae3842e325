//! Causal softmax attention of one head, sequence by sequence.

use super::{Dropout, Span};
use attnlab_core::linalg::{Real, Threads, gemm};
use ndarray::{Array2, ArrayView2, ShapeBuilder, s};
use rayon::prelude::*;

/// Attention of every sequence of a batch.
pub struct AttentionPass<T> {
    query: Array2<T>,
    key: Array2<T>,
    value: Array2<T>,
    /// Weights, (n, n) per sequence: column j holds the weights of query j.
    weights: Vec<Array2<T>>,
    /// Dropout of the weights.
    masks: Option<Vec<Array2<T>>>,
}

impl<T: Real> AttentionPass<T> {
    /// Computes the weights and returns them with the weighted values, (d, T).
    pub fn forward(
        query: Array2<T>,
        key: Array2<T>,
        value: Array2<T>,
        spans: &[Span],
        dropout: Option<&mut Dropout>,
    ) -> (Self, Array2<T>) {
        let weights: Vec<Array2<T>> = spans
            .par_iter()
            .map(|span| {
                let columns = s![.., span.start..span.end];
                let (keys, queries) = (key.slice(columns), query.slice(columns));
                let mut scores = multiply(scale(&query), keys.t(), queries);
                causal_softmax(&mut scores, T::of_f64(span.repeats));
                scores
            })
            .collect();
        let masks = dropout.map(|d| weights.iter().map(|w| d.mask(w.dim())).collect::<Vec<_>>());
        let pass = AttentionPass { query, key, value, weights, masks };
        let mixed: Vec<Array2<T>> = spans
            .par_iter()
            .enumerate()
            .map(|(i, span)| multiply(T::one(), pass.value.slice(s![.., span.start..span.end]), pass.masked(i).view()))
            .collect();
        let output = gathered(&pass.query, spans, &mixed);
        (pass, output)
    }

    /// Weights of sequence `i` after dropout.
    fn masked(&self, i: usize) -> Array2<T> {
        self.masks.as_ref().map_or_else(|| self.weights[i].clone(), |masks| &self.weights[i] * &masks[i])
    }

    /// Returns the weights of every sequence, before dropout.
    pub fn weights(&self) -> impl Iterator<Item = ArrayView2<'_, T>> {
        self.weights.iter().map(|w| w.view())
    }

    /// Computes the derivatives by queries, keys and values from that by the output.
    pub fn backward(&self, spans: &[Span], upstream: ArrayView2<T>) -> [Array2<T>; 3] {
        let scale = scale(&self.query);
        let parts: Vec<[Array2<T>; 3]> = spans
            .par_iter()
            .enumerate()
            .map(|(i, span)| {
                let columns = s![.., span.start..span.end];
                let upstream = upstream.slice(columns);
                let value = multiply(T::one(), upstream, self.masked(i).t());
                let mut scores = multiply(T::one(), self.value.slice(columns).t(), upstream);
                if let Some(masks) = &self.masks {
                    scores *= &masks[i];
                }
                let weights = &self.weights[i];
                for (mut column, a) in scores.columns_mut().into_iter().zip(weights.columns()) {
                    let mean = column.dot(&a);
                    column.zip_mut_with(&a, |g, a| *g = *a * (*g - mean));
                }
                let query = multiply(scale, self.key.slice(columns), scores.view());
                let key = multiply(scale, self.query.slice(columns), scores.t());
                [query, key, value]
            })
            .collect();
        [0, 1, 2].map(|which: usize| {
            let blocks: Vec<&Array2<T>> = parts.iter().map(|p| &p[which]).collect();
            gathered(&self.query, spans, &blocks)
        })
    }
}

/// 1/√d.
fn scale<T: Real>(query: &Array2<T>) -> T {
    T::of_f64(1.0 / (query.nrows() as f64).sqrt())
}

fn multiply<T: Real>(alpha: T, a: ArrayView2<T>, b: ArrayView2<T>) -> Array2<T> {
    let mut c = Array2::zeros((a.nrows(), b.ncols()).f());
    gemm(alpha, a, b, false, c.view_mut(), Threads::One);
    c
}

/// Puts the columns of every sequence into one matrix of the shape of `like`.
fn gathered<T: Real, A: std::borrow::Borrow<Array2<T>>>(like: &Array2<T>, spans: &[Span], parts: &[A]) -> Array2<T> {
    let mut gathered = Array2::zeros(like.dim().f());
    for (span, part) in spans.iter().zip(parts) {
        gathered.slice_mut(s![.., span.start..span.end]).assign(part.borrow());
    }
    gathered
}

/// Turns scores (key, query) into weights: a softmax over keys 0..=j in column j, in which key 0 counts
/// `repeats` times. The weight of key 0 is that of all its copies together.
fn causal_softmax<T: Real>(scores: &mut Array2<T>, repeats: T) {
    for (j, mut column) in scores.columns_mut().into_iter().enumerate() {
        let largest = column.iter().take(j + 1).fold(T::neg_infinity(), |m, x| m.max(*x));
        let mut sum = T::zero();
        for (i, x) in column.iter_mut().enumerate() {
            *x = match i {
                0 => repeats * (*x - largest).exp(),
                i if i <= j => (*x - largest).exp(),
                _ => T::zero(),
            };
            sum += *x;
        }
        column.mapv_inplace(|x| x / sum);
    }
}
