//! Element-wise kernels on one tile. Every tile is column-major and contiguous, with keys along the rows
//! and queries along the columns. Each kernel is compiled for the vector width of the CPU.

use super::exp::{Exp, LANES, exp_shifted, fold_lanes, largest, sum_exp_shifted};
use super::width::at_full_width;
use attnlab_core::linalg::Real;

/// Writes the transpose of `source` (rows, cols) into `target` (cols, rows).
pub(super) fn transpose<T: Real>(source: &[T], rows: usize, target: &mut [T]) {
    const SIDE: usize = 8;
    if rows == 0 {
        return;
    }
    let cols = source.len() / rows;
    at_full_width(
        #[inline(always)]
        || {
            let (whole_rows, whole_cols) = (rows - rows % SIDE, cols - cols % SIDE);
            for i in (0..whole_rows).step_by(SIDE) {
                for j in (0..whole_cols).step_by(SIDE) {
                    let mut block = [[T::zero(); SIDE]; SIDE];
                    for (b, column) in block.iter_mut().enumerate() {
                        column.copy_from_slice(&source[i + (j + b) * rows..][..SIDE]);
                    }
                    for a in 0..SIDE {
                        let row: [T; SIDE] = std::array::from_fn(|b| block[b][a]);
                        target[j + (i + a) * cols..][..SIDE].copy_from_slice(&row);
                    }
                }
            }
            for i in 0..rows {
                let first = if i < whole_rows { whole_cols } else { 0 };
                for j in first..cols {
                    target[j + i * cols] = source[i + j * rows];
                }
            }
        },
    );
}

/// Computes the largest score of every column (-∞ if all are masked).
pub(super) fn column_maxima<T: Real>(scores: &[T], rows: usize, maxima: &mut [T]) {
    at_full_width(
        #[inline(always)]
        || {
            for (column, max) in scores.chunks_exact(rows).zip(maxima) {
                *max = largest(column);
            }
        },
    );
}

/// Replaces each column by exp(column - shift) and adds its sum to `sums`.
pub(super) fn exp_columns<T: Exp>(scores: &mut [T], rows: usize, shift: &[T], sums: &mut [f64]) {
    at_full_width(
        #[inline(always)]
        || {
            for (j, column) in scores.chunks_exact_mut(rows).enumerate() {
                sums[j] += exp_shifted(column, shift[j]).as_f64();
            }
        },
    );
}

/// Adds Σ exp(column - shift) to `sums` and leaves the scores unchanged. `maxima` are the columns' own
/// largest scores: if exp of the largest underflows to 0 the column is skipped.
pub(super) fn sum_exp_columns<T: Exp>(scores: &[T], rows: usize, maxima: &[T], shift: &[T], sums: &mut [f64]) {
    at_full_width(
        #[inline(always)]
        || {
            for (j, column) in scores.chunks_exact(rows).enumerate() {
                if maxima[j] - shift[j] > T::ZERO_BELOW {
                    sums[j] += sum_exp_shifted(column, shift[j]).as_f64();
                }
            }
        },
    );
}

/// Counts, for each column j, the scores in (low_j, high_j] (`near[j]`) and those above high_j (`above[j]`).
pub(super) fn count_columns<T: Real>(
    scores: &[T],
    rows: usize,
    (low, high): (&[T], &[T]),
    near: &mut [u32],
    above: &mut [u32],
) {
    at_full_width(
        #[inline(always)]
        || {
            for (j, column) in scores.chunks_exact(rows).enumerate() {
                let (low, high, mut counts) = (low[j], high[j], (0, 0));
                for s in column {
                    counts.0 += u32::from(*s > low && *s <= high);
                    counts.1 += u32::from(*s > high);
                }
                (near[j], above[j]) = counts;
            }
        },
    );
}

/// Replaces each score by `value` if it is above the `cut` of its column, otherwise by 0.
pub(super) fn step_columns<T: Real>(scores: &mut [T], rows: usize, cut: &[T], value: T) {
    at_full_width(
        #[inline(always)]
        || {
            for (column, cut) in scores.chunks_exact_mut(rows).zip(cut) {
                for s in column {
                    *s = if *s > *cut { value } else { T::zero() };
                }
            }
        },
    );
}

/// Multiplies x by `factor`.
pub(super) fn scale<T: Real>(x: &mut [T], factor: T) {
    at_full_width(
        #[inline(always)]
        || x.iter_mut().for_each(|x| *x *= factor),
    );
}

/// [`Exp::dot_f64`].
pub(super) fn dot_f64<T: Real>(a: &[T], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "lengths of the two vectors");
    at_full_width(
        #[inline(always)]
        || {
            let mut lanes = [0.0; LANES];
            let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
            for (a, b) in a.iter().zip(b) {
                for l in 0..LANES {
                    lanes[l] += a[l].as_f64() * b[l];
                }
            }
            for (l, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
                lanes[l] += a.as_f64() * b;
            }
            fold_lanes(lanes)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposes_ragged_tiles() {
        for (rows, cols) in [(1, 1), (8, 8), (9, 17), (3, 20), (24, 7)] {
            let source: Vec<f32> = (0..rows * cols).map(|x| x as f32).collect();
            let mut target = vec![-1.0; rows * cols];
            transpose(&source, rows, &mut target);
            for i in 0..rows {
                for j in 0..cols {
                    assert_eq!(target[j + i * cols], source[i + j * rows]);
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "lengths of the two vectors")]
    fn products_of_different_lengths_are_refused() {
        dot_f64(&[1.0_f32; 3], &[1.0; 2]);
    }

    #[test]
    fn counts_and_steps_agree_on_the_strict_inequality() {
        let mut scores = [1.0, 2.0, 3.0, 2.0, f64::NEG_INFINITY, 2.5];
        let (mut near, mut above) = ([0; 2], [0; 2]);
        let (low, high) = ([1.0, 2.0], [2.0, 2.5]);
        count_columns(&scores, 3, (&low, &high), &mut near, &mut above);
        assert_eq!((near, above), ([1, 1], [1, 0]));
        step_columns(&mut scores, 3, &[2.0, 2.0], 0.5);
        assert_eq!(scores, [0.0, 0.0, 0.5, 0.0, 0.0, 0.5]);
    }
}
