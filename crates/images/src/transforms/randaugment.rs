//! RandAugment (Cubuk, Zoph, Shlens, Le 2020): a few operations, drawn uniformly among 14, all of one magnitude.
//!
//! The magnitudes are torchvision's (`RandAugment`): of 31 steps from 0 to 30 each operation has its range. Here they
//! are computed in f64, there in f32; a table of an operation may thus differ where a product is within rounding of a
//! whole number, which none of the 31 magnitudes of solarise and posterise is. timm has other ranges under the same name.

use super::affine::{rotate, shear_x, shear_y, translate};
use super::colour::{brightness, colour, contrast, sharpness};
use super::tables::{auto_contrast, equalise, posterise, solarise};
use crate::image::Image;
use attnlab_core::error::{Result, require};
use attnlab_core::rng::Generator;
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Operation of [`RandAugment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AugmentOperation {
    /// Nothing.
    Identity,
    /// [`shear_x`], slope up to 0.3.
    ShearX,
    /// [`shear_y`], slope up to 0.3.
    ShearY,
    /// [`translate`] along a row, up to 150/331 of the width, cut off to whole pixels.
    TranslateX,
    /// [`translate`] along a column, up to 150/331 of the height, cut off to whole pixels.
    TranslateY,
    /// [`rotate`], up to 30 degrees.
    Rotate,
    /// [`brightness`], factor 1 ± 0.9.
    Brightness,
    /// [`colour`], factor 1 ± 0.9.
    Colour,
    /// [`contrast`], factor 1 ± 0.9.
    Contrast,
    /// [`sharpness`], factor 1 ± 0.9.
    Sharpness,
    /// [`posterise`], 8 to 4 bits.
    Posterise,
    /// [`solarise`], threshold 255 to 0.
    Solarise,
    /// [`auto_contrast`].
    AutoContrast,
    /// [`equalise`].
    Equalise,
}

// In torchvision's order.
attnlab_core::named!(
    AugmentOperation, "operation":
    Identity = "identity", ShearX = "shear_x", ShearY = "shear_y", TranslateX = "translate_x",
    TranslateY = "translate_y", Rotate = "rotate", Brightness = "brightness", Colour = "colour", Contrast = "contrast",
    Sharpness = "sharpness", Posterise = "posterise", Solarise = "solarise", AutoContrast = "auto_contrast",
    Equalise = "equalise"
);

impl AugmentOperation {
    /// Returns `true` if the effect has two directions, of which one is drawn.
    pub fn is_signed(self) -> bool {
        use AugmentOperation::*;
        matches!(self, ShearX | ShearY | TranslateX | TranslateY | Rotate | Brightness | Colour | Contrast | Sharpness)
    }

    /// Applies the operation with a magnitude from 0 to [`RandAugment::MOST`], in the other direction if `negative`.
    ///
    /// # Errors
    /// [`Error::Invalid`](attnlab_core::Error::Invalid) for real intensities, or another magnitude.
    pub fn apply(self, image: &Image, magnitude: u32, negative: bool, fill: u8) -> Result<Image> {
        check_magnitude(magnitude)?;
        let (_, rows, columns) = image.dim();
        let share = f64::from(magnitude) / f64::from(RandAugment::MOST);
        let sign = if negative { -1.0 } else { 1.0 };
        let slope = sign * 0.3 * share;
        let factor = 1.0 + sign * 0.9 * share;
        let shift = |side: usize| (sign * share * (150.0 / 331.0 * side as f64)) as i32;
        match self {
            AugmentOperation::Identity => image.levels().map(|_| image.clone()),
            AugmentOperation::ShearX => shear_x(image, slope, fill),
            AugmentOperation::ShearY => shear_y(image, slope, fill),
            AugmentOperation::TranslateX => translate(image, shift(columns), 0, fill),
            AugmentOperation::TranslateY => translate(image, 0, shift(rows), fill),
            AugmentOperation::Rotate => rotate(image, sign * 30.0 * share, fill),
            AugmentOperation::Brightness => brightness(image, factor),
            AugmentOperation::Colour => colour(image, factor),
            AugmentOperation::Contrast => contrast(image, factor),
            AugmentOperation::Sharpness => sharpness(image, factor),
            AugmentOperation::Posterise => posterise(image, 8 - (4.0 * share).round_ties_even() as u32),
            AugmentOperation::Solarise => solarise(image, 255.0 * (1.0 - share)),
            AugmentOperation::AutoContrast => auto_contrast(image),
            AugmentOperation::Equalise => equalise(image),
        }
    }
}

/// Settings of RandAugment. It is for images of levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandAugment {
    /// N, number of operations, one after the other; 2 in torchvision.
    pub operations: usize,
    /// M, magnitude of all, from 0 to [`RandAugment::MOST`]; 9 in torchvision.
    pub magnitude: u32,
    /// Level of pixels from outside the image.
    pub fill: u8,
}

impl RandAugment {
    /// Largest magnitude.
    pub const MOST: u32 = 30;

    /// Refuses a magnitude above [`RandAugment::MOST`].
    ///
    /// # Errors
    /// [`Error::Invalid`](attnlab_core::Error::Invalid).
    pub fn validate(&self) -> Result<()> {
        check_magnitude(self.magnitude)
    }

    /// Draws operations and signs, and applies them.
    ///
    /// # Errors
    /// As [`AugmentOperation::apply`].
    pub fn apply(&self, image: &Image, generator: &mut Generator) -> Result<Image> {
        self.validate()?;
        let mut made = image.clone();
        for _ in 0..self.operations {
            let operation = AugmentOperation::ALL[generator.random_range(0..AugmentOperation::ALL.len())];
            let negative = operation.is_signed() && generator.random_range(0..2) == 1;
            made = operation.apply(&made, self.magnitude, negative, self.fill)?;
        }
        Ok(made)
    }
}

fn check_magnitude(magnitude: u32) -> Result<()> {
    let requirement = format!("must be a whole number from 0 to {}", RandAugment::MOST);
    require(magnitude <= RandAugment::MOST, "magnitude", magnitude, requirement)
}
