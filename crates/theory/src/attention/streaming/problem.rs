//! One head's attention: keys, queries, values, the mask, and the error bounds of computed scores.

use super::exp::Exp;
use super::kernels::scale;
use super::layer::Streamed;
use super::rules::TileRule;
use super::tiles::{Blocks, for_each_tile};
use crate::attention::{Mask, Nonlinearity};
use attnlab_core::linalg::{Real, Threads, column_major, gemm};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, CowArray, Ix2, ShapeBuilder, s};
use rayon::prelude::*;
use std::ops::Range;

/// Attention of one head: scores s_ij = f_j k_iᵀq_j, weights φ(Mask(S)), output V φ(Mask(S)) (v, N).
pub struct Problem<'a, T: Real> {
    /// Keys K (p, N).
    keys: CowArray<'a, T, Ix2>,
    /// Queries Q (p, N), or `None` if they equal the keys: the scores are then symmetric up to f.
    queries: Option<CowArray<'a, T, Ix2>>,
    /// Values V (v, N), or `None` if they equal the keys.
    values: Option<CowArray<'a, T, Ix2>>,
    /// Factors f_j, or `None` if all are 1.
    factors: Option<Vec<f64>>,
    mask: Mask,
    /// Length of the longest key, max_i |k_i|.
    longest_key: f64,
}

