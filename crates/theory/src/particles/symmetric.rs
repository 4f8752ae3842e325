//! The fast path where a pair of tokens has one weight: it is computed once and used by both.
//!
//! Without mask and without B the weight $e^{\beta\langle\theta_i, \theta_j\rangle - \beta}$ is that of (i, j) and of
//! (j, i). Tokens stand in tiles around a circle. A stripe takes one tile, the pairs within it, and its pairs with the
//! tiles of the half circle that follows, so that all stripes are of one length and every pair is met once. Sums of the
//! stripes are added in the order of their tiles: neither the vector width nor the number of threads changes a bit.

use super::Normalisation;
use super::fast::{DEEP, Pass, add_products};
use crate::attention::Mask;
use crate::attention::streaming::{Exp, LANES, at_512_bits, fold_lanes};
use rayon::prelude::*;

/// Tokens of a tile: 16 kB of keys, values and sums of three dimensions stay in the first cache.
const TILE: usize = 256;

/// Rows whose weights are used together, so that sums of columns are read and written once for all of them.
const GROUP: usize = 4;

/// Tokens from which on this path is taken: eight stripes, enough for some threads.
const LEAST: usize = 8 * TILE;

/// Stripes that are held at a time, each with (d + 1)/2 numbers per token.
const HELD: usize = 32;

/// Returns `true` if the pass may run here: equal weights of both orders, and none so small that it is lost.
pub(super) fn is_possible(pass: &Pass) -> bool {
    let law = pass.law;
    pass.n >= LEAST && law.mask == Mask::None && law.query_key.is_none() && 2.0 * law.beta.abs() < DEEP
}

/// Tokens in tiles, the last one filled up with zeros, which have no mass.
struct Tiles<'a> {
    pass: &'a Pass<'a>,
    /// Number of tiles.
    count: usize,
    /// Directions of a tile (d, TILE), row by row, tile after tile.
    keys: Vec<f64>,
    /// α θ and α of a tile (d + 1, TILE), row by row, tile after tile.
    values: Vec<f64>,
    /// Number taken off the scores before their exponential.
    shift: f64,
    /// Flag: the weight of a token for itself counts in its total alone.
    omits_itself: bool,
}

/// Sums Σ_j w_ij (α_j θ_j, α_j) of a stripe.
struct Stripe {
    /// For the tokens of its tile (d + 1, TILE).
    rows: Vec<f64>,
    /// For those of the tiles that follow, each (d + 1, TILE).
    columns: Vec<f64>,
}

/// Computes Σ_j w_ij α_j θ_j without the terms that do not move a token, and Σ_j w_ij α_j: (n, d + 1), token by token.
pub(super) fn sums(pass: &Pass) -> Vec<f64> {
    let tiles = Tiles::new(pass);
    let size = (pass.d + 1) * TILE;
    let mut sums = vec![0.0; tiles.count * size];
    let mut add = |tile: usize, terms: &[f64]| {
        for (sum, term) in sums[tile * size..][..size].iter_mut().zip(terms) {
            *sum += term;
        }
    };
    for start in (0..tiles.count).step_by(HELD) {
        let stripes = (start..tiles.count.min(start + HELD)).into_par_iter();
        let stripes: Vec<Stripe> = stripes.map(|i| tiles.stripe(i)).collect();
        for (i, stripe) in (start..).zip(&stripes) {
            add(i, &stripe.rows);
            for (step, columns) in (1..).zip(stripe.columns.chunks_exact(size)) {
                add((i + step) % tiles.count, columns);
            }
        }
    }
    let by_token = |i: usize| (0..=pass.d).map(move |c| (i / TILE, c, i % TILE));
    (0..pass.n).flat_map(by_token).map(|(tile, c, i)| sums[tile * size + c * TILE + i]).collect()
}

impl<'a> Tiles<'a> {
    fn new(pass: &'a Pass<'a>) -> Self {
        let (n, d) = (pass.n, pass.d);
        let count = n.div_ceil(TILE);
        let mut keys = vec![0.0; count * d * TILE];
        let mut values = vec![0.0; count * (d + 1) * TILE];
        for i in 0..n {
            let (tile, place) = (i / TILE, i % TILE);
            let mass = pass.masses.get(i).copied().unwrap_or(1.0);
            for c in 0..d {
                let key = pass.keys[c * n + i];
                keys[(tile * d + c) * TILE + place] = key;
                values[(tile * (d + 1) + c) * TILE + place] = mass * key;
            }
            values[(tile * (d + 1) + d) * TILE + place] = mass;
        }
        let shift = match pass.law.normalisation {
            Normalisation::Softmax => pass.law.beta.abs(),
            Normalisation::Uniform => 0.0,
        };
        Tiles { pass, count, keys, values, shift, omits_itself: pass.law.moves_without_itself() }
    }

