//! Images as a task: losses and heat maps against plain definitions, mix-up.

use attnlab_core::rng::Streams;
use attnlab_images::ImageBatches;
use attnlab_images::patches::PatchOrder;
use attnlab_images::shapes::{DrawnShapes, ShapeLaw};
use attnlab_images::transforms::{Augmentation, Transform};
use attnlab_train::model::{Input, Output, Tensor};
use attnlab_train::training::images::{ImageTask, ImageView, scores};
use attnlab_train::training::{Batch, TrainingTask};
use attnlab_train::{ComputeDevice, Model, ModelConfig, Recording, preset};
use ndarray::Array3;

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.try_to_vec_as::<f64>().unwrap()
}

const SIDE: usize = 16;
const PATCH: usize = 4;

fn streams() -> Streams {
    Streams::new(4, "images", 0, 0)
}

fn drawn(count: usize) -> DrawnShapes {
    ShapeLaw { side: SIDE, classes: 3, size: 0.4, contrast: 0.5, noise: 0.1 }.draw(count, &streams()).unwrap()
}

fn view() -> ImageView {
    let normalise = Transform::Normalise { means: vec![0.5], deviations: vec![0.25] };
    ImageView {
        transforms: Augmentation { transforms: vec![normalise] },
        patch: PATCH,
        order: PatchOrder::ChannelsLast,
    }
}

/// A network of images of so many patches in height and width.
fn model_across(name: &str, across: usize) -> Model {
    let config = ModelConfig {
        input: Input::Patches { dim: PATCH * PATCH },
        output: Output::Classes { count: 3 },
        context: across.pow(2),
        ..preset(name).unwrap().resized(2, 16, 2)
    };
    Model::new(config, &ComputeDevice::cpu_f64(), &streams()).unwrap()
}

fn model(name: &str) -> Model {
    model_across(name, SIDE / PATCH)
}

fn task<'a>(images: &'a DrawnShapes, smoothing: f64) -> ImageTask<'a> {
    ImageTask {
        training: images,
        validation: Some(images),
        augmentation: view().transforms,
        view: view(),
        smoothing,
        mix_up: 0.0,
        start: None,
    }
}

fn batch(first: u64, count: usize) -> Batch {
    Batch { streams: streams(), first, count, stage: None }
}

/// Normalised images by their indices.
fn tokens(images: &DrawnShapes, indices: &[usize]) -> Array3<f32> {
    let transforms = view().transforms;
    let batches = ImageBatches { images, augmentation: &transforms, patch: PATCH, order: PatchOrder::ChannelsLast };
    batches.chosen(&streams(), indices).unwrap().tokens
}

/// Rounding of a mean loss, about 1, in f64: products are summed in another order in batches of another size, some hundreds
/// of roundings one after the other.
const ROUNDING: f64 = 1e-12;

