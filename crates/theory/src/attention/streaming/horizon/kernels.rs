//! Inner loops of the pass, in f32 vectors, over one rectangle of scores. Its rows are all signal tokens
//! or all noise tokens, and so are its columns.
//!
//! With g = s/σ_j (σ_j the length of noise column j) and x = exp(h (g - c)), the powers x, x², .., x^J are the terms of
//! Σ_i e^{θ s_ij} at the nodes θ = h/σ_j, .., J h/σ_j, so one exponential serves all nodes.

use super::state::{NODES, Tokens};
use ndarray::{ArrayView2, Axis};
use pulp::{Scalar, Simd, WithSimd};
use std::f32::consts::LOG2_E;
use std::ops::Range;

/// Rectangle of a tile.
pub(super) struct Rect<'a> {
    /// Scores S[I, J] of the tile, column-major.
    pub scores: ArrayView2<'a, f32>,
    /// Rows of the rectangle, counted from the first row of the tile.
    pub rows: Range<usize>,
    /// Columns of the rectangle, counted from the first column of the tile.
    pub cols: Range<usize>,
    /// Flag: the rows are tokens of C_k.
    pub rows_signal: bool,
    /// Flag: the columns are tokens of C_k.
    pub cols_signal: bool,
    /// State of the rows' block; `None` on the diagonal, where only the column side is computed.
    pub row_tokens: Option<&'a mut Tokens>,
    /// State of the columns' block.
    pub col_tokens: &'a mut Tokens,
}

impl WithSimd for Rect<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match (self.rows_signal, self.cols_signal) {
            (true, true) => self.maxima(simd, |t| &mut t.top, |t| &mut t.top),
            (false, false) => self.noise(simd),
            (true, false) => self.cross(simd),
            (false, true) => self.cross_transposed(simd),
        }
    }
}

/// Computes 2^x for x in [-125, 127] with relative error below 2e-7; x is clamped to this range.
#[inline(always)]
fn exp2<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let splat = |v| simd.splat_f32s(v);
    let x = simd.min_f32s(simd.max_f32s(x, splat(-125.0)), splat(127.0));
    // Adding 1.5 * 2^23 leaves the nearest whole number in the low bits.
    let shifted = simd.add_f32s(x, splat(12_582_912.0));
    let f = simd.sub_f32s(x, simd.sub_f32s(shifted, splat(12_582_912.0)));
    // The minimax polynomial of 2^f on [-1/2, 1/2] in relative error (Remez in mpmath, 7.5e-8).
    let mut p = splat(1.327_646_8e-3);
    for c in [9.675_541e-3, 5.550_713_3e-2, 0.240_221_2, 0.693_146_97, 1.0] {
        p = simd.mul_add_e_f32s(p, f, splat(c));
    }
    let bits = simd.transmute_u32s_f32s(shifted);
    let exponent = simd.wrapping_dyn_shl_u32s(bits, simd.splat_u32s(23));
    simd.transmute_f32s_u32s(simd.add_u32s(simd.transmute_u32s_f32s(p), exponent))
}

/// Computes x, x², .., x^J with x = 2^(scale v + shift) lane by lane, and adds them to `sums`.
#[inline(always)]
fn add_powers<S: Simd>(simd: S, v: S::f32s, scale: S::f32s, shift: S::f32s, sums: &mut [S::f32s; NODES]) {
    let x = exp2(simd, simd.mul_add_e_f32s(v, scale, shift));
    let mut power = x;
    sums[0] = simd.add_f32s(sums[0], x);
    for sum in &mut sums[1..] {
        power = simd.mul_f32s(power, x);
        *sum = simd.add_f32s(*sum, power);
    }
}

