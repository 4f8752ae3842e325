//! Crops, padding and the horizontal flip.

use super::check_size;
use crate::image::{Image, Pixels};
use attnlab_core::error::{Result, require};
use attnlab_core::rng::Generator;
use ndarray::{Array3, ArrayView3, s};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Rectangle of pixels inside an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CropBox {
    /// Row of its upper edge.
    pub top: usize,
    /// Column of its left edge.
    pub left: usize,
    /// Number of rows.
    pub height: usize,
    /// Number of columns.
    pub width: usize,
}

impl CropBox {
    /// Returns the box in the middle of an image of `rows` × `columns`; half pixels are rounded to even, as torchvision
    /// does.
    ///
    /// # Errors
    /// [`Error::Invalid`](attnlab_core::Error::Invalid) for a box that is larger than the image (torchvision pads it), or
    /// of no pixels.
    pub fn centred(rows: usize, columns: usize, height: usize, width: usize) -> Result<Self> {
        fits(rows, columns, height, width)?;
        let middle = |side: usize, part: usize| ((side - part) as f64 / 2.0).round_ties_even() as usize;
        Ok(CropBox { top: middle(rows, height), left: middle(columns, width), height, width })
    }

    /// Draws a box uniformly among those of a size inside an image of `rows` × `columns`.
    ///
    /// # Errors
    /// As [`CropBox::centred`].
    pub fn uniform(
        rows: usize,
        columns: usize,
        height: usize,
        width: usize,
        generator: &mut Generator,
    ) -> Result<Self> {
        fits(rows, columns, height, width)?;
        Ok(CropBox {
            top: generator.random_range(0..=rows - height),
            left: generator.random_range(0..=columns - width),
            height,
            width,
        })
    }
}

/// Law of the box of a random resized crop (Szegedy et al. 2015), as torchvision's `RandomResizedCrop` has it.
///
/// Up to ten times an area, uniform in `scale` times the image's, and a ratio of width to height, log-uniform in `ratio`,
/// are drawn; the first box that fits gets a uniform place. If none fits the box is the largest centred one whose ratio
/// is in range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CropLaw {
    /// Least and largest share of the area, in (0, 1]; (0.08, 1) in the usual recipe.
    pub scale: (f64, f64),
    /// Least and largest ratio of width to height; (3/4, 4/3) in the usual recipe.
    pub ratio: (f64, f64),
}

impl Default for CropLaw {
    fn default() -> Self {
        CropLaw { scale: (0.08, 1.0), ratio: (3.0 / 4.0, 4.0 / 3.0) }
    }
}

/// Number of boxes that are drawn before the centred one is taken.
const ATTEMPTS: usize = 10;

impl CropLaw {
    /// Refuses ranges that are empty, not positive or, for the scale, above 1.
    ///
    /// # Errors
    /// [`Error::Invalid`](attnlab_core::Error::Invalid) with the range.
    pub fn validate(&self) -> Result<()> {
        let range = |name: &str, (low, high): (f64, f64), most: f64| {
            let good = low > 0.0 && low <= high && high <= most && high.is_finite();
            let requirement = format!("must be two numbers in (0, {most}], the smaller first");
            require(good, name, format!("({low}, {high})"), requirement)
        };
        range("scale", self.scale, 1.0)?;
        range("ratio", self.ratio, f64::MAX)
    }

    /// Draws a box for an image of `rows` × `columns`.
    ///
    /// # Errors
    /// As [`CropLaw::validate`]; an image without pixels.
    pub fn draw(&self, rows: usize, columns: usize, generator: &mut Generator) -> Result<CropBox> {
        self.validate()?;
        fits(rows, columns, 1, 1)?;
        let area = rows as f64 * columns as f64;
        let (log_low, log_high) = (self.ratio.0.ln(), self.ratio.1.ln());
        for _ in 0..ATTEMPTS {
            let target = area * generator.random_range(self.scale.0..=self.scale.1);
            let ratio = generator.random_range(log_low..=log_high).exp();
            let width = (target * ratio).sqrt().round_ties_even() as usize;
            let height = (target / ratio).sqrt().round_ties_even() as usize;
            if (1..=columns).contains(&width) && (1..=rows).contains(&height) {
                return CropBox::uniform(rows, columns, height, width, generator);
            }
        }
        let ratio = columns as f64 / rows as f64;
        let (height, width) = match ratio {
            _ if ratio < self.ratio.0 => ((columns as f64 / self.ratio.0).round_ties_even() as usize, columns),
            _ if ratio > self.ratio.1 => (rows, (rows as f64 * self.ratio.1).round_ties_even() as usize),
            _ => (rows, columns),
        };
        let (height, width) = (height.clamp(1, rows), width.clamp(1, columns));
        // Cut off, not rounded: here torchvision divides whole numbers.
        Ok(CropBox { top: (rows - height) / 2, left: (columns - width) / 2, height, width })
    }
}

/// Cuts out a box.
///
/// # Errors
/// [`Error::Invalid`](attnlab_core::Error::Invalid) for a box that is not inside the image, or without pixels.
pub fn crop(image: &Image, place: CropBox) -> Result<Image> {
    let (_, rows, columns) = image.dim();
    let CropBox { top, left, height, width } = place;
    fits(rows.saturating_sub(top), columns.saturating_sub(left), height, width)?;
    let part = s![.., top..top + height, left..left + width];
    match image.pixels() {
        Pixels::Bytes(pixels) => Image::from_bytes(pixels.slice(part).to_owned()),
        Pixels::Floats(pixels) => Image::from_floats(pixels.slice(part).to_owned()),
    }
}

/// Adds `margin` black pixels (0) on every side.
///
/// # Errors
/// [`Error::Invalid`](attnlab_core::Error::Invalid) for a result of more than [`MAX_PIXELS`](crate::MAX_PIXELS).
pub fn pad(image: &Image, margin: usize) -> Result<Image> {
    let (_, rows, columns) = image.dim();
    let wider = |side: usize| side.saturating_add(margin.saturating_mul(2));
    check_size(wider(rows), wider(columns))?;
    match image.pixels() {
        Pixels::Bytes(pixels) => Image::from_bytes(framed(pixels.view(), margin)),
        Pixels::Floats(pixels) => Image::from_floats(framed(pixels.view(), margin)),
    }
}

fn framed<T: Copy + Default>(pixels: ArrayView3<T>, margin: usize) -> Array3<T> {
    let (channels, rows, columns) = pixels.dim();
    let mut made = Array3::default((channels, rows + 2 * margin, columns + 2 * margin));
    made.slice_mut(s![.., margin..margin + rows, margin..margin + columns]).assign(&pixels);
    made
}

/// Mirrors left and right.
pub fn flip(image: &Image) -> Image {
    let mirrored = s![.., .., ..;-1];
    Image::from_pixels(match image.pixels() {
        Pixels::Bytes(pixels) => Pixels::Bytes(pixels.slice(mirrored).as_standard_layout().into_owned()),
        Pixels::Floats(pixels) => Pixels::Floats(pixels.slice(mirrored).as_standard_layout().into_owned()),
    })
}

fn fits(rows: usize, columns: usize, height: usize, width: usize) -> Result<()> {
    let inside = (1..=rows).contains(&height) && (1..=columns).contains(&width);
    let requirement =
        format!("must be from 1 x 1 to {rows} x {columns}, inside the image. Resize or pad the image before");
    require(inside, "crop", format!("{height} x {width}"), requirement)
}
