//! Rotation, shear and translation with the nearest pixel, as Pillow's `Image.transform` and `Image.rotate` do them
//! (`Geometry.c`). Pixels from outside the image get the level `fill` in every channel.

use crate::image::Image;
use attnlab_core::error::{Result, require};
use ndarray::Array3;

/// Longest side (pixels) of Pillow's fixed-point path; beyond it Pillow computes in floating point.
const MAX_FIXED_SIDE: usize = 32_768;

/// Rotates counter-clockwise by an angle (degrees) about the centre of the image.
///
/// # Errors
/// [`Error::Invalid`](attnlab_core::Error::Invalid) for real intensities, an angle that is not finite, or a side of
/// 32 768 pixels or more.
pub fn rotate(image: &Image, degrees: f64, fill: u8) -> Result<Image> {
    finite("degrees", degrees)?;
    let (_, rows, columns) = image.dim();
    let angle = -(degrees.rem_euclid(360.0)).to_radians();
    let (cos, sin) = (round15(angle.cos()), round15(angle.sin()));
    let (x, y) = (columns as f64 / 2.0, rows as f64 / 2.0);
    // The centre goes to the centre. The order of sums is Pillow's.
    let tx = (cos * -x + sin * -y) + x;
    let ty = (-sin * -x + cos * -y) + y;
    transform(image, [cos, sin, tx, -sin, cos, ty], fill)
}

/// Moves every row to the left by `slope` pixels for each row above it.
///
/// # Errors
/// As [`rotate`].
pub fn shear_x(image: &Image, slope: f64, fill: u8) -> Result<Image> {
    finite("slope", slope)?;
    transform(image, [1.0, slope, 0.0, 0.0, 1.0, 0.0], fill)
}

/// Moves every column up by `slope` pixels for each column to its left.
///
/// # Errors
/// As [`rotate`].
pub fn shear_y(image: &Image, slope: f64, fill: u8) -> Result<Image> {
    finite("slope", slope)?;
    transform(image, [1.0, 0.0, 0.0, slope, 1.0, 0.0], fill)
}

/// Moves the image to the right and down by whole pixels; negative numbers move it left and up.
///
/// # Errors
/// As [`rotate`].
pub fn translate(image: &Image, right: i32, down: i32, fill: u8) -> Result<Image> {
    transform(image, [1.0, 0.0, -f64::from(right), 0.0, 1.0, -f64::from(down)], fill)
}

/// Gives output pixel (x, y) the input pixel at (a x + b y + c, d x + e y + f), all at the centres of pixels.
fn transform(image: &Image, matrix: [f64; 6], fill: u8) -> Result<Image> {
    let pixels = image.levels()?;
    let (channels, rows, columns) = pixels.dim();
    let side = rows.max(columns);
    let requirement = format!("must be below {MAX_FIXED_SIDE} pixels. Resize the image before");
    require(side < MAX_FIXED_SIDE, "side", side, requirement)?;
    let [a, b, c, d, e, f] = matrix;
    let mut made = Array3::from_elem(pixels.dim(), fill);
    let mut copy = |to: (usize, usize), from: (i64, i64)| {
        let row = usize::try_from(from.0).ok().filter(|row| *row < rows);
        let column = usize::try_from(from.1).ok().filter(|column| *column < columns);
        if let (Some(row), Some(column)) = (row, column) {
            for channel in 0..channels {
                made[(channel, to.0, to.1)] = pixels[(channel, row, column)];
            }
        }
    };
    if b == 0.0 && d == 0.0 {
        // Sums pixel by pixel in floating point, as Pillow does without rotation and shear.
        let steps = |start: f64, step: f64, count: usize| -> Vec<i64> {
            let places = std::iter::successors(Some(start), |place| Some(place + step));
            places.take(count).map(|place| if place < 0.0 { -1 } else { place as i64 }).collect()
        };
        let from_columns = steps(c + a * 0.5, a, columns);
        for (y, row) in steps(f + e * 0.5, e, rows).into_iter().enumerate() {
            for (x, column) in from_columns.iter().enumerate() {
                copy((y, x), (row, *column));
            }
        }
    } else {
        // 16 binary places.
        let fixed = |v: f64| (v * 65536.0 + 0.5).floor() as i64;
        let (step_x, step_y) = ((fixed(a), fixed(d)), (fixed(b), fixed(e)));
        let start = (fixed(c + a * 0.5 + b * 0.5), fixed(f + d * 0.5 + e * 0.5));
        for y in 0..rows {
            for x in 0..columns {
                let (i, j) = (x as i64, y as i64);
                let column = (start.0 + j * step_y.0 + i * step_x.0) >> 16;
                let row = (start.1 + j * step_y.1 + i * step_x.1) >> 16;
                copy((y, x), (row, column));
            }
        }
    }
    Image::from_bytes(made)
}

/// Rounds to 15 decimals, as Pillow does with sines and cosines.
fn round15(x: f64) -> f64 {
    (x * 1e15).round_ties_even() / 1e15
}

/// Largest slope: beyond it the fixed-point sums could leave 63 bits.
const MAX_SLOPE: f64 = 1e6;

fn finite(name: &str, value: f64) -> Result<()> {
    require(value.abs() <= MAX_SLOPE, name, value, "must be a number from -1e6 to 1e6")
}
