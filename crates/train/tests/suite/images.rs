//! Images as a task: tokens, losses and heat maps against plain definitions.

use attnlab_core::rng::Streams;
use attnlab_images::patches::{PatchOrder, from_patches};
use attnlab_images::shapes::{DrawnShapes, ShapeLaw};
use attnlab_images::transforms::{Augmentation, Transform};
use attnlab_images::{Image, LabelledImages};
use attnlab_train::model::{Input, Output, read};
use attnlab_train::training::images::{ImageTask, ImageView};
use attnlab_train::training::{Batch, TrainingTask};
use attnlab_train::{ComputeDevice, Model, ModelConfig, Recording, preset};
use ndarray::Array2;

const SIDE: usize = 16;
const PATCH: usize = 4;

fn streams() -> Streams {
    Streams::new(4, "images", 0, 0)
}

fn drawn(count: usize) -> DrawnShapes {
    let law = ShapeLaw {
        side: SIDE,
        classes: 3,
        size: 0.4,
        contrast: 0.5,
        noise: 0.1,
    };
    law.draw(count, &streams()).unwrap()
}

fn view() -> ImageView {
    let normalise = Transform::Normalise {
        means: vec![0.5],
        deviations: vec![0.25],
    };
    ImageView {
        transforms: Augmentation {
            transforms: vec![normalise],
        },
        patch: PATCH,
        order: PatchOrder::ChannelsLast,
    }
}

fn model(name: &str) -> Model {
    let config = ModelConfig {
        input: Input::Patches { dim: PATCH * PATCH },
        output: Output::Classes { count: 3 },
        context: (SIDE / PATCH).pow(2),
        ..preset(name).unwrap().resized(2, 16, 2)
    };
    Model::new(config, &ComputeDevice::cpu_f64(), &streams()).unwrap()
}

fn task<'a>(images: &'a DrawnShapes, smoothing: f64) -> ImageTask<'a> {
    ImageTask {
        training: images,
        validation: Some(images),
        augmentation: view().transforms,
        view: view(),
        smoothing,
        mix_up: 0.0,
    }
}

fn batch(first: u64, count: usize) -> Batch {
    Batch {
        streams: streams(),
        first,
        count,
        stage: None,
    }
}

#[test]
fn tokens_are_the_patches_in_raster_order() {
    let images = drawn(3);
    let image = images.image(1).unwrap();
    let tokens = view()
        .tokens(&ComputeDevice::cpu_f64(), &[image.clone()])
        .unwrap();
    assert_eq!(tokens.dims(), [1, 16, 16]);
    let values: Vec<f32> = read(&tokens).unwrap().iter().map(|x| *x as f32).collect();
    let columns = Array2::from_shape_vec((16, 16), values)
        .unwrap()
        .reversed_axes();
    let back = from_patches(columns.view(), SIDE, SIDE, PATCH, PatchOrder::ChannelsLast).unwrap();
    assert_eq!(back, image.intensities());
    let other = Image::from_bytes(ndarray::Array3::zeros((1, 8, 8))).unwrap();
    let refused = view().tokens(&ComputeDevice::cpu_f64(), &[image, other]);
    assert!(refused.unwrap_err().to_string().contains("image 1"));
}

/// An epoch has every image once: the mean loss over it is that of judging all of them, and a smoothed one is
/// (1 - ε) of it and ε of the mean over the classes.
#[test]
fn the_loss_of_an_epoch_is_that_of_all_images() {
    let images = drawn(12);
    let all: Vec<usize> = (0..12).collect();
    for name in ["aot-v-16m", "vit-s", "crate-t"] {
        let model = model(name);
        let judged = view().judge(&model, &images, &all).unwrap();
        let mean = judged.losses.iter().sum::<f64>() / 12.0;
        let task = task(&images, 0.0);
        let loss = |batch: &Batch| read(&task.loss(&model, batch).unwrap()).unwrap()[0];
        assert!((loss(&batch(12, 12)) - mean).abs() < 1e-6, "{name}");
        // Parts of a batch, whose gradients are added, are the same images.
        let parts = [0, 4, 8].map(|i| loss(&batch(12 + i, 4)));
        assert!((parts.iter().sum::<f64>() / 3.0 - mean).abs() < 1e-6);
        assert_eq!(
            task.held_out(&model)
                .unwrap()
                .map(|x| (x - mean).abs() < 1e-12),
            Some(true)
        );
        // Of all classes alike: three views of the labels.
        let smoothed = self::task(&images, 0.3);
        let smoothed = read(&smoothed.loss(&model, &batch(12, 12)).unwrap()).unwrap()[0];
        let seen: Vec<Image> = all
            .iter()
            .map(|i| {
                let image = images.image(*i).unwrap();
                view().transforms.apply(&image, &streams(), 0, 0).unwrap()
            })
            .collect();
        let scores = view()
            .scores(&model, &seen, &mut Recording::default())
            .unwrap();
        let scores = read(&scores).unwrap();
        let uniform: f64 = scores
            .chunks(3)
            .map(|s| {
                let sum: f64 = s.iter().map(|x| x.exp()).sum();
                sum.ln() - s.iter().sum::<f64>() / 3.0
            })
            .sum::<f64>()
            / 12.0;
        assert!(
            (smoothed - 0.7 * mean - 0.3 * uniform).abs() < 1e-6,
            "{name}"
        );
    }
}

/// The weights of the class token on the patches and on itself sum to 1.
#[test]
fn heat_maps_are_the_weights_of_the_class_token() {
    let images = drawn(3);
    for name in ["aot-v-16m", "vit-s"] {
        let model = model(name);
        let maps = view().class_attention(&model, &images, 2).unwrap();
        assert_eq!(maps.len(), 2);
        let mut recording = Recording::keeping(["weights"]);
        let image = view()
            .transforms
            .apply(&images.image(2).unwrap(), &streams(), 0, 0)
            .unwrap();
        view().scores(&model, &[image], &mut recording).unwrap();
        let last = recording.get("blocks.1.weights").unwrap();
        assert_eq!(last.shape, [1, 2, 17, 17]);
        for head in 0..2 {
            let query = &last.values[head * 17 * 17..head * 17 * 17 + 17];
            assert!((query.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert_eq!(maps[1].row(head).to_vec(), query[1..]);
        }
    }
}
