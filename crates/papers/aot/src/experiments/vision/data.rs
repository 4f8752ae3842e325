//! The images of `vision`, their parts, and how they enter a network.

use super::Vision;
use attnlab_images::patches::PatchOrder;
use attnlab_images::shapes::{DrawnShapes, ShapeLaw};
use attnlab_images::split::{Partition, stratified};
use attnlab_images::transforms::{Augmentation, CropLaw, RandAugment, Resampling, Transform};
use attnlab_images::{Image, LabelledImages, flattened, open};
use attnlab_lab::prelude::*;
use attnlab_train::training::images::ImageView;
use ndarray::{Array2, ArrayView2, Axis};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Mean and standard deviation to which intensities are normalised: those of a uniform law on [0, 1] are .5 and .29.
const MEAN: f32 = 0.5;
const DEVIATION: f32 = 0.25;

attnlab_lab::settings! {
    /// Law of shapes, as settings write it.
    pub struct ShapeSettings {
        pub count: usize,
        pub classes: usize,
        pub size: f64,
        pub contrast: f64,
        pub noise: f64,
    }
}

attnlab_lab::settings! {
    /// Changes of training images.
    pub struct AugmentationSettings {
        pub crop: String,
        pub margin: usize,
        pub flip: f64 = within("[0, 1]"),
        pub operations: usize,
        pub magnitude: u32,
    }
}

/// Images, with the pixels of their shapes where they are known.
pub(super) enum Images {
    Drawn(DrawnShapes),
    Given { images: Box<dyn LabelledImages>, masks: Option<Masks> },
}

/// Masks of images.
pub(super) struct Masks {
    images: Box<dyn LabelledImages>,
    /// Number of the mask of every image.
    numbers: Vec<usize>,
}

/// Returns the number of the mask of every image, each another one: that of its name, or of one that goes on after a sign, as
/// cat-1_mask does; without names in their order.
fn paired(images: &dyn LabelledImages, masks: &dyn LabelledImages) -> Result<Vec<usize>> {
    if images.name(0).is_none() || masks.name(0).is_none() {
        return Ok((0..images.count()).collect());
    }
    let mut taken = BTreeSet::new();
    let name = |of: &dyn LabelledImages, i: usize| (of.labels()[i], of.name(i).unwrap_or_default().to_string());
    let by_name: BTreeMap<(usize, String), usize> = (0..masks.count()).map(|i| (name(masks, i), i)).collect();
    let mask = |i: usize| {
        let (class, image) = name(images, i);
        let exact = by_name.get(&(class, image.clone())).copied();
        let longer = by_name.range((class, image.clone())..);
        let longer = longer.take_while(|((c, mask), _)| *c == class && mask.starts_with(&image));
        let fitting = longer.filter(|((_, mask), _)| !mask[image.len()..].starts_with(char::is_alphanumeric));
        let fitting = exact.map_or_else(|| fitting.map(|(_, i)| *i).collect(), |exact| vec![exact]);
        if let [only] = fitting[..]
            && taken.insert(only)
        {
            return Ok(only);
        }
        let class = &images.class_names()[class];
        let allowed = format!("must be one of its own, of its name or a longer one such as {image}_mask, in {class}");
        Err(Error::invalid(format!("masks of {image}"), fitting.len(), allowed))
    };
    (0..images.count()).map(mask).collect()
}

impl Images {
    pub(super) fn all(&self) -> &dyn LabelledImages {
        match self {
            Images::Drawn(drawn) => drawn,
            Images::Given { images, .. } => images.as_ref(),
        }
    }

    /// The images of a path, with the masks of another, which is empty where there are none.
    fn open(path: &str, masks: &str) -> Result<Self> {
        let images = open(Path::new(path))?.images;
        if masks.is_empty() {
            return Ok(Images::Given { images, masks: None });
        }
        let opened = open(Path::new(masks))?.images;
        if (opened.class_names(), opened.labels()) != (images.class_names(), images.labels()) {
            let [has, needs] =
                [&opened, &images].map(|set| format!("{} images in {} classes", set.count(), set.class_names().len()));
            let allowed = format!(
                "must hold a mask for every image, in classes of the same names; it has {has}, images has {needs}"
            );
            return Err(Error::invalid("masks", masks, allowed));
        }
        let masks = Some(Masks { numbers: paired(&*images, &*opened)?, images: opened });
        Ok(Images::Given { images, masks })
    }