    fn keys(&self, tile: usize) -> &[f64] {
        let size = self.pass.d * TILE;
        &self.keys[tile * size..][..size]
    }

    fn values(&self, tile: usize) -> &[f64] {
        let size = (self.pass.d + 1) * TILE;
        &self.values[tile * size..][..size]
    }

    /// Computes the stripe of a tile. Of two tiles that face each other on the circle the first one takes the pairs.
    fn stripe(&self, tile: usize) -> Stripe {
        let steps = (self.count - 1) / 2 + usize::from(self.count.is_multiple_of(2) && tile < self.count / 2);
        let size = (self.pass.d + 1) * TILE;
        let mut parts = vec![[0.0; LANES]; size];
        let mut columns = vec![0.0; steps * size];
        let mut rows = vec![0.0; size];
        at_512_bits(
            #[inline(always)]
            || {
                self.within(tile, &mut parts, &mut rows[size - TILE..]);
                for (step, columns) in (1..).zip(columns.chunks_exact_mut(size)) {
                    self.between(tile, (tile + step) % self.count, &mut parts, columns);
                }
            },
        );
        // The parts stand row by row of a group: (TILE/GROUP, d + 1, GROUP).
        for (place, parts) in parts.iter().enumerate() {
            let (group, c, r) = (place / GROUP / (self.pass.d + 1), place / GROUP % (self.pass.d + 1), place % GROUP);
            rows[c * TILE + group * GROUP + r] += fold_lanes(*parts);
        }
        Stripe { rows, columns }
    }

    /// Adds the pairs within a tile, in both orders; to `totals` what counts there alone.
    #[inline(always)]
    fn within(&self, tile: usize, parts: &mut [[f64; LANES]], totals: &mut [f64]) {
        let (values, d) = (self.values(tile), self.pass.d);
        let mut weights = [[0.0; TILE]; GROUP];
        for (group, parts) in parts.chunks_exact_mut(GROUP * (d + 1)).enumerate() {
            self.weights(tile, group, tile, &mut weights);
            if self.omits_itself {
                for (i, weights) in (group * GROUP..).zip(&mut weights) {
                    totals[i] = weights[i] * values[d * TILE + i];
                    weights[i] = 0.0;
                }
            }
            add_rows(&weights, values, parts);
        }
    }

    /// Adds the pairs of two tiles: to `parts` for the tokens of `tile`, to `columns` (d + 1, TILE) for those of `other`.
    #[inline(always)]
    fn between(&self, tile: usize, other: usize, parts: &mut [[f64; LANES]], columns: &mut [f64]) {
        let (row_values, values) = (self.values(tile), self.values(other));
        let mut weights = [[0.0; TILE]; GROUP];
        for (group, parts) in parts.chunks_exact_mut(GROUP * (self.pass.d + 1)).enumerate() {
            self.weights(tile, group, other, &mut weights);
            add_rows(&weights, values, parts);
            for (row_values, columns) in row_values.chunks_exact(TILE).zip(columns.chunks_exact_mut(TILE)) {
                let x: [f64; GROUP] = std::array::from_fn(|r| row_values[group * GROUP + r]);
                let [a, b, c, d] = &weights;
                for ((((column, a), b), c), d) in columns.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                    *column += (a * x[0] + b * x[1]) + (c * x[2] + d * x[3]);
                }
            }
        }
    }

    /// Computes e^{β<θ_i, θ_j> − shift} of a group of tokens i of `tile` and all tokens j of `other`.
    #[inline(always)]
    fn weights(&self, tile: usize, group: usize, other: usize, weights: &mut [[f64; TILE]; GROUP]) {
        let (queries, keys) = (self.keys(tile), self.keys(other));
        for (r, weights) in weights.iter_mut().enumerate() {
            weights.fill(0.0);
            for (queries, keys) in queries.chunks_exact(TILE).zip(keys.chunks_exact(TILE)) {
                let query = self.pass.law.beta * queries[group * GROUP + r];
                for (score, key) in weights.iter_mut().zip(keys) {
                    *score += query * key;
                }
            }
            for chunk in weights.as_chunks_mut::<LANES>().0 {
                for score in chunk {
                    *score = f64::exp_lane(*score - self.shift);
                }
            }
        }
    }
}

/// Adds to the partial sums of each row of a group, (d + 1, GROUP), its weights times the `values` (d + 1, TILE).
#[inline(always)]
fn add_rows(weights: &[[f64; TILE]; GROUP], values: &[f64], parts: &mut [[f64; LANES]]) {
    for (value, parts) in values.chunks_exact(TILE).zip(parts.chunks_exact_mut(GROUP)) {
        for (weights, parts) in weights.iter().zip(parts) {
            add_products(weights, value, parts);
        }
    }
}
