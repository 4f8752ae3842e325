//! Images: the class of an image from its patches.

use super::steps::{Batch, TrainingTask};
use crate::model::{Model, Output, RecordedActivation, Recording, Tensor, read};
use attnlab_core::error::{Error, Result};
use attnlab_core::rng::{Streams, hash};
use attnlab_images::patches::PatchOrder;
use attnlab_images::targets::{mix_up_weight, smoothed_label};
use attnlab_images::transforms::Augmentation;
use attnlab_images::{ImageBatch, ImageBatches, LabelledImages};
use burn::tensor::activation;
use ndarray::{Array2, Array3, Axis};
use serde_json::{Value, json};

/// Images whose scores are computed at a time when a network is judged.
const JUDGED: usize = 64;

/// Training on labelled images: the cross-entropy of the class, which the network reads from the class token.
///
/// Every epoch has an order of its own. An image of a step, its augmentation and its partner in mix-up are functions of
/// the streams and of its number since the start of training ([`ImageBatches`]), so that threads, parts of a batch, a kill
/// and a resume change nothing.
pub struct ImageTask<'a> {
    /// Images to train on.
    pub training: &'a dyn LabelledImages,
    /// Images that are watched during training; None for none.
    pub validation: Option<&'a dyn LabelledImages>,
    /// Transforms of a training image; they end in real intensities of one size.
    pub augmentation: Augmentation,
    /// Form in which images enter the network.
    pub view: ImageView,
    /// ε of label smoothing.
    pub smoothing: f64,
    /// α of mix-up; 0: none.
    pub mix_up: f64,
    /// Checksum of the network that the training begins with; None for one that was drawn. A resume from another is refused.
    pub start: Option<String>,
}

/// Form in which images enter a network.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageView {
    /// Transforms without chance.
    pub transforms: Augmentation,
    /// p, side of a patch (pixels).
    pub patch: usize,
    /// Order of the numbers inside a patch.
    pub order: PatchOrder,
}

/// Findings of a network on images.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Class with the largest score, per image.
    pub predictions: Vec<usize>,
    /// Cross-entropy of the true class (nats), per image.
    pub losses: Vec<f64>,
}

impl ImageView {
    /// Reads images by their indices as tokens. Nothing is drawn.
    fn tokens(&self, images: &dyn LabelledImages, indices: &[usize]) -> Result<ImageBatch> {
        self.batches(images, &self.transforms).chosen(&Streams::new(0, "view", 0, 0), indices)
    }

    fn batches<'a>(&self, images: &'a dyn LabelledImages, augmentation: &'a Augmentation) -> ImageBatches<'a> {
        ImageBatches { images, augmentation, patch: self.patch, order: self.order }
    }

    /// Computes predictions and losses of images, by their indices.
    ///
    /// # Errors
    /// An image that cannot be read; a network that does not fit.
    pub fn judge(&self, model: &Model, images: &dyn LabelledImages, indices: &[usize]) -> Result<Judged> {
        let model = model.frozen();
        let classes = classes(&model)?;
        let mut judged = Judged { predictions: vec![], losses: vec![] };
        for part in indices.chunks(JUDGED) {
            let batch = self.tokens(images, part)?;
            let log = read(&activation::log_softmax(scores(&model, batch.tokens, &mut Recording::default())?, 1))?;
            for (label, log) in batch.labels.into_iter().zip(log.chunks_exact(classes)) {
                let best = log.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
                judged.predictions.push(best.map_or(0, |(class, _)| class));
                let requirement = || format!("must be more than {label}, a label of the images");
                let log_p = log.get(label).ok_or_else(|| Error::invalid("classes", classes, requirement()))?;
                judged.losses.push(-log_p);
            }
        }
        Ok(judged)
    }

    /// Computes what the class token takes of every patch: per block a matrix (K, N) of weights, patches in raster
    /// order. A row lacks what the class token takes of itself.
    ///
    /// # Errors
    /// As [`ImageView::judge`].
    pub fn class_attention(
        &self,
        model: &Model,
        images: &dyn LabelledImages,
        index: usize,
    ) -> Result<Vec<Array2<f64>>> {
        let mut recording = Recording::keeping([".weights"]);
        scores(&model.frozen(), self.tokens(images, &[index])?.tokens, &mut recording)?;
        let of_block = |weights: &RecordedActivation| {
            let [_, heads, queries, keys] = weights.shape[..] else {
                return Err(Error::shape(weights.name.as_str(), &weights.shape, "(batch, heads, queries, keys)"));
            };
            let weight = |(head, patch)| weights.values[head * queries * keys + patch + 1];
            Ok(Array2::from_shape_fn((heads, keys - 1), weight))
        };
        recording.activations().iter().map(of_block).collect()
    }
}