/// Processes one column of signal keys: power sums and maximum of the noise column, and the keys' own maxima.
#[inline(always)]
fn cross_column<S: Simd>(
    simd: S,
    keys: &[S::f32s],
    key_maxima: &mut [S::f32s],
    (scale, shift): (f32, f32),
    sums: &mut [f32; NODES],
) -> f32 {
    let (scale, shift) = (simd.splat_f32s(scale), simd.splat_f32s(shift));
    let mut lanes = [simd.splat_f32s(0.0); NODES];
    let mut max = simd.splat_f32s(f32::NEG_INFINITY);
    for (v, key_max) in keys.iter().zip(key_maxima) {
        max = simd.max_f32s(max, *v);
        *key_max = simd.max_f32s(*key_max, *v);
        add_powers(simd, *v, scale, shift, &mut lanes);
    }
    for (sum, lanes) in sums.iter_mut().zip(lanes) {
        *sum += simd.reduce_sum_f32s(lanes);
    }
    simd.reduce_max_f32s(max)
}

/// Processes one column of noise keys: Σ e^s and maximum of the column, and e^s added to the keys' own sums.
#[inline(always)]
fn noise_column<S: Simd>(
    simd: S,
    keys: &[S::f32s],
    key_sums: &mut [S::f32s],
    key_maxima: &mut [S::f32s],
) -> (f32, f32) {
    let log2_e = simd.splat_f32s(LOG2_E);
    let mut sum = simd.splat_f32s(0.0);
    let mut max = simd.splat_f32s(f32::NEG_INFINITY);
    for ((v, key_sum), key_max) in keys.iter().zip(key_sums).zip(key_maxima) {
        let e = exp2(simd, simd.mul_f32s(*v, log2_e));
        sum = simd.add_f32s(sum, e);
        max = simd.max_f32s(max, *v);
        *key_sum = simd.add_f32s(*key_sum, e);
        *key_max = simd.max_f32s(*key_max, *v);
    }
    (simd.reduce_sum_f32s(sum), simd.reduce_max_f32s(max))
}

#[inline(always)]
fn max_column<S: Simd>(simd: S, keys: &[S::f32s], key_maxima: &mut [S::f32s]) -> f32 {
    let mut max = simd.splat_f32s(f32::NEG_INFINITY);
    for (v, key_max) in keys.iter().zip(key_maxima) {
        max = simd.max_f32s(max, *v);
        *key_max = simd.max_f32s(*key_max, *v);
    }
    simd.reduce_max_f32s(max)
}

/// Adds the power sums of one vector of noise tokens whose signal keys lie along the columns.
#[inline(always)]
fn cross_lanes<S: Simd>(
    simd: S,
    columns: &[&[f32]],
    offset: usize,
    scale: S::f32s,
    shift: S::f32s,
) -> ([S::f32s; NODES], S::f32s) {
    let mut sums = [simd.splat_f32s(0.0); NODES];
    let mut max = simd.splat_f32s(f32::NEG_INFINITY);
    for column in columns {
        let v = S::as_simd_f32s(&column[offset..offset + S::F32_LANES]).0[0];
        max = simd.max_f32s(max, v);
        add_powers(simd, v, scale, shift, &mut sums);
    }
    (sums, max)
}

