//! An image in memory.

use attnlab_core::error::{Error, Result, require_shape};
use ndarray::{Array3, ArrayView3, Axis, Zip};

/// Numbers of an image, each array of shape (channels, height, width).
#[derive(Clone, Debug, PartialEq)]
pub enum Pixels {
    /// Levels from 0 (black) to 255 (white).
    Bytes(Array3<u8>),
    /// Real intensities, in the unit of their source; finite.
    Floats(Array3<f32>),
}

/// Grey or RGB image. Rows run from top to bottom, columns from left to right.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    pixels: Pixels,
}

impl Image {
    /// Makes an image of levels (channels, height, width).
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are 1 or 3 channels and at least one pixel.
    pub fn from_bytes(pixels: Array3<u8>) -> Result<Self> {
        check_shape(pixels.dim())?;
        Ok(Image { pixels: Pixels::Bytes(pixels.as_standard_layout().into_owned()) })
    }

    /// Makes an image of real intensities (channels, height, width).
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are 1 or 3 channels and at least one pixel; [`Error::Invalid`] for a number that
    /// is NaN or infinite.
    pub fn from_floats(pixels: Array3<f32>) -> Result<Self> {
        check_shape(pixels.dim())?;
        if let Some(((c, y, x), value)) = pixels.indexed_iter().find(|(_, x)| !x.is_finite()) {
            return Err(Error::invalid(format!("pixel[{c}, {y}, {x}]"), value, "must be a finite number"));
        }
        Ok(Image { pixels: Pixels::Floats(pixels.as_standard_layout().into_owned()) })
    }

    /// Wraps numbers that were made from those of an image, with 1 or 3 channels, no side of 0, and finite.
    pub(crate) fn from_pixels(pixels: Pixels) -> Self {
        Image { pixels }
    }

    /// Returns the numbers.
    pub fn pixels(&self) -> &Pixels {
        &self.pixels
    }

    /// Returns (channels, height, width).
    pub fn dim(&self) -> (usize, usize, usize) {
        match &self.pixels {
            Pixels::Bytes(pixels) => pixels.dim(),
            Pixels::Floats(pixels) => pixels.dim(),
        }
    }

    /// Returns the levels.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an image of real intensities, which has none.
    pub fn levels(&self) -> Result<ArrayView3<'_, u8>> {
        match &self.pixels {
            Pixels::Bytes(pixels) => Ok(pixels.view()),
            Pixels::Floats(_) => Err(Error::invalid(
                "pixels",
                "real intensities",
                "must be levels from 0 to 255; this operation is defined on them. Put it before the normalisation",
            )),
        }
    }

    /// Returns real intensities: levels divided by 255, so that they lie in [0, 1]; real ones as they are.
    pub fn intensities(&self) -> Array3<f32> {
        match &self.pixels {
            Pixels::Bytes(pixels) => pixels.mapv(|level| f32::from(level) / 255.0),
            Pixels::Floats(pixels) => pixels.clone(),
        }
    }

    /// Converts to one channel, by Pillow's weights (ITU-R 601-2) 0.299 R + 0.587 G + 0.114 B; levels in its 16-bit
    /// arithmetic, rounded to nearest.
    pub fn to_grey(&self) -> Image {
        if self.dim().0 == 1 {
            return self.clone();
        }
        let pixels = match &self.pixels {
            Pixels::Bytes(rgb) => Pixels::Bytes(grey(rgb.view())),
            Pixels::Floats(rgb) => {
                let channel = |c| rgb.index_axis(Axis(0), c);
                let grey = Zip::from(channel(0)).and(channel(1)).and(channel(2));
                Pixels::Floats(grey.map_collect(|r, g, b| 0.299 * r + 0.587 * g + 0.114 * b).insert_axis(Axis(0)))
            }
        };
        Image { pixels }
    }

    /// Converts to three channels; those of a grey image are equal.
    pub fn to_rgb(&self) -> Image {
        if self.dim().0 == 3 {
            return self.clone();
        }
        let pixels = match &self.pixels {
            Pixels::Bytes(grey) => Pixels::Bytes(thrice(grey)),
            Pixels::Floats(grey) => Pixels::Floats(thrice(grey)),
        };
        Image { pixels }
    }
}

/// Computes the grey levels (1, height, width) of an RGB image as Pillow's `convert("L")` does.
pub(crate) fn grey(rgb: ArrayView3<u8>) -> Array3<u8> {
    if rgb.dim().0 == 1 {
        return rgb.to_owned();
    }
    let channel = |c| rgb.index_axis(Axis(0), c);
    let level = |r: &u8, g: &u8, b: &u8| {
        let sum = 19595 * u32::from(*r) + 38470 * u32::from(*g) + 7471 * u32::from(*b);
        // The weights sum to 65536, so the quotient is at most 255.
        ((sum + 0x8000) >> 16) as u8
    };
    Zip::from(channel(0)).and(channel(1)).and(channel(2)).map_collect(level).insert_axis(Axis(0))
}

fn thrice<T: Copy>(grey: &Array3<T>) -> Array3<T> {
    let plane = grey.index_axis(Axis(0), 0);
    let (_, height, width) = grey.dim();
    plane.broadcast((3, height, width)).map_or_else(|| grey.clone(), |three| three.to_owned())
}

fn check_shape((channels, height, width): (usize, usize, usize)) -> Result<()> {
    let fits = matches!(channels, 1 | 3) && height > 0 && width > 0;
    let expected = "(channels, height, width) with 1 or 3 channels and no side of 0";
    require_shape(fits, "image", (channels, height, width), expected)
}
