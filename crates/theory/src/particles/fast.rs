//! The fast path: one pass over blocks of tokens for scores, exponentials and weighted sums.
//!
//! Every sum over tokens runs in [`LANES`] partial sums in a fixed order, so that neither the vector width nor the
//! number of threads changes a bit.

use super::{LayerNorm, Normalisation, Particles, symmetric};
use crate::attention::streaming::{Exp, LANES, at_full_width, fold_lanes};
use rayon::prelude::*;

/// Tokens whose scores are computed together: 4 kB of scores, and d + 1 rows of tokens beside them stay in the
/// first cache.
const BLOCK: usize = 512;

/// Tokens of one task of the thread pool.
const ROWS: usize = 32;

/// Pairs of tokens below which one thread is faster than the hand-over to others.
const SERIAL: usize = 40_000;

/// Width of the range of scores beyond which the largest score of a row is sought first. Within it no weight is below
/// e^−300 ≈ 1e−130, so that products of weights and masses stay far from underflow (1e−308).
pub(super) const DEEP: f64 = 300.0;

/// Computes the lengths of tokens (d, n), row by row in `tokens`.
pub(super) fn lengths(tokens: &[f64], n: usize) -> Vec<f64> {
    let mut squares = vec![0.0; n];
    for row in tokens.chunks_exact(n.max(1)) {
        for (sum, x) in squares.iter_mut().zip(row) {
            *sum += x * x;
        }
    }
    squares.iter().map(|s| s.sqrt()).collect()
}

/// Tokens and masses that every row of the pass reads.
pub(super) struct Pass<'a> {
    pub law: &'a Particles,
    pub n: usize,
    pub d: usize,
    /// Directions (d, n), row by row.
    pub keys: Vec<f64>,
    /// β Bᵀθ (d, n), row by row.
    queries: Vec<f64>,
    /// Masses; empty if all are 1.
    pub masses: Vec<f64>,
}

/// Writes the velocities of n tokens (d, n) into `out`, both row by row.
pub(super) fn velocity(law: &Particles, tokens: &[f64], n: usize, out: &mut [f64]) {
    let d = tokens.len() / n.max(1);
    let pass = Pass::new(law, tokens, n, d);
    let tasks = n.div_ceil(ROWS);
    let sums = symmetric::is_possible(&pass).then(|| symmetric::sums(&pass));
    let task = |t: usize| {
        let rows = t * ROWS..n.min((t + 1) * ROWS);
        let mut velocities = vec![0.0; rows.len() * d];
        match &sums {
            Some(sums) => pass.rows_of_sums(rows, sums, &mut velocities),
            None => at_full_width(
                #[inline(always)]
                || pass.rows(rows, &mut velocities),
            ),
        }
        velocities
    };
    let velocities: Vec<Vec<f64>> =
        if n * n <= SERIAL { (0..tasks).map(task).collect() } else { (0..tasks).into_par_iter().map(task).collect() };
    for (t, velocities) in velocities.iter().enumerate() {
        for (r, token) in velocities.chunks_exact(d).enumerate() {
            for (c, x) in token.iter().enumerate() {
                out[c * n + t * ROWS + r] = *x;
            }
        }
    }
}

impl<'a> Pass<'a> {
    fn new(law: &'a Particles, tokens: &[f64], n: usize, d: usize) -> Self {
        let lengths = lengths(tokens, n);
        let mut keys = tokens.to_vec();
        for row in keys.chunks_exact_mut(n) {
            for (x, length) in row.iter_mut().zip(&lengths) {
                *x /= length;
            }
        }
        let queries = match &law.query_key {
            None => keys.iter().map(|x| law.beta * x).collect(),
            Some(b) => {
                let mut queries = vec![0.0; n * d];
                for (c, row) in queries.chunks_exact_mut(n).enumerate() {
                    for (k, key) in keys.chunks_exact(n).enumerate() {
                        let factor = law.beta * b[[k, c]];
                        for (x, y) in row.iter_mut().zip(key) {
                            *x += factor * y;
                        }
                    }
                }
                queries
            }
        };
        let masses = law.masses.as_ref().map_or(vec![], |m| m.to_vec());
        Pass { law, n, d, keys, queries, masses }
    }

    /// Computes the velocities of the tokens `rows`, token by token.
    #[inline(always)]
    fn rows(&self, rows: std::ops::Range<usize>, out: &mut [f64]) {
        let mut scores = [0.0; BLOCK];
        let mut sums = vec![[0.0; LANES]; self.d];
        let mut query = vec![0.0; self.d];
        let mut attention = vec![0.0; self.d];
        for (i, out) in rows.zip(out.chunks_exact_mut(self.d)) {
            for (c, q) in query.iter_mut().enumerate() {
                *q = self.queries[c * self.n + i];
            }
            let visible = self.law.visible(i, self.n);
            let shift = self.shift(&query, visible, &mut scores);
            let omitted = self.law.moves_without_itself().then_some(i);
            let total = self.sums(&query, (visible, omitted), shift, &mut scores, &mut sums);
            let total = self.total(visible, total);
            for (a, sum) in attention.iter_mut().zip(&sums) {
                *a = fold_lanes(*sum) / total;
            }
            self.finish(i, &attention, out);
        }
    }