    /// The pixels of an image, resized and cropped to a side, that belong to its shape.
    fn shape(&self, index: usize, side: usize) -> Result<Option<Array2<bool>>> {
        match self {
            Images::Drawn(drawn) => Ok(drawn.mask(index).cloned()),
            Images::Given { masks: None, .. } => Ok(None),
            Images::Given { images, masks: Some(masks) } => {
                let mask_index = masks.numbers[index];
                let (image, mask) = (images.image(index)?, masks.images.image(mask_index)?);
                let [(_, height, width), (_, rows, columns)] = [image.dim(), mask.dim()];
                if (rows, columns) != (height, width) {
                    let allowed = format!("must have the size of its image, {height} x {width}");
                    let name = masks.images.name(mask_index).map_or_else(|| index.to_string(), String::from);
                    return Err(Error::invalid(format!("mask {name}"), format!("{rows} x {columns}"), allowed));
                }
                let inside = mask.intensities().map_axis(Axis(0), |channels| channels.iter().any(|x| *x != 0.0));
                let levels = inside.mapv(|inside| if inside { u8::MAX } else { 0 });
                let transforms = Augmentation { transforms: Vision::to_size(side).to_vec() };
                let levels = Image::from_bytes(levels.insert_axis(Axis(0)))?;
                let viewed = transforms.apply(&levels, &Streams::new(0, "view", 0, 0), 0, 0)?.intensities();
                Ok(Some(viewed.index_axis(Axis(0), 0).mapv(|x| x > 0.5)))
            }
        }
    }
}

/// Everything that a trial needs of the images; all trials of a run share it.
pub(super) struct Data {
    pub(super) images: Images,
    pub(super) parts: Partition,
    pub(super) view: ImageView,
    pub(super) augmentation: Augmentation,
    /// C.
    pub(super) channels: usize,
    side: usize,
}

impl Data {
    /// The patches of an image that belong to its shape by at least half; None where shapes are unknown.
    pub(super) fn mask(&self, index: usize) -> Result<Option<Vec<bool>>> {
        let patch = self.view.patch;
        let lit = |piece: ArrayView2<bool>| 2 * piece.iter().filter(|m| **m).count() >= patch * patch;
        let shape = self.images.shape(index, self.side)?;
        Ok(shape.map(|shape| shape.exact_chunks((patch, patch)).into_iter().map(lit).collect()))
    }
}

impl Vision {
    /// Opens or draws the images and splits them, the same for all cells and trials.
    pub(super) fn data(&self, streams: &Streams) -> Result<Data> {
        let shared = streams.of_cell(0).of_trial(0).child("images", 0);
        let images = match self.images.as_str() {
            "" => Images::Drawn(self.shape_law().draw(self.shapes.count, &shared)?),
            path => Images::open(path, &self.masks)?,
        };
        let labelled = images.all();
        let parts = stratified(labelled.labels(), labelled.class_names(), self.validation, self.test, &shared)?;
        let channels = if self.grey { 1 } else { labelled.image(0)?.dim().0 };
        let (view, augmentation) = (self.view(channels, self.side), self.changed(channels)?);
        Ok(Data { view, augmentation, images, parts, channels, side: self.side })
    }

    /// The law of drawn images.
    pub(super) fn shape_law(&self) -> ShapeLaw {
        let ShapeSettings { classes, size, contrast, noise, .. } = self.shapes;
        ShapeLaw { side: self.side, classes, size, contrast, noise }
    }

    fn colours(&self) -> Vec<Transform> {
        if self.grey { vec![Transform::Grey] } else { vec![] }
    }

    fn to_size(side: usize) -> [Transform; 2] {
        [
            Transform::ResizeShorter { side, filter: Resampling::Bilinear },
            Transform::CentreCrop { height: side, width: side },
        ]
    }

