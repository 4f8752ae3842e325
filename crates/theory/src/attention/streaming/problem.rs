//! One head's attention as the tiles see it: keys, queries, values, the mask, and how far a
//! computed score may lie from the true one.

use super::exp::Exp;
use super::kernels::{dot_f64, scale};
use super::layer::Streamed;
use super::rules::TileRule;
use super::tiles::{Blocks, for_each_tile};
use crate::attention::{Mask, Nonlinearity};
use attnlab_core::linalg::{Real, Threads, gemm};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, CowArray, Ix2, ShapeBuilder, s};
use rayon::prelude::*;
use std::ops::Range;

/// One head: scores s_ij = f_j k_iᵀq_j, weights φ(Mask(S)), output V φ(Mask(S)).
pub struct Problem<'a, T: Real> {
    /// K (p, N).
    keys: CowArray<'a, T, Ix2>,
    /// Q (p, N), or `None` where the queries are the keys: the scores are then symmetric up to f.
    queries: Option<CowArray<'a, T, Ix2>>,
    /// V (v, N), or `None` where the values are the keys.
    values: Option<CowArray<'a, T, Ix2>>,
    /// f_j, where it is not 1 throughout.
    factors: Option<Vec<f64>>,
    mask: Mask,
    /// max_i |k_i|.
    longest_key: f64,
}