    /// Computes the velocities of the tokens `rows` from [`symmetric::sums`].
    fn rows_of_sums(&self, rows: std::ops::Range<usize>, sums: &[f64], out: &mut [f64]) {
        let sums = sums[rows.start * (self.d + 1)..].chunks_exact(self.d + 1);
        for ((i, sums), out) in rows.zip(sums).zip(out.chunks_exact_mut(self.d)) {
            let (attention, total) = sums.split_at(self.d);
            let total = self.total(self.n, total[0]);
            let attention: Vec<f64> = attention.iter().map(|a| a / total).collect();
            self.finish(i, &attention, out);
        }
    }

    /// Returns the denominator of a token that attends to the first `visible` ones with weights of sum `total`.
    #[inline(always)]
    fn total(&self, visible: usize, total: f64) -> f64 {
        match self.law.normalisation {
            Normalisation::Softmax => total,
            Normalisation::Uniform if self.masses.is_empty() => visible as f64,
            Normalisation::Uniform => self.masses[..visible].iter().sum(),
        }
    }

    /// Returns the number that is taken off the scores of a row before their exponential: by Cauchy and Schwarz no score
    /// is above |β Bᵀθ|, the keys being unit vectors; where scores may lie too far below it, the largest one.
    #[inline(always)]
    fn shift(&self, query: &[f64], visible: usize, scores: &mut [f64; BLOCK]) -> f64 {
        if self.law.normalisation == Normalisation::Uniform {
            return 0.0;
        }
        let bound = query.iter().map(|q| q * q).sum::<f64>().sqrt();
        if 2.0 * bound < DEEP {
            return bound;
        }
        let mut top = f64::NEG_INFINITY;
        for start in (0..visible).step_by(BLOCK) {
            let length = BLOCK.min(visible - start);
            self.scores(query, start, &mut scores[..length]);
            for (l, score) in scores[..length].iter().enumerate() {
                let counts = self.masses.get(start + l).is_none_or(|m| *m > 0.0);
                if counts && *score > top {
                    top = *score;
                }
            }
        }
        top
    }

    #[inline(always)]
    fn scores(&self, query: &[f64], start: usize, scores: &mut [f64]) {
        scores.fill(0.0);
        for (c, q) in query.iter().enumerate() {
            let key = &self.keys[c * self.n + start..][..scores.len()];
            for (score, k) in scores.iter_mut().zip(key) {
                *score += q * k;
            }
        }
    }

    /// Writes Σ_j α_j e^{s_j − shift} θ_j without the token `omitted` in partial sums and returns Σ_j α_j e^{s_j − shift}.
    #[inline(always)]
    fn sums(
        &self,
        query: &[f64],
        (visible, omitted): (usize, Option<usize>),
        shift: f64,
        scores: &mut [f64; BLOCK],
        sums: &mut [[f64; LANES]],
    ) -> f64 {
        let mut total = [0.0; LANES];
        sums.fill([0.0; LANES]);
        for start in (0..visible).step_by(BLOCK) {
            let length = BLOCK.min(visible - start);
            let whole = length.next_multiple_of(LANES).min(BLOCK);
            self.scores(query, start, &mut scores[..length]);
            // exp(−∞) is 0, which changes no sum.
            scores[length..whole].fill(f64::NEG_INFINITY);
            let weights = &mut scores[..whole];
            for chunk in weights.as_chunks_mut::<LANES>().0 {
                for score in chunk {
                    *score = f64::exp_lane(*score - shift);
                }
            }
            if let Some(masses) = self.masses.get(start..start + length) {
                for (w, m) in weights.iter_mut().zip(masses) {
                    *w = if *m > 0.0 { *w * m } else { 0.0 };
                }
            }
            for chunk in weights.as_chunks::<LANES>().0 {
                for l in 0..LANES {
                    total[l] += chunk[l];
                }
            }
            if let Some(i) = omitted.filter(|i| (start..start + length).contains(i)) {
                weights[i - start] = 0.0;
            }
            for (c, sum) in sums.iter_mut().enumerate() {
                add_products(&weights[..length], &self.keys[c * self.n + start..][..length], sum);
            }
        }
        fold_lanes(total)
    }

    /// Writes the velocity of token i, whose attention before V is `attention`.
    #[inline(always)]
    fn finish(&self, i: usize, attention: &[f64], out: &mut [f64]) {
        match &self.law.value {
            None => out.copy_from_slice(attention),
            Some(value) => {
                for (x, row) in out.iter_mut().zip(value.rows()) {
                    *x = row.iter().zip(attention).map(|(v, a)| v * a).sum();
                }
            }
        }
        if self.law.layer_norm == LayerNorm::Post {
            let direction = |c: usize| self.keys[c * self.n + i];
            let along: f64 = out.iter().enumerate().map(|(c, x)| direction(c) * x).sum();
            for (c, x) in out.iter_mut().enumerate() {
                *x -= along * direction(c);
            }
        }
    }
}

/// Adds the products of two slices of one length to the partial sums.
#[inline(always)]
pub(super) fn add_products(a: &[f64], b: &[f64], sums: &mut [f64; LANES]) {
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a.iter().zip(b) {
        for l in 0..LANES {
            sums[l] += a[l] * b[l];
        }
    }
    for (l, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[l] += a * b;
    }
}
