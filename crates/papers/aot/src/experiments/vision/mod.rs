//! Training on images: the class of an image from its patches, for the vision networks of the AoT papers. Settings:
//! `attnlab run vision --show`.
//!
//! A cell is a network or a baseline; a trial is a training seed. All share the images and their split.

mod data;
mod maps;
mod pictures;
mod start;

pub use data::{AugmentationSettings, ShapeSettings};

use super::VISION as LISTED;
use super::networks::{held_out, history, record_estimate, rows_of_papers, training_memory};
use crate::quantities::*;
use attnlab_images::baselines::{FitSettings, LinearClassifier, NearestNeighbours, top1};
use attnlab_images::{ImageSubset, LabelledImages};
use attnlab_lab::prelude::*;
use attnlab_train::model::{AttentionForm, ComputeDevice, Input, ModelConfig, Output, preset};
use attnlab_train::training::images::ImageTask;
use attnlab_train::training::{Checkpoint, TrainingPlan, TrainingTask, train};
use data::{Data, Viewed};
use ndarray::ArrayView2;

settings! {
    /// Training on images with all its settings.
    #[experiment(LISTED.id, rows = LISTED.name, title = LISTED.title)]
    #[source(LISTED.source.paper, LISTED.source.place)]
    #[trains = true]
    pub struct Vision {
        pub seeds: u64 = spread,
        pub networks: Vec<String> = names,
        pub equal_parameters: bool,
        pub images: String,
        pub masks: String,
        pub start: String,
        pub validation: f64 = within("(0, 1)"),
        pub test: f64 = within("(0, 1)"),
        pub side: usize = whole(1..),
        pub other_sides: Vec<usize>,
        pub grey: bool,
        pub patch: usize = whole(1..),
        pub layers: usize,
        pub width: usize,
        pub heads: usize,
        pub sigma: f64,
        pub smoothing: f64 = within("[0, 1)"),
        pub mix_up: f64,
        pub neighbours: usize = whole(1..),
        pub ridge: f64 = positive,
        pub backend: String,
        pub shapes: ShapeSettings,
        pub augmentation: AugmentationSettings = table,
        pub plan: TrainingPlan = table,
        pub maps: MapSettings = table,
    }
}

settings! {
    /// Heat maps of attention.
    pub struct MapSettings {
        pub images: usize,
        pub judged: usize = whole(1..),
    }
}

/// Networks that take the sizes of the settings, and the row of a paper that each is cut from.
const NETWORKS: [(&str, &str); 4] =
    [("aot-v", "aot-v-16m"), ("aot-v-mhsa", "aot-v-16m"), ("vit", "vit-s"), ("crate", "crate-t")];
/// Baselines.
const LINEAR: &str = "linear";
const NEIGHBOURS: &str = "neighbours";

/// Share of the commonest label: the accuracy of an answer that is always the same.
fn commonest(labels: &[usize], classes: usize) -> f64 {
    let mut counts = vec![0_usize; classes];
    labels.iter().for_each(|label| counts[*label] += 1);
    let most = counts.into_iter().max().unwrap_or(0);
    most as f64 / labels.len().max(1) as f64
}

/// Confidence of the intervals over images.
const LEVEL: f64 = 0.95;

fn cell(name: &str) -> Params {
    Params::from_iter([NETWORK.is(name)])
}

fn is_baseline(name: &str) -> bool {
    [LINEAR, NEIGHBOURS].contains(&name)
}