/// The columns of `a` as contiguous memory, copied only where they are not.
fn by_columns<T: Real>(a: ArrayView2<'_, T>) -> CowArray<'_, T, Ix2> {
    if a.t().is_standard_layout() {
        return a.into();
    }
    let mut own = Array2::zeros(a.raw_dim().f());
    own.assign(&a);
    own.into()
}

fn lengths<T: Real>(a: ArrayView2<T>) -> Vec<f64> {
    let length = |c: ndarray::ArrayView1<T>| c.iter().map(|x| x.as_f64().powi(2)).sum::<f64>();
    a.axis_iter(Axis(1)).map(|c| length(c).sqrt()).collect()
}

impl<'a, T: Exp> Problem<'a, T> {
    /// Yᵀ P(Y) on the coefficients Y (p, N) of one head.
    pub fn tied(y: ArrayView2<'a, T>, mask: Mask, normalise_queries: bool) -> Self {
        let keys = by_columns(y);
        let lengths = lengths(keys.view());
        let inverse = |x: &f64| if *x > 0.0 { x.recip() } else { 0.0 };
        Problem {
            longest_key: lengths.iter().copied().fold(0.0, f64::max),
            factors: normalise_queries.then(|| lengths.iter().map(inverse).collect()),
            keys,
            queries: None,
            values: None,
            mask,
        }
    }

    /// `scale` · KᵀQ with values V; K and Q are (p, N), V is (v, N).
    pub fn separate(
        [queries, keys, values]: [ArrayView2<'a, T>; 3],
        mask: Mask,
        scale: f64,
    ) -> Self {
        let keys = by_columns(keys);
        let longest_key = lengths(keys.view()).into_iter().fold(0.0, f64::max);
        Problem {
            factors: (scale != 1.0).then(|| vec![scale; queries.ncols()]),
            queries: Some(by_columns(queries)),
            values: Some(by_columns(values)),
            keys,
            mask,
            longest_key,
        }
    }

    /// N, the number of tokens.
    pub fn tokens(&self) -> usize {
        self.keys.ncols()
    }

    /// p, the number of coefficients of a key.
    pub fn dim(&self) -> usize {
        self.keys.nrows()
    }

    /// The mask.
    pub fn mask(&self) -> Mask {
        self.mask
    }

    /// K (p, N).
    pub fn keys(&self) -> ArrayView2<'_, T> {
        self.keys.view()
    }

    /// Q (p, N).
    pub fn queries(&self) -> ArrayView2<'_, T> {
        self.queries.as_ref().unwrap_or(&self.keys).view()
    }

    /// V (v, N).
    pub fn values(&self) -> ArrayView2<'_, T> {
        self.values.as_ref().unwrap_or(&self.keys).view()
    }

    /// An output of zeros (v, N), column-major.
    pub fn zeros(&self) -> Array2<T> {
        Array2::zeros((self.values().nrows(), self.tokens()).f())
    }

    /// f_j.
    pub fn factor(&self, j: usize) -> f64 {
        self.factors.as_ref().map_or(1.0, |f| f[j])
    }

    /// The blocks of queries and keys, whose width follows from N alone. 48 blocks or more make 24 tiles of a head
    /// independent at any time, which (times the heads) feeds 2 to 64 cores evenly; above 240
    /// columns a tile and its transpose leave a core's second-level cache, and below 96 the products
    /// slow down. Multiples of 48 fill the engine's micro-kernels, 24 or 48 rows of `f32`. The
    /// dimension p hardly matters: the engine cuts it to its own cache blocks.
    pub fn blocks(&self) -> Blocks {
        let width = self.tokens().div_ceil(48).next_multiple_of(48);
        Blocks {
            columns: self.tokens(),
            width: width.clamp(96, 240),
        }
    }

    /// E_j: no computed score of column j is further than this from the score of the given data in
    /// exact arithmetic.
    ///
    /// A product of length p summed in any order, fused or not, errs by at most
    /// γ_p Σ_m |k_m||q_m| ≤ γ_p |k||q| with γ_p = pu/(1 - pu) (Higham, Accuracy and Stability,
    /// Section 3.1, and Cauchy-Schwarz); u is half of `EPSILON`. Rounding f_j, multiplying by it and
    /// subtracting the running maximum, itself at most |k||q|, add 4u|k||q|. Underflow is left out:
    /// it moves a score by less than p times the smallest normal number.
    pub fn score_error(&self, j: usize) -> f64 {
        let (p, u) = (self.dim() as f64, T::EPSILON / 2.0);
        let gamma = p * u / (1.0 - p * u);
        (gamma + 4.0 * u) * self.reach(j)
    }

    /// max_i |k_i||q_j||f_j|: no score of column j is larger, and errors are relative to it.
    pub fn reach(&self, j: usize) -> f64 {
        let query = self.queries();
        let query = query
            .column(j)
            .iter()
            .map(|x| x.as_f64().powi(2))
            .sum::<f64>();
        self.longest_key * query.sqrt() * self.factor(j).abs()
    }

    /// Relative error of a column's Σ exp(s - max): per tile at most width/16 additions in each of
    /// 16 lanes, 4 to join them and 2 ulps of exp, in T; the tiles are added in f64 with one
    /// rescaling each.
    pub fn sum_error(&self) -> f64 {
        let blocks = self.blocks();
        (blocks.width as f64 / 16.0 + 8.0) * T::EPSILON / 2.0
            + 3.0 * blocks.count() as f64 * f64::EPSILON
    }

    /// Applies the factors and, on a tile that the diagonal crosses, the mask.
    fn prepare(&self, scores: &mut [T], keys: &Range<usize>, queries: &Range<usize>) {
        let rows = keys.len();
        if let Some(factors) = &self.factors {
            for (column, f) in scores.chunks_exact_mut(rows).zip(&factors[queries.clone()]) {
                scale(column, T::of_f64(*f));
            }
        }
        if self.mask == Mask::Causal && keys.end > queries.start {
            for (column, j) in scores.chunks_exact_mut(rows).zip(queries.clone()) {
                let first_masked = (j + 1).clamp(keys.start, keys.end) - keys.start;
                column[first_masked..].fill(T::neg_infinity());
            }
        }
    }

    /// Shows every tile of the scores to `rule` and returns its report on each block. `out` starts
    /// at zero, (v, N) column-major, or has no rows where the rule writes nothing. The order of the tiles
    /// that a block sees follows from N alone, whatever the number of threads.
    ///
    /// # Panics
    /// When `out` has not N columns.
    pub fn sweep<R: TileRule<T>>(&self, rule: &R, out: &mut Array2<T>) -> Vec<R::Report> {
        assert_eq!(out.ncols(), self.tokens(), "an output has N columns");
        let blocks = self.blocks();
        let mut slots: Vec<_> = out
            .axis_chunks_iter_mut(Axis(1), blocks.width)
            .enumerate()
            .map(|(b, out)| Slot {
                state: rule.start(blocks.range(b)),
                out,
            })
            .collect();
        if self.queries.is_none() {
            self.sweep_tied(rule, &mut slots);
        } else {
            self.sweep_separate(rule, &mut slots);
        }
        let finish = |slot: Slot<T, R::State>| rule.finish(slot.state, slot.out);
        slots.into_par_iter().map(finish).collect()
    }

    fn show<R: TileRule<T>>(
        &self,
        rule: &R,
        slot: &mut Slot<T, R::State>,
        (keys, queries): (Range<usize>, Range<usize>),
        scores: &mut [T],
    ) {
        self.prepare(scores, &keys, &queries);
        rule.absorb(&mut slot.state, keys, scores, slot.out.view_mut());
    }

    /// Tied scores: one product serves the tile and, transposed, its mirror image.
    fn sweep_tied<R: TileRule<T>>(&self, rule: &R, slots: &mut [Slot<T, R::State>]) {
        let visit = |tile: super::Tile<T>, own: &mut Slot<T, R::State>, other: Option<&mut _>| {
            let super::Tile {
                rows,
                cols,
                scores,
                scratch,
                ..
            } = tile;
            let Some(scores) = scores.into_slice_memory_order() else {
                return;
            };
            let Some(other) = other else {
                return self.show(rule, own, (rows, cols), scores);
            };
            if self.mask == Mask::None {
                super::kernels::transpose(scores, rows.len(), scratch);
                self.show(rule, own, (cols.clone(), rows.clone()), scratch);
            }
            self.show(rule, other, (rows, cols), scores);
        };
        for_each_tile(self.keys(), self.blocks(), slots, visit, || {});
    }

    /// Separate keys and queries: the blocks of queries are independent of each other.
    fn sweep_separate<R: TileRule<T>>(&self, rule: &R, slots: &mut [Slot<T, R::State>]) {
        let blocks = self.blocks();
        let (all_keys, all_queries) = (self.keys(), self.queries());
        slots
            .par_iter_mut()
            .enumerate()
            .with_max_len(1)
            .for_each(|(b, slot)| {
                let queries = blocks.range(b);
                let last = if self.mask == Mask::Causal {
                    b + 1
                } else {
                    blocks.count()
                };
                let mut buffer = vec![T::zero(); blocks.width * queries.len()];
                for keys in (0..last).map(|i| blocks.range(i)) {
                    let scores = &mut buffer[..keys.len() * queries.len()];
                    let left = all_keys.slice(s![.., keys.clone()]);
                    let right = all_queries.slice(s![.., queries.clone()]);
                    let tile = matrix_mut(scores, keys.len());
                    gemm(T::one(), left.t(), right, false, tile, Threads::One);
                    self.show(rule, slot, (keys, queries.clone()), scores);
                }
            });
    }

    /// q_j in f64, with its factor.
    pub fn query_f64(&self, j: usize) -> Vec<f64> {
        let f = self.factor(j);
        self.queries()
            .column(j)
            .iter()
            .map(|x| f * x.as_f64())
            .collect()
    }

    /// s_ij of the given data in f64, always in the same order of summation, so that equal keys
    /// have equal scores.
    pub fn score_f64(&self, i: usize, query: &[f64]) -> f64 {
        self.keys()
            .column(i)
            .as_slice()
            .map_or(f64::NAN, |key| dot_f64(key, query))
    }

    /// out += V_I W for the keys I and their weights W (|I|, columns of `out`), column-major.
    pub fn accumulate(&self, keys: Range<usize>, weights: &[T], out: ArrayViewMut2<T>) {
        let rows = keys.len();
        let shape = (rows, weights.len() / rows.max(1)).f();
        let weights = ArrayView2::from_shape(shape, weights).expect("tiles are whole");
        let values = self.values();
        let values = values.slice(s![.., keys]);
        gemm(T::one(), values, weights, true, out, Threads::One);
    }

    /// Replaces the given columns of the output by the plain definition in f64.
    pub fn redecide(&self, phi: &dyn Nonlinearity, columns: &[usize], out: &mut Array2<T>) {
        let exact = |j: &usize| self.plain_column(phi, *j);
        let replacements: Vec<Vec<f64>> = columns.par_iter().map(exact).collect();
        for (&j, column) in columns.iter().zip(replacements) {
            for (out, x) in out.column_mut(j).iter_mut().zip(column) {
                *out = T::of_f64(x);
            }
        }
    }

    /// V φ(Mask(S)) by the plain definition of φ: the slow path of every φ that has no faster one.
    ///
    /// Scores, weights and sums are in f64. One column is computed at a time on each thread, with N
    /// scores in memory and 2Np floating-point operations or more; nothing is shared between columns.
    pub fn plain(&self, phi: &dyn Nonlinearity) -> Streamed<T> {
        let mut output = self.zeros();
        let mut columns: Vec<_> = output.axis_iter_mut(Axis(1)).collect();
        columns.par_iter_mut().enumerate().for_each(|(j, out)| {
            for (out, x) in out.iter_mut().zip(self.plain_column(phi, j)) {
                *out = T::of_f64(x);
            }
        });
        Streamed::smooth(output)
    }

    /// Column j of V φ(Mask(S)) in f64.
    fn plain_column(&self, phi: &dyn Nonlinearity, j: usize) -> Vec<f64> {
        let query = self.query_f64(j);
        let visible = if self.mask == Mask::Causal {
            j + 1
        } else {
            self.tokens()
        };
        let mut weights: Vec<f64> = (0..visible).map(|i| self.score_f64(i, &query)).collect();
        // φ sees the whole column, as in the plain definition.
        weights.resize(self.tokens(), f64::NEG_INFINITY);
        phi.apply(&mut weights);
        let mut sum = vec![0.0; self.values().nrows()];
        for (i, w) in weights.into_iter().enumerate().filter(|(_, w)| *w != 0.0) {
            for (sum, v) in sum.iter_mut().zip(self.values().column(i)) {
                *sum += w * v.as_f64();
            }
        }
        sum
    }
}

/// A block of queries: what the rule keeps for it, and its columns of the output.
struct Slot<'o, T, S> {
    state: S,
    out: ArrayViewMut2<'o, T>,
}

/// A column-major slice as a matrix of `rows` rows.
fn matrix_mut<T>(slice: &mut [T], rows: usize) -> ArrayViewMut2<'_, T> {
    let cols = slice.len() / rows.max(1);
    ArrayViewMut2::from_shape((rows, cols).f(), slice).expect("tiles are whole")
}