    fn normalised(channels: usize) -> Transform {
        Transform::Normalise { means: vec![MEAN; channels], deviations: vec![DEVIATION; channels] }
    }

    /// Images of a side as a network sees them, without chance.
    pub(super) fn view(&self, channels: usize, side: usize) -> ImageView {
        let transforms = [self.colours(), Self::to_size(side).to_vec(), vec![Self::normalised(channels)]].concat();
        ImageView { transforms: Augmentation { transforms }, patch: self.patch, order: PatchOrder::ChannelsLast }
    }

    fn changed(&self, channels: usize) -> Result<Augmentation> {
        let (a, side) = (&self.augmentation, self.side);
        let mut transforms = self.colours();
        match a.crop.as_str() {
            "none" => transforms.extend(Self::to_size(side)),
            "pad" => {
                transforms.extend(Self::to_size(side));
                transforms.push(Transform::RandomCrop { height: side, width: side, margin: a.margin });
            }
            "resized" => {
                let (law, filter) = (CropLaw::default(), Resampling::Bilinear);
                transforms.push(Transform::RandomResizedCrop { height: side, width: side, law, filter });
            }
            other => return Err(Error::unknown("crop", other, ["pad", "resized", "none"])),
        }
        if a.flip > 0.0 {
            transforms.push(Transform::RandomFlip { probability: a.flip });
        }
        if a.operations > 0 {
            transforms.push(Transform::RandAugment(self.random_changes()));
        }
        transforms.push(Self::normalised(channels));
        Ok(Augmentation { transforms })
    }

    /// Refuses augmentations out of range.
    pub(super) fn check_augmentation(&self) -> Result<()> {
        self.changed(1)?;
        self.random_changes().validate()
    }

    fn random_changes(&self) -> RandAugment {
        let AugmentationSettings { operations, magnitude, .. } = self.augmentation;
        RandAugment { operations, magnitude, fill: 0 }
    }
}

/// Images as the network sees them.
pub(super) struct Viewed<'a> {
    pub(super) data: &'a Data,
    pub(super) indices: &'a [usize],
    labels: Vec<usize>,
}

impl<'a> Viewed<'a> {
    pub(super) fn new(data: &'a Data, indices: &'a [usize]) -> Self {
        let labels = data.images.all().labels();
        Viewed { data, indices, labels: indices.iter().map(|i| labels[*i]).collect() }
    }

    /// The numbers of the images as columns (numbers, images), for the baselines.
    pub(super) fn columns(&self) -> Result<Array2<f32>> {
        let (channels, height, width) = self.image(0)?.dim();
        // In f32 twice, and in f64 for the linear classifier.
        let numbers = [self.count(), channels, height, width].map(|n| n as u64);
        memory::ensure("the pixels of all images for a baseline", memory::product(&[&numbers[..], &[16]].concat()))?;
        flattened(self)
    }
}

impl LabelledImages for Viewed<'_> {
    fn class_names(&self) -> &[String] {
        self.data.images.all().class_names()
    }

    fn labels(&self) -> &[usize] {
        &self.labels
    }

    fn image(&self, index: usize) -> Result<Image> {
        let place = self.indices.get(index).copied().unwrap_or(usize::MAX);
        let image = self.data.images.all().image(place)?;
        self.data.view.transforms.apply(&image, &Streams::new(0, "view", 0, 0), 0, 0)
    }
}

/// An image in one channel, from 0 to 1, rows from the top: what is drawn beside its heat maps.
pub(super) fn shown(data: &Data, index: usize) -> Result<Vec<f64>> {
    let image = Viewed::new(data, &[index]).image(0)?.intensities();
    let grey = image.mean_axis(Axis(0)).unwrap_or_default();
    let low = grey.iter().copied().fold(f32::INFINITY, f32::min);
    let high = grey.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let range = if high > low { high - low } else { 1.0 };
    Ok(grey.iter().map(|x| f64::from((x - low) / range)).collect())
}
