//! Brightness, contrast, colour and sharpness, as Pillow's `ImageEnhance` has them: a mixture of the image and a
//! degenerate one. Factor 1 is the image, 0 the degenerate image; factors above 1 lead away from it.

use crate::image::{Image, grey};
use attnlab_core::error::{Result, require};
use ndarray::{Array3, ArrayView3, Zip};

/// Mixes with black.
///
/// # Errors
/// [`Error::Invalid`](attnlab_core::Error::Invalid) for real intensities, or a factor that is not finite.
pub fn brightness(image: &Image, factor: f64) -> Result<Image> {
    let levels = image.levels()?;
    mix(Array3::zeros(levels.dim()), levels, factor)
}

/// Mixes with the mean grey level, rounded to nearest.
///
/// # Errors
/// As [`brightness`].
pub fn contrast(image: &Image, factor: f64) -> Result<Image> {
    let levels = image.levels()?;
    let greys = grey(levels);
    let sum: u64 = greys.iter().map(|level| u64::from(*level)).sum();
    let mean = (sum as f64 / greys.len() as f64 + 0.5) as u8;
    mix(Array3::from_elem(levels.dim(), mean), levels, factor)
}

/// Mixes with the grey image.
///
/// # Errors
/// As [`brightness`].
pub fn colour(image: &Image, factor: f64) -> Result<Image> {
    let levels = image.levels()?;
    let greys = grey(levels);
    mix(Array3::from_shape_fn(levels.dim(), |(_, y, x)| greys[(0, y, x)]), levels, factor)
}

/// Mixes with a smoothed image: the mean over 3 × 3 pixels in which the middle one counts 5 times; pixels of the border
/// stay as they are.
///
/// # Errors
/// As [`brightness`].
pub fn sharpness(image: &Image, factor: f64) -> Result<Image> {
    let levels = image.levels()?;
    mix(smoothed(levels), levels, factor)
}

fn smoothed(levels: ArrayView3<u8>) -> Array3<u8> {
    let (_, rows, columns) = levels.dim();
    let smooth = |(c, y, x): (usize, usize, usize)| {
        let middle = levels[(c, y, x)];
        if y == 0 || x == 0 || y + 1 == rows || x + 1 == columns {
            return middle;
        }
        let mut sum = 4 * u32::from(middle);
        for dy in 0..3 {
            for dx in 0..3 {
                sum += u32::from(levels[(c, y + dy - 1, x + dx - 1)]);
            }
        }
        // sum / 13 rounded to nearest: 2 sum is even, so there are no halves.
        ((2 * sum + 13) / 26) as u8
    };
    Array3::from_shape_fn(levels.dim(), smooth)
}

/// Computes degenerate + factor (image − degenerate) in f32, cut off to whole levels from 0 to 255, as `Image.blend`.
fn mix(degenerate: Array3<u8>, image: ArrayView3<u8>, factor: f64) -> Result<Image> {
    require(factor.is_finite(), "factor", factor, "must be a finite number")?;
    let factor = factor as f32;
    let mix = |low: &u8, high: &u8| {
        let (low, high) = (f32::from(*low), f32::from(*high));
        // A conversion to u8 cuts off and saturates.
        (low + factor * (high - low)) as u8
    };
    Image::from_bytes(Zip::from(&degenerate).and(image).map_collect(mix))
}