impl<'a> Rect<'a> {
    /// Returns the columns of the rectangle, each contiguous.
    fn column_slices(&self) -> Vec<&'a [f32]> {
        let of = |j| {
            let column = self.scores.index_axis_move(Axis(1), j);
            let column = column.to_slice().expect("tiles are column-major");
            &column[self.rows.clone()]
        };
        self.cols.clone().map(of).collect()
    }

    /// Updates the maxima on both sides.
    #[inline(always)]
    fn maxima<S: Simd>(
        mut self,
        simd: S,
        of_rows: impl Fn(&mut Tokens) -> &mut Vec<f32>,
        of_cols: impl Fn(&mut Tokens) -> &mut Vec<f32>,
    ) {
        let mut ignored = vec![f32::NEG_INFINITY; self.rows.len()];
        let columns = self.column_slices();
        let row_maxima = match &mut self.row_tokens {
            Some(tokens) => &mut of_rows(tokens)[self.rows.clone()],
            None => &mut ignored[..],
        };
        let (row_head, row_tail) = S::as_mut_simd_f32s(row_maxima);
        let col_maxima = &mut of_cols(self.col_tokens)[self.cols.clone()];
        for (column, col_max) in columns.into_iter().zip(col_maxima) {
            let (head, tail) = S::as_simd_f32s(column);
            let a = max_column(simd, head, row_head);
            let b = max_column(Scalar::new(), tail, row_tail);
            *col_max = col_max.max(a).max(b);
        }
    }

    /// Processes noise rows and noise columns: e^s is added on both sides.
    #[inline(always)]
    fn noise<S: Simd>(mut self, simd: S) {
        let mut ignored = vec![f32::NEG_INFINITY; self.rows.len()];
        let mut sums = vec![0.0; self.rows.len()];
        let columns = self.column_slices();
        let row_maxima = match &mut self.row_tokens {
            Some(tokens) => &mut tokens.other[self.rows.clone()],
            None => &mut ignored[..],
        };
        let (sum_head, sum_tail) = S::as_mut_simd_f32s(&mut sums);
        let (max_head, max_tail) = S::as_mut_simd_f32s(row_maxima);
        for (column, j) in columns.into_iter().zip(self.cols.clone()) {
            let (head, tail) = S::as_simd_f32s(column);
            let (sum, max) = noise_column(simd, head, sum_head, max_head);
            let (tail_sum, tail_max) = noise_column(Scalar::new(), tail, sum_tail, max_tail);
            self.col_tokens.fixed[j] += f64::from(sum) + f64::from(tail_sum);
            let col_max = &mut self.col_tokens.other[j];
            *col_max = col_max.max(max).max(tail_max);
        }
        if let Some(tokens) = self.row_tokens {
            for (total, sum) in tokens.fixed[self.rows].iter_mut().zip(sums) {
                *total += f64::from(sum);
            }
        }
    }

    /// Processes signal rows and noise columns.
    #[inline(always)]
    fn cross<S: Simd>(mut self, simd: S) {
        let mut ignored = vec![f32::NEG_INFINITY; self.rows.len()];
        let columns = self.column_slices();
        let row_maxima = match &mut self.row_tokens {
            Some(tokens) => &mut tokens.other[self.rows.clone()],
            None => &mut ignored[..],
        };
        let (max_head, max_tail) = S::as_mut_simd_f32s(row_maxima);
        let tokens = self.col_tokens;
        for (column, j) in columns.into_iter().zip(self.cols) {
            let (head, tail) = S::as_simd_f32s(column);
            let mut sums = [0.0; NODES];
            let factors = (tokens.scale[j], tokens.shift[j]);
            let max = cross_column(simd, head, max_head, factors, &mut sums);
            let tail_max = cross_column(Scalar::new(), tail, max_tail, factors, &mut sums);
            tokens.top[j] = tokens.top[j].max(max).max(tail_max);
            tokens.add_sums(j, sums);
        }
    }

    /// Processes noise rows and signal columns.
    #[inline(always)]
    fn cross_transposed<S: Simd>(mut self, simd: S) {
        let columns = self.column_slices();
        if let Some(tokens) = &mut self.row_tokens {
            let start = self.rows.start;
            let (scales, _) = S::as_simd_f32s(&tokens.scale[self.rows.clone()]);
            let (shifts, _) = S::as_simd_f32s(&tokens.shift[self.rows.clone()]);
            let groups: Vec<_> = scales.iter().copied().zip(shifts.iter().copied()).collect();
            for (group, (scale, shift)) in groups.into_iter().enumerate() {
                let offset = group * S::F32_LANES;
                let (sums, max) = cross_lanes(simd, &columns, offset, scale, shift);
                tokens.add_lanes::<S>(start + offset, sums, max);
            }
            let whole = self.rows.len() - self.rows.len() % S::F32_LANES;
            for offset in whole..self.rows.len() {
                let (scale, shift) = (tokens.scale[start + offset], tokens.shift[start + offset]);
                let (sums, max) = cross_lanes(Scalar::new(), &columns, offset, scale, shift);
                tokens.add_lanes::<Scalar>(start + offset, sums, max);
            }
        }
        // The row maxima are computed above (and not needed on the diagonal), so only the columns remain.
        self.row_tokens = None;
        self.maxima(simd, |t| &mut t.top, |t| &mut t.other);
    }
}