/// Returns the columns of `a` in contiguous memory, copied only if necessary.
fn by_columns<T: Real>(a: ArrayView2<'_, T>) -> CowArray<'_, T, Ix2> {
    if a.t().is_standard_layout() {
        return a.into();
    }
    column_major(a).into()
}

fn lengths<T: Real>(a: ArrayView2<T>) -> Vec<f64> {
    let length = |c: ndarray::ArrayView1<T>| c.iter().map(|x| x.as_f64().powi(2)).sum::<f64>();
    a.axis_iter(Axis(1)).map(|c| length(c).sqrt()).collect()
}

impl<'a, T: Exp> Problem<'a, T> {
    /// Makes the problem with scores Yᵀ P(Y) from the coefficients Y (p, N) of one head.
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

    /// Makes the problem with scores `scale` · KᵀQ and values V; K and Q are (p, N), V is (v, N).
    pub fn separate([queries, keys, values]: [ArrayView2<'a, T>; 3], mask: Mask, scale: f64) -> Self {
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

    /// Returns N, the number of tokens.
    pub fn tokens(&self) -> usize {
        self.keys.ncols()
    }

    /// Returns p, the number of coefficients of a key.
    pub fn dim(&self) -> usize {
        self.keys.nrows()
    }

    /// Returns the mask.
    pub fn mask(&self) -> Mask {
        self.mask
    }

    /// Returns the keys K (p, N).
    pub fn keys(&self) -> ArrayView2<'_, T> {
        self.keys.view()
    }

    /// Returns the queries Q (p, N).
    pub fn queries(&self) -> ArrayView2<'_, T> {
        self.queries.as_ref().unwrap_or(&self.keys).view()
    }

    /// Returns the values V (v, N).
    pub fn values(&self) -> ArrayView2<'_, T> {
        self.values.as_ref().unwrap_or(&self.keys).view()
    }

    /// Makes an output of zeros (v, N), column-major.
    pub fn zeros(&self) -> Array2<T> {
        Array2::zeros((self.values().nrows(), self.tokens()).f())
    }

    /// Returns the factor f_j.
    pub fn factor(&self, j: usize) -> f64 {
        self.factors.as_ref().map_or(1.0, |f| f[j])
    }

    /// Returns the blocks of queries and keys; their width follows from N alone. With 48 blocks or more,
    /// 24 tiles of a head are independent at any time, which (times the heads) occupies 2 to 64 cores
    /// evenly. Above 240 columns a tile and its transpose exceed a core's second-level cache; below 96
    /// the products become slower. Multiples of 48 fill the engine's micro-kernels, 24 or 48 rows of
    /// `f32`. The dimension p has little influence: the engine cuts it into its own cache blocks.
    pub fn blocks(&self) -> Blocks {
        let width = self.tokens().div_ceil(48).next_multiple_of(48);
        Blocks { columns: self.tokens(), width: width.clamp(96, 240) }
    }

    /// Returns E_j, a bound on the error of every computed score of column j against exact arithmetic on
    /// the given data.
    ///
    /// A product of length p summed in any order, fused or not, errs by at most γ_p Σ_m |k_m||q_m| ≤ γ_p |k||q| with
    /// γ_p = pu/(1 - pu) (Higham, Accuracy and Stability, Section 3.1, and Cauchy-Schwarz); u is half of `EPSILON`.
    /// Rounding f_j, multiplying by it and subtracting the running maximum, itself at most |k||q|, add 4u|k||q|.
    /// Underflow is left out: it moves a score by less than p times the smallest normal number.
    pub fn score_error(&self, j: usize) -> f64 {
        let (p, u) = (self.dim() as f64, T::EPSILON / 2.0);
        let gamma = p * u / (1.0 - p * u);
        (gamma + 4.0 * u) * self.reach(j)
    }

    /// Returns max_i |k_i||q_j||f_j|: a bound on the scores of column j, to which errors are relative.
    pub fn reach(&self, j: usize) -> f64 {
        let query = self.queries();
        let query = query.column(j).iter().map(|x| x.as_f64().powi(2)).sum::<f64>();
        self.longest_key * query.sqrt() * self.factor(j).abs()
    }

    /// Returns a bound on the relative error of a column's Σ exp(s - max): per tile at most width/16 additions in each
    /// of 16 lanes, 4 to join them and 2 ulps of exp, in T; the tiles are added in f64 with one rescaling each.
    pub fn sum_error(&self) -> f64 {
        let blocks = self.blocks();
        (blocks.width as f64 / 16.0 + 8.0) * T::EPSILON / 2.0 + 3.0 * blocks.count() as f64 * f64::EPSILON
    }

    /// Applies the factors and, on a tile crossed by the diagonal, the mask.
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

    /// Passes every tile of the scores to `rule` and returns its report on each block. `out` must be
    /// zero, (v, N) and column-major; it has no rows if the rule writes nothing. The order of the tiles
    /// of a block follows from N alone, whatever the number of threads.
    ///
    /// # Panics
    /// If `out` does not have N columns.
    pub fn sweep<R: TileRule<T>>(&self, rule: &R, out: &mut Array2<T>) -> Vec<R::Report> {
        assert_eq!(out.ncols(), self.tokens(), "an output has N columns");
        let blocks = self.blocks();
        let mut slots: Vec<_> = out
            .axis_chunks_iter_mut(Axis(1), blocks.width)
            .enumerate()
            .map(|(b, out)| Slot { state: rule.start(blocks.range(b)), out })
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

    /// Sweeps tied scores: one product gives the tile and, transposed, its mirror image.
    fn sweep_tied<R: TileRule<T>>(&self, rule: &R, slots: &mut [Slot<T, R::State>]) {
        let visit = |tile: super::Tile<T>, own: &mut Slot<T, R::State>, other: Option<&mut _>| {
            let super::Tile { rows, cols, scores, scratch, .. } = tile;
            let Some(scores) = scores.into_slice_memory_order() else { return };
            let Some(other) = other else { return self.show(rule, own, (rows, cols), scores) };
            if self.mask == Mask::None {
                super::kernels::transpose(scores, rows.len(), scratch);
                self.show(rule, own, (cols.clone(), rows.clone()), scratch);
            }
            self.show(rule, other, (rows, cols), scores);
        };
        for_each_tile(self.keys(), self.blocks(), slots, visit, || {});
    }

    /// Sweeps separate keys and queries: the blocks of queries are independent of each other.
    fn sweep_separate<R: TileRule<T>>(&self, rule: &R, slots: &mut [Slot<T, R::State>]) {
        let blocks = self.blocks();
        let (all_keys, all_queries) = (self.keys(), self.queries());
        slots.par_iter_mut().enumerate().with_max_len(1).for_each(|(b, slot)| {
            let queries = blocks.range(b);
            let last = if self.mask == Mask::Causal { b + 1 } else { blocks.count() };
            let mut buffer = vec![T::zero(); blocks.width * queries.len()];
            for keys in (0..last).map(|i| blocks.range(i)) {
                let scores = &mut buffer[..keys.len() * queries.len()];
                let left = all_keys.slice(s![.., keys.clone()]);
                let right = all_queries.slice(s![.., queries.clone()]);
                let shape = (keys.len(), queries.len()).f();
                let tile = ArrayViewMut2::from_shape(shape, &mut *scores).expect("tiles are whole");
                gemm(T::one(), left.t(), right, false, tile, Threads::One);
                self.show(rule, slot, (keys, queries.clone()), scores);
            }
        });
    }

    /// Returns q_j in f64, multiplied by its factor.
    pub fn query_f64(&self, j: usize) -> Vec<f64> {
        let f = self.factor(j);
        self.queries().column(j).iter().map(|x| f * x.as_f64()).collect()
    }

    /// Computes s_ij of the given data in f64, always in the same order of summation, so that equal keys
    /// have equal scores.
    ///
    /// # Panics
    /// When `query` has another length than a key.
    pub fn score_f64(&self, i: usize, query: &[f64]) -> f64 {
        self.keys().column(i).as_slice().map_or(f64::NAN, |key| T::dot_f64(key, query))
    }

    /// Computes out += V_I W for the keys I and their weights W (|I|, columns of `out`), column-major.
    pub fn accumulate(&self, keys: Range<usize>, weights: &[T], out: ArrayViewMut2<T>) {
        let rows = keys.len();
        let shape = (rows, weights.len() / rows.max(1)).f();
        let weights = ArrayView2::from_shape(shape, weights).expect("tiles are whole");
        let values = self.values();
        let values = values.slice(s![.., keys]);
        gemm(T::one(), values, weights, true, out, Threads::One);
    }

    /// Recomputes the given columns of the output by the plain definition in f64.
    pub fn redecide(&self, phi: &dyn Nonlinearity, columns: &[usize], out: &mut Array2<T>) {
        let exact = |j: &usize| self.plain_column(phi, *j);
        let replacements: Vec<Vec<f64>> = columns.par_iter().map(exact).collect();
        for (&j, column) in columns.iter().zip(replacements) {
            for (out, x) in out.column_mut(j).iter_mut().zip(column) {
                *out = T::of_f64(x);
            }
        }
    }

    /// Computes V φ(Mask(S)) by the plain definition of φ, the fallback for every φ without a faster pass.
    ///
    /// Scores, weights and sums are in f64. Each thread computes one column at a time, with N scores in
    /// memory and at least 2Np floating-point operations; columns share no work.
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

    /// Computes column j of V φ(Mask(S)) in f64.
    fn plain_column(&self, phi: &dyn Nonlinearity, j: usize) -> Vec<f64> {
        let query = self.query_f64(j);
        let visible = if self.mask == Mask::Causal { j + 1 } else { self.tokens() };
        let mut weights: Vec<f64> = (0..visible).map(|i| self.score_f64(i, &query)).collect();
        // As in the plain definition, φ receives the whole column.
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

/// A block of queries: the state of the rule and the block's columns of the output.
struct Slot<'o, T, S> {
    state: S,
    out: ArrayViewMut2<'o, T>,
}