fn classes(model: &Model) -> Result<usize> {
    match model.config().output {
        Output::Classes { count } => Ok(count),
        other => {
            let requirement = "must be classes; a network of images has a score per class";
            Err(Error::invalid("output", format!("{other:?}"), requirement))
        }
    }
}

/// Computes the scores (batch, classes) of tokens (batch, patches, C p²).
///
/// # Errors
/// A network that does not take them.
pub fn scores(model: &Model, tokens: Array3<f32>, recording: &mut Recording) -> Result<Tensor<2>> {
    let (batch, n, dim) = tokens.dim();
    let tokens = model.device().tensor(tokens.iter().map(|x| f64::from(*x)).collect(), [batch, n, dim]);
    let outputs = model.forward(tokens, recording)?;
    let [batch, _, classes] = outputs.dims();
    Ok(outputs.reshape([batch, classes]))
}

impl ImageTask<'_> {
    /// Makes the images of a batch, tokens (count, patches, C p²), with their targets (count, classes).
    fn examples(&self, batch: &Batch, classes: usize) -> Result<(Array3<f32>, Array2<f64>)> {
        let batches = self.view.batches(self.training, &self.augmentation);
        let made = |streams: &Streams| {
            let images = batches.training(streams, batch.first, batch.count)?;
            let mut targets = Array2::zeros((batch.count, classes));
            for (mut row, label) in targets.outer_iter_mut().zip(&images.labels) {
                row.assign(&ndarray::ArrayView1::from(&smoothed_label(*label, classes, self.smoothing)?));
            }
            Ok::<_, Error>((images.tokens, targets))
        };
        let (mut tokens, mut targets) = made(&batch.streams)?;
        if self.mix_up == 0.0 {
            return Ok((tokens, targets));
        }
        // The partner of an image is that of the same number in a second order. Patches are linear in the image.
        let (others, other_targets) = made(&batch.streams.child("partner", 0))?;
        for (place, i) in (batch.first..).take(batch.count).enumerate() {
            let weight = mix_up_weight(self.mix_up, &mut batch.streams.part("mix-up", i))?;
            let (first_share, second_share) = (weight as f32, (1.0 - weight) as f32);
            let mut mixed = tokens.index_axis_mut(Axis(0), place);
            mixed.zip_mut_with(&others.index_axis(Axis(0), place), |x, y| *x = first_share * *x + second_share * y);
            let mut mixed = targets.row_mut(place);
            mixed.zip_mut_with(&other_targets.row(place), |x, y| {
                *x = weight * *x + (1.0 - weight) * y;
            });
        }
        Ok((tokens, targets))
    }
}

impl TrainingTask for ImageTask<'_> {
    fn loss(&self, model: &Model, batch: &Batch) -> Result<Tensor<1>> {
        let classes = classes(model)?;
        let (tokens, targets) = self.examples(batch, classes)?;
        let targets = model.device().tensor(targets.into_raw_vec_and_offset().0, [batch.count, classes]);
        let log = activation::log_softmax(scores(model, tokens, &mut Recording::default())?, 1);
        Ok((log * targets).sum().mul_scalar(-1.0 / batch.count as f64))
    }

    fn held_out(&self, model: &Model) -> Result<Option<f64>> {
        let Some(images) = self.validation else { return Ok(None) };
        let indices: Vec<usize> = (0..images.count()).collect();
        let losses = self.view.judge(model, images, &indices)?.losses;
        Ok(Some(losses.iter().sum::<f64>() / losses.len() as f64))
    }

    fn settings(&self) -> Value {
        let labels = self.training.labels().iter();
        let bytes: Vec<u8> = labels.flat_map(|l| (*l as u64).to_le_bytes()).collect();
        json!({
            "images": self.training.count(), "watched": self.validation.map_or(0, LabelledImages::count),
            "labels": format!("{:016x}", hash(&bytes)), "augmentation": self.augmentation,
            "transforms": self.view.transforms, "patch": self.view.patch, "order": self.view.order,
            "smoothing": self.smoothing, "mix_up": self.mix_up, "start": self.start,
        })
    }
}