impl Vision {
    /// A network on images of `channels` channels in `classes` classes.
    fn network(&self, name: &str, channels: usize, classes: usize) -> Result<ModelConfig> {
        let known = NETWORKS.iter().find(|(n, _)| *n == name);
        let sized = match known {
            Some((_, paper)) => {
                let sized = preset(paper)?.resized(self.layers, self.width, self.heads);
                let attention = if name == "aot-v-mhsa" { AttentionForm::Mhsa } else { sized.attention };
                ModelConfig { sigma: self.sigma, attention, ..sized }
            }
            None if of_papers().any(|row| row == name) => preset(name)?,
            None => {
                let known = NETWORKS.iter().map(|(name, _)| *name).chain([LINEAR, NEIGHBOURS]).chain(of_papers());
                return Err(Error::unknown("network", name, known));
            }
        };
        let across = self.side / self.patch.max(1);
        let input = Input::Patches { dim: channels * self.patch * self.patch };
        let output = Output::Classes { count: classes };
        let config = ModelConfig { input, output, context: across * across, ..sized };
        if !self.equal_parameters || known.is_none() || name == NETWORKS[0].0 {
            return Ok(config);
        }
        let wanted = self.network(NETWORKS[0].0, channels, classes)?.parameters();
        let off = |layers: usize| {
            let config = config.clone().resized(layers, self.width, self.heads);
            (config.parameters().abs_diff(wanted), layers)
        };
        let layers = (1..=self.layers).map(off).min().map_or(1, |(_, l)| l);
        Ok(config.resized(layers, self.width, self.heads))
    }

    fn baseline(&self, name: &str, images: &Data) -> Result<Map<String, Value>> {
        let training = Viewed::new(images, &images.parts.training);
        let features = training.columns()?;
        let classes = training.class_names().len();
        let predict: Box<Predict> = match name {
            LINEAR => {
                let settings = FitSettings::with_ridge(self.ridge);
                let linear = LinearClassifier::fit(features.view(), training.labels(), classes, settings)?;
                Box::new(move |columns| linear.predict(columns))
            }
            _ => {
                let nearest = NearestNeighbours::new(features.view(), training.labels(), classes, self.neighbours)?;
                Box::new(move |columns| nearest.predict(columns))
            }
        };
        let mut data = Map::new();
        for (part, indices) in [("validation", &images.parts.validation), ("test", &images.parts.test)] {
            let viewed = Viewed::new(images, indices);
            let predictions = predict(viewed.columns()?.view())?;
            record_estimate(part, &top1(&predictions, viewed.labels(), LEVEL)?, &mut data);
        }
        let parameters = if name == LINEAR { classes * (features.nrows() + 1) } else { 0 };
        data.insert("parameters".into(), parameters.into());
        Ok(data)
    }
}

/// A baseline: features (d, N), one image per column, to N classes.
type Predict = dyn Fn(ArrayView2<f32>) -> Result<Vec<usize>>;

/// The rows of the papers that see images.
fn of_papers() -> impl Iterator<Item = &'static str> {
    rows_of_papers(|input| matches!(input, Input::Patches { .. }))
}

impl Experiment for Vision {
    fn validate(&self) -> Result<()> {
        ComputeDevice::parse(&self.backend)?;
        let divides = self.side.is_multiple_of(self.patch);
        require(divides, "patch", self.patch, format!("must be a divisor of side = {}", self.side))?;
        for side in &self.other_sides {
            let multiple = *side > 0 && side.is_multiple_of(self.patch);
            require(multiple, "other_sides", side, format!("must be multiples of patch = {}", self.patch))?;
        }
        let in_range = self.mix_up == 0.0 || (1e-3..=1e3).contains(&self.mix_up);
        require(in_range, "mix_up", self.mix_up, "must be 0, or a number from 0.001 to 1000")?;
        self.check_augmentation()?;
        if self.images.is_empty() {
            self.shape_law().validate()?;
            let allowed = "must be empty without images; drawn shapes have masks of their own";
            require(self.masks.is_empty(), "masks", &self.masks, allowed)?;
        }
        self.networks.iter().filter(|n| !is_baseline(n)).try_for_each(|n| self.network(n, 1, 2)?.validate())
    }

    /// The images can be opened and split, and the networks that training begins with fit them.
    fn ready(&self) -> Result<()> {
        let data = self.data(&Streams::new(0, Self::NAME, 0, 0))?;
        maps::masks_fit(&self.maps, &data)?;
        self.check_start(data.channels, data.images.all().class_names().len())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        Ok(self.networks.iter().map(|name| cell(name)).collect())
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        self.trial_at(cell, streams, &TrialContext::none())
    }

