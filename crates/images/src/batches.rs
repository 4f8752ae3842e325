//! Batches of patches with their labels, as a training takes them.

use crate::dataset::LabelledImages;
use crate::patches::{PatchOrder, patches};
use crate::split::epoch_order;
use crate::transforms::Augmentation;
use attnlab_core::error::{Error, Result, require};
use attnlab_core::rng::Streams;
use ndarray::{Array2, Array3, Axis};
use rayon::prelude::*;

/// Images of a training, in the order in which it sees them: epoch after epoch, each in an order of its own. Sequence i is
/// a pure function of streams and i, so that a training can begin anywhere and use any number of threads.
pub struct ImageBatches<'a> {
    /// Images to train on.
    pub images: &'a dyn LabelledImages,
    /// Transforms of every image; its results must have one size.
    pub augmentation: &'a Augmentation,
    /// p, side of a patch (pixels).
    pub patch: usize,
    /// Order of the numbers inside a patch.
    pub order: PatchOrder,
}

/// Tokens and labels of some images.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageBatch {
    /// (images, N, C p²): each image is the transpose of [`patches`], since networks take tokens as rows.
    pub tokens: Array3<f32>,
    /// Labels of the images.
    pub labels: Vec<usize>,
}

impl ImageBatches<'_> {
    /// Returns the sequences `first` to `first + count` − 1 since the start of a training, augmented, made in parallel.
    /// The order of an epoch is drawn anew at each call, in time proportional to the number of images.
    ///
    /// # Errors
    /// An image that cannot be read, transformed or cut into patches; [`Error::Shape`] for results of different sizes;
    /// [`Error::Invalid`] for a data set without images, or count = 0.
    pub fn training(&self, streams: &Streams, first: u64, count: usize) -> Result<ImageBatch> {
        let images = self.images.count() as u64;
        require(images > 0, "images", images, "must be at least one")?;
        require(count > 0, "count", count, "must be a whole number >= 1")?;
        let mut order = (u64::MAX, vec![]);
        let place = |i: u64| {
            let epoch = i / images;
            if order.0 != epoch {
                order = (epoch, epoch_order(self.images.count(), streams, epoch));
            }
            (epoch, order.1[(i % images) as usize])
        };
        let places: Vec<(u64, usize)> = (first..first.saturating_add(count as u64)).map(place).collect();
        self.batch(streams, &places)
    }

    /// Returns some images by their indices, as in epoch 0: for evaluation, with transforms that draw nothing.
    ///
    /// # Errors
    /// As [`ImageBatches::training`]; an index out of range.
    pub fn chosen(&self, streams: &Streams, indices: &[usize]) -> Result<ImageBatch> {
        let places: Vec<(u64, usize)> = indices.iter().map(|index| (0, *index)).collect();
        self.batch(streams, &places)
    }

    fn batch(&self, streams: &Streams, places: &[(u64, usize)]) -> Result<ImageBatch> {
        let make = |(epoch, index): &(u64, usize)| self.tokens(streams, *epoch, *index);
        let made: Vec<Array2<f32>> = places.par_iter().map(make).collect::<Result<_>>()?;
        let first = made.first().ok_or_else(|| Error::invalid("images", 0, "must be at least one"))?;
        let (length, tokens) = first.dim();
        let mut batch = Array3::zeros((made.len(), tokens, length));
        for ((mut to, from), (_, index)) in batch.axis_iter_mut(Axis(0)).zip(&made).zip(places) {
            if from.dim() != first.dim() {
                let expected = format!("{:?}, as the first. End the transforms with a size", first.dim());
                return Err(Error::shape(format!("patches of image {index}"), from.dim(), expected));
            }
            to.assign(&from.t());
        }
        Ok(ImageBatch { tokens: batch, labels: places.iter().map(|(_, index)| self.images.labels()[*index]).collect() })
    }

    fn tokens(&self, streams: &Streams, epoch: u64, index: usize) -> Result<Array2<f32>> {
        let image = self.augmentation.apply(&self.images.image(index)?, streams, epoch, index as u64)?;
        patches(image.intensities().view(), self.patch, self.order)
    }
}
