//! Images: the class of an image from its patches.

use super::steps::{Batch, TrainingTask};
use crate::model::{ComputeDevice, Model, Output, Recording, Tensor, read};
use attnlab_core::error::{Error, Result};
use attnlab_core::rng::{Streams, hash};
use attnlab_images::patches::{PatchOrder, patches};
use attnlab_images::split::epoch_order;
use attnlab_images::targets::{mix_up, mix_up_weight, smoothed_label};
use attnlab_images::transforms::Augmentation;
use attnlab_images::{Image, LabelledImages};
use burn::tensor::activation;
use ndarray::Array2;
use rand::RngExt;
use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Images whose scores are computed at a time when a network is judged.
const JUDGED: usize = 64;

/// Training on labelled images: the cross-entropy of the class, which the network reads from the class token.
///
/// Every epoch has an order of its own. An image of a step, its augmentation and its partner in mix-up are functions of
/// the streams and of its number since the start of training, so that threads, parts of a batch, a kill and a resume
/// change nothing.
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
    /// Reads and transforms an image.
    fn image(&self, images: &dyn LabelledImages, index: usize) -> Result<Image> {
        let image = images.image(index)?;
        // Nothing is drawn.
        self.transforms
            .apply(&image, &Streams::new(0, "view", 0, 0), 0, 0)
    }

    /// Writes images as tokens (batch, patches, C p²).
    ///
    /// # Errors
    /// No image; images of different sizes, or of one that patches do not divide.
    pub fn tokens(&self, device: &ComputeDevice, images: &[Image]) -> Result<Tensor<3>> {
        let cut = images.par_iter().map(|image| {
            let columns = patches(image.intensities().view(), self.patch, self.order)?;
            Ok(columns.reversed_axes())
        });
        let cut: Vec<Array2<f32>> = cut.collect::<Result<_>>()?;
        let Some(first) = cut.first() else {
            return Err(Error::invalid("images", 0, "must be a whole number >= 1"));
        };
        let (n, dim) = first.dim();
        let mut values = Vec::with_capacity(images.len() * n * dim);
        for (i, rows) in cut.iter().enumerate() {
            if rows.dim() != (n, dim) {
                let expected = format!("{:?}, as the first image", images[0].dim());
                return Err(Error::shape(
                    format!("image {i}"),
                    images[i].dim(),
                    expected,
                ));
            }
            values.extend(rows.iter().map(|x| f64::from(*x)));
        }
        Ok(device.tensor(values, [images.len(), n, dim]))
    }

    /// Computes predictions and losses of images, by their indices.
    ///
    /// # Errors
    /// An image that cannot be read; a network that does not fit.
    pub fn judge(
        &self,
        model: &Model,
        images: &dyn LabelledImages,
        indices: &[usize],
    ) -> Result<Judged> {
        let model = model.frozen();
        let classes = classes(&model)?;
        let mut judged = Judged {
            predictions: vec![],
            losses: vec![],
        };
        for part in indices.chunks(JUDGED) {
            let seen = part.par_iter().map(|i| self.image(images, *i));
            let seen: Vec<Image> = seen.collect::<Result<_>>()?;
            let scores = self.scores(&model, &seen, &mut Recording::default())?;
            let log = read(&activation::log_softmax(scores, 1))?;
            for (index, log) in part.iter().zip(log.chunks_exact(classes)) {
                let best = log.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
                judged.predictions.push(best.map_or(0, |(class, _)| class));
                let label = images.labels()[*index];
                let own = log.get(label).ok_or_else(|| too_few(classes, label))?;
                judged.losses.push(-own);
            }
        }
        Ok(judged)
    }

    /// Computes the scores (batch, classes).
    ///
    /// # Errors
    /// As [`ImageView::tokens`]; a network that does not take them.
    pub fn scores(
        &self,
        model: &Model,
        images: &[Image],
        recording: &mut Recording,
    ) -> Result<Tensor<2>> {
        let outputs = model.forward(self.tokens(model.device(), images)?, recording)?;
        let [batch, _, classes] = outputs.dims();
        Ok(outputs.reshape([batch, classes]))
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
        let image = self.image(images, index)?;
        self.scores(&model.frozen(), &[image], &mut recording)?;
        let of_block = |found: &crate::model::RecordedActivation| {
            let [_, heads, queries, keys] = found.shape[..] else {
                let expected = "(batch, heads, queries, keys)";
                return Err(Error::shape(found.name.as_str(), &found.shape, expected));
            };
            let weight = |(head, patch)| found.values[head * queries * keys + patch + 1];
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

fn too_few(classes: usize, label: usize) -> Error {
    let requirement = format!("must be more than {label}, a label of the images");
    Error::invalid("classes", classes, requirement)
}

impl ImageTask<'_> {
    /// Makes image number `i` since the start of training, with its target.
    fn example(
        &self,
        i: u64,
        orders: &BTreeMap<u64, Vec<usize>>,
        classes: usize,
        streams: &Streams,
    ) -> Result<(Image, Vec<f64>)> {
        let n = self.training.count() as u64;
        let (epoch, place) = (i / n, (i % n) as usize);
        let index = orders.get(&epoch).and_then(|order| order.get(place));
        let index = index.copied().unwrap_or_default();
        let made = |index: usize, streams: &Streams| {
            let image = self.training.image(index)?;
            let image = self
                .augmentation
                .apply(&image, streams, epoch, index as u64)?;
            let label = self.training.labels()[index];
            Ok::<_, Error>((image, smoothed_label(label, classes, self.smoothing)?))
        };
        let (image, target) = made(index, streams)?;
        if self.mix_up == 0.0 {
            return Ok((image, target));
        }
        let mut rng = streams.part("mix-up", i);
        let weight = mix_up_weight(self.mix_up, &mut rng)?;
        let partner = rng.random_range(0..n) as usize;
        let (other, others) = made(partner, &streams.child("partner", i))?;
        mix_up((&image, &target), (&other, &others), weight)
    }
}

impl TrainingTask for ImageTask<'_> {
    fn loss(&self, model: &Model, batch: &Batch) -> Result<Tensor<1>> {
        let (n, classes) = (self.training.count() as u64, classes(model)?);
        let numbers: Vec<u64> = (batch.first..batch.first + batch.count as u64).collect();
        let orders: BTreeMap<u64, Vec<usize>> = (batch.first / n
            ..=(batch.first + batch.count as u64 - 1) / n)
            .map(|epoch| (epoch, epoch_order(n as usize, &batch.streams, epoch)))
            .collect();
        let made = numbers
            .par_iter()
            .map(|i| self.example(*i, &orders, classes, &batch.streams));
        let made: Vec<(Image, Vec<f64>)> = made.collect::<Result<_>>()?;
        let (images, targets): (Vec<Image>, Vec<Vec<f64>>) = made.into_iter().unzip();
        let targets = model
            .device()
            .tensor(targets.concat(), [numbers.len(), classes]);
        let scores = self
            .view
            .scores(model, &images, &mut Recording::default())?;
        let log = activation::log_softmax(scores, 1);
        Ok((log * targets)
            .sum()
            .mul_scalar(-1.0 / numbers.len() as f64))
    }

    fn held_out(&self, model: &Model) -> Result<Option<f64>> {
        let Some(images) = self.validation else {
            return Ok(None);
        };
        let all: Vec<usize> = (0..images.count()).collect();
        let losses = self.view.judge(model, images, &all)?.losses;
        Ok(Some(losses.iter().sum::<f64>() / losses.len() as f64))
    }

    fn settings(&self) -> Value {
        let labels = self.training.labels().iter();
        let bytes: Vec<u8> = labels.flat_map(|l| (*l as u64).to_le_bytes()).collect();
        json!({
            "images": self.training.count(),
            "watched": self.validation.map_or(0, LabelledImages::count),
            "labels": format!("{:016x}", hash(&bytes)),
            "augmentation": format!("{:?}", self.augmentation),
            "view": format!("{:?}", self.view),
            "smoothing": self.smoothing,
            "mix_up": self.mix_up,
        })
    }
}
