//! Chains of transforms.

use super::check_size;
use super::crop::{CropBox, CropLaw, crop, flip, pad};
use super::normalise::{self, normalise};
use super::randaugment::RandAugment;
use super::resize::{Resampling, resize};
use crate::image::Image;
use attnlab_core::error::{Result, require};
use attnlab_core::rng::{Generator, Streams};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Transform of an image, fixed or random.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "transform", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Transform {
    /// Conversion to one channel.
    Grey,
    /// Conversion to three channels.
    Rgb,
    /// Resizing to a size.
    Resize {
        /// Rows of the result.
        height: usize,
        /// Columns of the result.
        width: usize,
        /// The filter.
        filter: Resampling,
    },
    /// Resizing of the shorter side to `side`; the longer keeps its ratio, cut off to a whole number.
    ResizeShorter {
        /// Shorter side of the result (pixels).
        side: usize,
        /// The filter.
        filter: Resampling,
    },
    /// The middle of the image.
    CentreCrop {
        /// Rows of the result.
        height: usize,
        /// Columns of the result.
        width: usize,
    },
    /// A uniform crop after padding with black.
    RandomCrop {
        /// Rows of the result.
        height: usize,
        /// Columns of the result.
        width: usize,
        /// Pixels that are added on every side.
        margin: usize,
    },
    /// A crop of random size and ratio, resized.
    RandomResizedCrop {
        /// Rows of the result.
        height: usize,
        /// Columns of the result.
        width: usize,
        /// Law of the box.
        law: CropLaw,
        /// The filter.
        filter: Resampling,
    },
    /// Mirrors left and right with a probability.
    RandomFlip {
        /// The probability.
        probability: f64,
    },
    /// RandAugment.
    RandAugment(RandAugment),
    /// Normalisation of channels; the result has real intensities.
    Normalise {
        /// Means of the channels, of intensities in [0, 1].
        means: Vec<f32>,
        /// Standard deviations of the channels.
        deviations: Vec<f32>,
    },
}

impl Transform {
    /// Refuses settings that fit no image, before any is read.
    ///
    /// # Errors
    /// [`Error::Invalid`](attnlab_core::Error::Invalid) with the setting and its range.
    pub fn validate(&self) -> Result<()> {
        match self {
            Transform::Grey | Transform::Rgb => Ok(()),
            Transform::Resize { height, width, .. }
            | Transform::CentreCrop { height, width }
            | Transform::RandomCrop { height, width, .. } => check_size(*height, *width),
            Transform::ResizeShorter { side, .. } => check_size(*side, *side),
            Transform::RandomResizedCrop { height, width, law, .. } => {
                check_size(*height, *width).and_then(|()| law.validate())
            }
            Transform::RandomFlip { probability } => check_probability(*probability),
            Transform::RandAugment(settings) => settings.validate(),
            Transform::Normalise { means, deviations } => normalise::validate(means, deviations),
        }
    }

    /// Applies the transform; a fixed one draws nothing.
    ///
    /// # Errors
    /// As the function of the transform, and [`Transform::validate`] for a probability outside [0, 1].
    pub fn apply(&self, image: &Image, generator: &mut Generator) -> Result<Image> {
        let (_, rows, columns) = image.dim();
        match self {
            Transform::Grey => Ok(image.to_grey()),
            Transform::Rgb => Ok(image.to_rgb()),
            Transform::Resize { height, width, filter } => resize(image, *height, *width, *filter),
            Transform::ResizeShorter { side, filter } => {
                let shorter = rows.min(columns).max(1) as u128;
                // The shorter side becomes `side` exactly.
                let scaled =
                    |long: usize| usize::try_from(*side as u128 * long as u128 / shorter).unwrap_or(usize::MAX);
                resize(image, scaled(rows), scaled(columns), *filter)
            }
            Transform::CentreCrop { height, width } => crop(image, CropBox::centred(rows, columns, *height, *width)?),
            Transform::RandomCrop { height, width, margin } => {
                let padded = pad(image, *margin)?;
                let (_, rows, columns) = padded.dim();
                crop(&padded, CropBox::uniform(rows, columns, *height, *width, generator)?)
            }
            Transform::RandomResizedCrop { height, width, law, filter } => {
                resize(&crop(image, law.draw(rows, columns, generator)?)?, *height, *width, *filter)
            }
            Transform::RandomFlip { probability } => {
                check_probability(*probability)?;
                Ok(if generator.random::<f64>() < *probability { flip(image) } else { image.clone() })
            }
            Transform::RandAugment(settings) => settings.apply(image, generator),
            Transform::Normalise { means, deviations } => normalise(image, means, deviations),
        }
    }
}

/// Transforms that are applied one after the other.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Augmentation {
    /// The transforms, the first first.
    pub transforms: Vec<Transform>,
}

impl Augmentation {
    /// Refuses settings that fit no image, before any is read.
    ///
    /// # Errors
    /// As [`Transform::validate`].
    pub fn validate(&self) -> Result<()> {
        self.transforms.iter().try_for_each(Transform::validate)
    }

    /// Returns the usual chain for the training on images of `side` × `side`: crop after padding, flip, normalisation.
    pub fn small_images(side: usize, margin: usize, means: &[f32], deviations: &[f32]) -> Self {
        let crop = Transform::RandomCrop { height: side, width: side, margin };
        let flip = Transform::RandomFlip { probability: 0.5 };
        Augmentation { transforms: vec![crop, flip, normalisation(means, deviations)] }
    }

    /// Returns the usual chain for the training on photographs: random resized crop to `side` × `side`, flip,
    /// RandAugment, normalisation.
    pub fn photographs(side: usize, augment: RandAugment, means: &[f32], deviations: &[f32]) -> Self {
        let (law, filter) = (CropLaw::default(), Resampling::Bilinear);
        let crop = Transform::RandomResizedCrop { height: side, width: side, law, filter };
        let flip = Transform::RandomFlip { probability: 0.5 };
        let augment = Transform::RandAugment(augment);
        Augmentation { transforms: vec![crop, flip, augment, normalisation(means, deviations)] }
    }

    /// Returns the usual chain for evaluation: the shorter side to `resized`, the middle `side` × `side`, normalisation.
    pub fn evaluation(resized: usize, side: usize, means: &[f32], deviations: &[f32]) -> Self {
        let shorter = Transform::ResizeShorter { side: resized, filter: Resampling::Bilinear };
        let centre = Transform::CentreCrop { height: side, width: side };
        Augmentation { transforms: vec![shorter, centre, normalisation(means, deviations)] }
    }

    /// Applies the chain to image number `index` in an epoch. What is drawn depends on `streams`, `epoch`, `index` and the
    /// place of a transform in the chain alone, so that images may be made in any order, by any number of threads.
    ///
    /// # Errors
    /// As [`Transform::apply`].
    pub fn apply(&self, image: &Image, streams: &Streams, epoch: u64, index: u64) -> Result<Image> {
        let streams = streams.child("epoch", epoch).child("image", index);
        let mut made = image.clone();
        for (place, transform) in self.transforms.iter().enumerate() {
            made = transform.apply(&made, &mut streams.part("transform", place as u64))?;
        }
        Ok(made)
    }
}

fn normalisation(means: &[f32], deviations: &[f32]) -> Transform {
    Transform::Normalise { means: means.to_vec(), deviations: deviations.to_vec() }
}

fn check_probability(probability: f64) -> Result<()> {
    require((0.0..=1.0).contains(&probability), "probability", probability, "must be a number in [0, 1]")
}
