//! Transforms of images, in the arithmetic of Pillow, on which the published recipes of training rest.
//!
//! Operations on levels give Pillow's levels exactly, [`resize`] included: its fixed-point sums are copied, not
//! approximated. [`Augmentation`] chains transforms; an augmented image is a pure function of streams, epoch and index.

mod affine;
mod augmentation;
mod colour;
mod crop;
mod normalise;
mod randaugment;
mod resize;
mod tables;

pub use affine::{rotate, shear_x, shear_y, translate};
pub use augmentation::{Augmentation, Transform};
pub use colour::{brightness, colour, contrast, sharpness};
pub use crop::{CropBox, CropLaw, crop, flip, pad};
pub use normalise::normalise;
pub use randaugment::{AugmentOperation, RandAugment};
pub use resize::{Resampling, resize};
pub use tables::{auto_contrast, equalise, posterise, solarise};

use crate::MAX_PIXELS;
use attnlab_core::error::{Result, require};

/// Refuses a size without pixels, or with more than [`MAX_PIXELS`].
fn check_size(height: usize, width: usize) -> Result<()> {
    let pixels = (height as u64).saturating_mul(width as u64);
    let requirement = format!("must have from 1 to {MAX_PIXELS} pixels");
    require((1..=MAX_PIXELS).contains(&pixels), "size", format!("{height} x {width}"), requirement)
}
