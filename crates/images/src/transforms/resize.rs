//! Resizing with antialiasing, as Pillow's `Image.resize` does it (`Resample.c`).
//!
//! Each output pixel is a weighted mean of input pixels. Where the image shrinks the filter is stretched by the ratio,
//! which is the antialiasing. Levels: weights are rounded to 22 binary places, sums are whole numbers, and each of the two
//! passes rounds to a level, so that the result is Pillow's to the level. Real intensities: weights and sums in f64,
//! rounded to f32 after each pass, as in Pillow's mode F.
//!
//! The horizontal pass is the first, as in Pillow 3 to 12. Pillow 13 takes the other order for images that shrink more in
//! height than in width; its levels then differ by 1, or by up to 4 where the cubic overshoots.

use super::check_size;
use crate::image::{Image, Pixels};
use attnlab_core::error::Result;
use ndarray::{Array3, ArrayView3};
use serde::{Deserialize, Serialize};

/// Filter of [`resize`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resampling {
    /// Triangle of half-width 1.
    Bilinear,
    /// Keys' cubic of half-width 2 with a = −1/2.
    Bicubic,
}

impl Resampling {
    fn weight(self, x: f64) -> f64 {
        let x = x.abs();
        match self {
            Resampling::Bilinear if x < 1.0 => 1.0 - x,
            Resampling::Bicubic if x < 1.0 => ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0,
            Resampling::Bicubic if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * A,
            _ => 0.0,
        }
    }
}

/// Parameter of Keys' cubic.
const A: f64 = -0.5;

/// Binary places of the weights for levels: 32 − 8 for a level − 2 for the overshoot of the cubic.
const PLACES: u32 = 22;

/// Weights of one output pixel, for the input pixels from `first` on.
struct Window<W> {
    first: usize,
    weights: Vec<W>,
}

/// Number type of a pixel, with its weighted sums.
trait Number: Copy + Default {
    type Weight: Copy;
    type Sum: Copy;
    const START: Self::Sum;

    fn weight(w: f64) -> Self::Weight;

    fn add(sum: Self::Sum, weight: Self::Weight, x: Self) -> Self::Sum;

    fn rounded(sum: Self::Sum) -> Self;
}

/// The weights of Keys' cubic have absolute values that sum to at most 1.25, so sums are below 1.25 · 255 · 2²² < 2³¹.
impl Number for u8 {
    type Weight = i32;
    type Sum = i32;
    const START: i32 = 1 << (PLACES - 1);

    /// Rounds to nearest, halves away from 0.
    fn weight(w: f64) -> i32 {
        (w * f64::from(1_u32 << PLACES) + 0.5_f64.copysign(w)) as i32
    }

    fn add(sum: i32, weight: i32, x: u8) -> i32 {
        sum.wrapping_add(weight.wrapping_mul(i32::from(x)))
    }

    fn rounded(sum: i32) -> u8 {
        (sum >> PLACES).clamp(0, 255) as u8
    }
}

impl Number for f32 {
    type Weight = f64;
    type Sum = f64;
    const START: f64 = 0.0;

    fn weight(w: f64) -> f64 {
        w
    }

    fn add(sum: f64, weight: f64, x: f32) -> f64 {
        sum + f64::from(x) * weight
    }

    fn rounded(sum: f64) -> f32 {
        sum as f32
    }
}

/// Resizes to `height` × `width`.
///
/// # Errors
/// [`Error::Invalid`](attnlab_core::Error::Invalid) for a size of 0, or of more than
/// [`MAX_PIXELS`](crate::MAX_PIXELS), of the result or between the two passes.
pub fn resize(image: &Image, height: usize, width: usize, filter: Resampling) -> Result<Image> {
    check_size(height, width)?;
    let (_, rows, _) = image.dim();
    check_size(rows, width)?;
    match image.pixels() {
        Pixels::Bytes(pixels) => Image::from_bytes(passes(pixels.view(), height, width, filter)),
        Pixels::Floats(pixels) => Image::from_floats(passes(pixels.view(), height, width, filter)),
    }
}

/// Resizes horizontally and then vertically, each if the size changes.
fn passes<T: Number>(pixels: ArrayView3<T>, height: usize, width: usize, filter: Resampling) -> Array3<T> {
    let (_, rows, columns) = pixels.dim();
    let mut made = pixels.to_owned();
    if columns != width {
        made = horizontal(made.view(), &windows::<T>(columns, width, filter));
    }
    if rows != height {
        made = vertical(made.view(), &windows::<T>(rows, height, filter));
    }
    made
}

fn horizontal<T: Number>(pixels: ArrayView3<T>, windows: &[Window<T::Weight>]) -> Array3<T> {
    let (channels, rows, _) = pixels.dim();
    let mut made = Array3::default((channels, rows, windows.len()));
    for (mut to, from) in made.rows_mut().into_iter().zip(pixels.rows()) {
        let from = from.to_vec();
        for (to, window) in to.iter_mut().zip(windows) {
            let terms = window.weights.iter().zip(&from[window.first..]);
            *to = T::rounded(terms.fold(T::START, |sum, (w, x)| T::add(sum, *w, *x)));
        }
    }
    made
}

/// Sums whole rows, so that memory is read in its order.
fn vertical<T: Number>(pixels: ArrayView3<T>, windows: &[Window<T::Weight>]) -> Array3<T> {
    let (channels, _, columns) = pixels.dim();
    let mut made = Array3::default((channels, windows.len(), columns));
    let mut sums = vec![T::START; columns];
    for (mut to, from) in made.outer_iter_mut().zip(pixels.outer_iter()) {
        for (mut to, window) in to.rows_mut().into_iter().zip(windows) {
            sums.fill(T::START);
            for (weight, y) in window.weights.iter().zip(window.first..) {
                for (sum, x) in sums.iter_mut().zip(from.row(y)) {
                    *sum = T::add(*sum, *weight, *x);
                }
            }
            for (to, sum) in to.iter_mut().zip(&sums) {
                *to = T::rounded(*sum);
            }
        }
    }
    made
}

/// Computes the windows of all output pixels along a side of `from` pixels.
fn windows<T: Number>(from: usize, to: usize, filter: Resampling) -> Vec<Window<T::Weight>> {
    let scale = from as f64 / to as f64;
    let stretch = scale.max(1.0);
    let half_width = if filter == Resampling::Bilinear { 1.0 } else { 2.0 };
    let reach = half_width * stretch;
    let window = |i: usize| {
        let centre = (i as f64 + 0.5) * scale;
        // Conversions cut off, as in C; a negative number becomes 0.
        let first = (centre - reach + 0.5) as usize;
        let last = ((centre + reach + 0.5) as usize).min(from);
        let weight = |x| filter.weight((x as f64 - centre + 0.5) * (1.0 / stretch));
        let mut weights: Vec<f64> = (first..last).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        if sum != 0.0 {
            for weight in &mut weights {
                *weight /= sum;
            }
        }
        Window { first, weights: weights.into_iter().map(T::weight).collect() }
    };
    (0..to).map(window).collect()
}