    /// "parameters" and "layers"; the series "steps", "loss" (in training, smoothed), "norm"; the cross-entropy of the
    /// validation part at those steps and before the first, "held_out_steps" and "held_out"; top-1 accuracy on the
    /// validation and the test part, "validation" and "test" with ".low" and ".high" (exact, 95 %), the latter also at
    /// other sides, "test.SIDE"; "commonest", the share of the commonest class in the test part; and the heat maps,
    /// "WHEN.maps.I" (WHEN untrained or trained): weights of the class token on the patches of image "shown.I", for every
    /// head of block "block"; "head" is the one that is drawn, "WHEN.quality" the quality of all heads of all blocks, and
    /// "WHEN.best" that of each block's head that is best on the validation part, where shapes "mask.I" are known. Of a baseline: "parameters", "validation" and "test".
    fn trial_at(&self, cell: &Params, streams: &Streams, context: &TrialContext) -> Result<Map<String, Value>> {
        let name = cell.get(NETWORK);
        let images = self.data(streams)?;
        if is_baseline(name) {
            return self.baseline(name, &images);
        }
        let labelled = images.images.all();
        let device = ComputeDevice::parse(&self.backend)?;
        let classes = labelled.class_names().len();
        let config = self.configuration(name, images.channels, classes, streams)?;
        let mut data = Map::new();
        data.insert("parameters".into(), config.parameters().into());
        data.insert("layers".into(), config.layers.into());
        let (model, start) = self.before_training(&config, &device, streams)?;
        let (untrained, _) = self.before_training(&config, &device, streams)?;
        let labels_of = |indices: &[usize]| indices.iter().map(|i| labelled.labels()[*i]).collect::<Vec<_>>();
        let part = |indices: &[usize]| ImageSubset::new(labelled, indices.to_vec());
        let (training, watched) = (part(&images.parts.training)?, part(&images.parts.validation)?);
        let task = ImageTask {
            training: &training,
            validation: Some(&watched),
            augmentation: images.augmentation.clone(),
            view: images.view.clone(),
            smoothing: self.smoothing,
            mix_up: self.mix_up,
            start,
        };
        let before = task.held_out(&model)?.into_iter().collect();
        let label = format!("vision {name} {}", streams.name());
        let trained = train(&task, model, &self.plan, streams, &label, context)?;
        history(&trained.history, &mut data);
        held_out(&trained.history, before, &mut data);
        for (part, indices) in [("validation", &images.parts.validation), ("test", &images.parts.test)] {
            let judged = images.view.judge(&trained.model, labelled, indices)?;
            record_estimate(part, &top1(&judged.predictions, &labels_of(indices), LEVEL)?, &mut data);
        }
        let test = &images.parts.test;
        let labels = labels_of(test);
        data.insert("commonest".into(), store::number(commonest(&labels, classes)));
        for side in &self.other_sides {
            let model = trained.model.at_resolution(side / self.patch)?;
            let judged = self.view(images.channels, *side).judge(&model, labelled, test)?;
            record_estimate(&format!("test.{side}"), &top1(&judged.predictions, &labels, LEVEL)?, &mut data);
        }
        maps::record(&self.maps, &images, [&untrained, &trained.model], &mut data)?;
        Ok(data)
    }

    fn memory(&self, cell: &Params) -> u64 {
        let name = cell.get(NETWORK);
        let drawn = if self.images.is_empty() { (self.shapes.count * self.side * self.side) as u64 } else { 0 };
        if is_baseline(name) {
            // Features of all images in f32 and f64.
            return 16 * drawn;
        }
        // Colour images and a thousand classes at most.
        let config = match self.checkpoints(&Streams::new(0, Self::NAME, cell.cell(), 0)) {
            Some(folder) => Checkpoint::config(&folder),
            None => self.network(name, 3, 1000),
        };
        let Ok(config) = config else { return drawn };
        let batch = self.plan.batch.div_ceil(self.plan.accumulate);
        let tokens = (self.side / self.patch).pow(2) + config.extra_tokens();
        2 * drawn + training_memory(&config, batch, tokens)
    }

    fn size(&self) -> String {
        let Vision { layers, width, seeds, plan, .. } = self;
        format!("aot-v of {layers} layers of width {width}, {} steps, {seeds} seeds", plan.steps)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