/// An epoch has every image once: the mean loss over it is that of judging all of them, and a smoothed one is
/// (1 - ε) of it and ε of the mean over the classes.
#[test]
fn the_loss_of_an_epoch_is_that_of_all_images() {
    let images = drawn(12);
    let indices: Vec<usize> = (0..12).collect();
    for name in ["aot-v-16m", "vit-s", "crate-t"] {
        let model = model(name);
        let mean = view().judge(&model, &images, &indices).unwrap().losses.iter().sum::<f64>() / 12.0;
        let task = task(&images, 0.0);
        let loss = |batch: &Batch| numbers(task.loss(&model, batch).unwrap())[0];
        assert!((loss(&batch(12, 12)) - mean).abs() < ROUNDING, "{name}");
        // Parts of a batch, whose gradients are added, are the same images.
        let parts = [0, 4, 8].map(|i| loss(&batch(12 + i, 4)));
        assert!((parts.iter().sum::<f64>() / 3.0 - mean).abs() < ROUNDING);
        assert_eq!(task.held_out(&model).unwrap().map(|x| (x - mean).abs() < 1e-12), Some(true));
        let smoothed = numbers(self::task(&images, 0.3).loss(&model, &batch(12, 12)).unwrap())[0];
        let scores = numbers(scores(&model, tokens(&images, &indices), &mut Recording::default()).unwrap());
        let mean_over_classes = |s: &[f64]| s.iter().map(|x| x.exp()).sum::<f64>().ln() - s.iter().sum::<f64>() / 3.0;
        let uniform = scores.chunks(3).map(mean_over_classes).sum::<f64>() / 12.0;
        assert!((smoothed - 0.7 * mean - 0.3 * uniform).abs() < ROUNDING, "{name}");
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
        scores(&model, tokens(&images, &[2]), &mut recording).unwrap();
        let last = recording.get("blocks.1.weights").unwrap();
        assert_eq!(last.shape, [1, 2, 17, 17]);
        for head in 0..2 {
            let query = &last.values[head * 17 * 17..head * 17 * 17 + 17];
            assert!((query.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert_eq!(maps[1].row(head).to_vec(), query[1..]);
        }
    }
}

/// A batch is a function of the numbers of its images, whatever its parts are.
#[test]
fn mix_up_is_a_function_of_the_number_of_an_image() {
    let images = drawn(12);
    let model = model("vit-s");
    let mixed = |alpha: f64| ImageTask { mix_up: alpha, ..task(&images, 0.0) };
    let loss = |task: &ImageTask, batch: Batch| numbers(task.loss(&model, &batch).unwrap())[0];
    for alpha in [0.2, 1000.0] {
        let task = mixed(alpha);
        let whole = loss(&task, batch(4, 6));
        assert_eq!(whole, loss(&task, batch(4, 6)));
        let parts = [4, 6, 8].map(|first| loss(&task, batch(first, 2)));
        assert!((parts.iter().sum::<f64>() / 3.0 - whole).abs() < ROUNDING);
        assert!((whole - loss(&mixed(0.0), batch(4, 6))).abs() > ROUNDING);
    }
}

/// OpenCV 5.0.0, whose kernel is the same: cv2.resize(numpy.array([[1, 2, -1], [0, 3, 5], [4, -2, .5]]), (n, n),
/// interpolation=cv2.INTER_CUBIC) for n = 5 and 2. Its coefficients are rounded to f32.
#[test]
fn positions_at_another_resolution_are_those_of_opencv() {
    let five = [
        [1.01843212, 1.660064078, 1.903999686, -0.167586102, -1.91008188],
        [0.091295386, 1.343424001, 2.747999847, 2.251776201, 1.546783976],
        [-0.288000941, 1.0200001, 3.0, 4.440001369, 5.191999912],
        [2.60294582, 1.266816041, 0.011998832, 1.473383721, 2.933936325],
        [5.04294594, 1.537311985, -2.479999781, -1.414832855, 0.312608084],
    ]
    .concat();
    let two = [1.099983215, 1.00680542, 2.087036133, 1.013122559];
    let grid = [1.0, 2.0, -1.0, 0.0, 3.0, 5.0, 4.0, -2.0, 0.5];
    let width = 16;
    let mut model = model_across("aot-v-16m", 3);
    // Coordinate j of a position is the grid's value, plus j; the class token has -7.
    let mut table = vec![-7.0; width];
    for value in grid {
        table.extend((0..width).map(|j| value + j as f64));
    }
    model.set("positions", table).unwrap();
    for (across, expected) in [(5, &five[..]), (2, &two), (3, &grid)] {
        let adapted = model.at_resolution(across).unwrap();
        assert_eq!(adapted.config().context, across * across);
        let table = adapted.values("positions").unwrap();
        let mut rows = table.chunks_exact(width);
        assert_eq!(rows.next().unwrap(), [-7.0; 16]);
        for (row, value) in rows.zip(expected) {
            for (j, x) in row.iter().enumerate() {
                assert!((x - value - j as f64).abs() < 1e-5, "{across}: {x} {value}");
            }
        }
        let name = "blocks.1.attention.out";
        assert_eq!(adapted.values(name).unwrap(), model.values(name).unwrap());
    }
    assert!(model.at_resolution(0).is_err());
    let ragged = ModelConfig { context: 8, ..model.config().clone() };
    let ragged = Model::new(ragged, &ComputeDevice::cpu(), &streams()).unwrap();
    let refused = ragged.at_resolution(2).err().unwrap().to_string();
    assert!(refused.contains("square"), "{refused}");
}

/// Other classes begin anew, as many keep their map, and nothing else changes.
#[test]
fn classes_begin_anew_where_their_number_changes() {
    let model = model("vit-s");
    let same = model.with_classes(3, &streams().child("other", 0)).unwrap();
    for p in model.parameters() {
        let name = p.spec.name.as_str();
        assert_eq!(model.values(name).unwrap(), same.values(name).unwrap());
    }
    let more = model.with_classes(5, &streams()).unwrap();
    assert_eq!(more.values("read_out").unwrap().len(), 5 * 16);
    assert_eq!(more.values("class_token").unwrap(), model.values("class_token").unwrap());
    assert!(model.with_classes(0, &streams()).is_err());
    assert!(view().judge(&more, &drawn(6), &[0, 1]).unwrap().predictions.iter().all(|class| *class < 5));
}
