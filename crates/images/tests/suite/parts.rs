//! Patches, targets, splits, and batches of a training.

use crate::{pool, streams};
use attnlab_images::patches::{PatchOrder, from_patches, patches};
use attnlab_images::split::{counts, epoch_order, stratified};
use attnlab_images::targets::{mix_up, mix_up_weight, smoothed_label};
use attnlab_images::transforms::Augmentation;
use attnlab_images::{Image, ImageBatches, ImageSubset, LabelledImages, StoredImages, flattened};
use ndarray::{Array3, Array4, s};
use proptest::prelude::*;

/// Image whose entry (c, y, x) is 100 c + 10 y + x.
fn numbered(channels: usize, height: usize, width: usize) -> Array3<f32> {
    Array3::from_shape_fn((channels, height, width), |(c, y, x)| (100 * c + 10 * y + x) as f32)
}

#[test]
fn patches_are_columns_in_raster_order() {
    let image = numbered(3, 4, 6);
    let first = patches(image.view(), 2, PatchOrder::ChannelsFirst).unwrap();
    assert_eq!(first.dim(), (12, 6));
    // Patch 4: lower row, second of three.
    let expected = [22.0, 23.0, 32.0, 33.0, 122.0, 123.0, 132.0, 133.0, 222.0, 223.0, 232.0, 233.0];
    assert_eq!(first.column(4).to_vec(), expected);
    let last = patches(image.view(), 2, PatchOrder::ChannelsLast).unwrap();
    let expected = [22.0, 122.0, 222.0, 23.0, 123.0, 223.0, 32.0, 132.0, 232.0, 33.0, 133.0, 233.0];
    assert_eq!(last.column(4).to_vec(), expected);
}

#[test]
fn patches_that_do_not_fit_are_refused() {
    let image = numbered(1, 4, 6);
    for p in [0, 3, 4, 5] {
        let error = patches(image.view(), p, PatchOrder::ChannelsFirst).unwrap_err().to_string();
        assert!(error.starts_with(&format!("patch = {p}: must divide both sides")), "{error}");
    }
    let tokens = patches(image.view(), 2, PatchOrder::ChannelsFirst).unwrap();
    assert!(from_patches(tokens.view(), 4, 4, 2, PatchOrder::ChannelsFirst).is_err());
    assert!(from_patches(tokens.view(), 4, 6, 1, PatchOrder::ChannelsFirst).is_err());
    assert!(from_patches(tokens.slice(s![..3, ..]), 4, 6, 2, PatchOrder::ChannelsFirst).is_err());
}

#[test]
fn smoothed_labels_are_those_of_pytorch() {
    // torch: (1 - 0.1) * onehot + 0.1 / 4.
    for (share, expected) in smoothed_label(2, 4, 0.1).unwrap().iter().zip([0.025, 0.025, 0.925, 0.025]) {
        assert!((share - expected).abs() < 1e-15);
    }
    assert_eq!(smoothed_label(0, 2, 0.0).unwrap(), [1.0, 0.0]);
    assert!(smoothed_label(2, 2, 0.1).unwrap_err().to_string().starts_with("label = 2"));
    assert!(smoothed_label(0, 2, 1.1).unwrap_err().to_string().starts_with("smoothing = 1.1"));
    assert!(smoothed_label(0, 0, 0.1).is_err());
}

/// Beta(α, α) has mean 1/2 and variance 1 / (4 (2α + 1)); its fourth central moment gives the error of the latter, at
/// most 1/16 as the law lies in [0, 1]. Five deviations of 20 000 draws.
#[test]
fn weights_of_mix_up_have_their_law() {
    for alpha in [0.001, 0.2, 1.0, 7.0] {
        let draws = 20_000;
        let weight = |i| mix_up_weight(alpha, &mut streams(4).part("mix", i)).unwrap();
        let weights: Vec<f64> = (0..draws).map(weight).collect();
        assert!(weights.iter().all(|w| (0.0..=1.0).contains(w)));
        let (n, variance) = (draws as f64, 0.25 / (2.0 * alpha + 1.0));
        let mean = weights.iter().sum::<f64>() / n;
        assert!((mean - 0.5).abs() < 5.0 * (variance / n).sqrt(), "{alpha}: {mean}");
        let estimate = weights.iter().map(|w| (w - 0.5).powi(2)).sum::<f64>() / n;
        assert!((estimate - variance).abs() < 5.0 * 0.25 / n.sqrt(), "{alpha}: {estimate}");
    }
    assert_eq!(mix_up_weight(0.0, &mut streams(4).part("mix", 0)).unwrap(), 1.0);
    for alpha in [-1.0, 1e-4, f64::NAN, f64::INFINITY] {
        assert!(mix_up_weight(alpha, &mut streams(4).part("mix", 0)).is_err());
    }
}

#[test]
fn mixed_images_and_targets_have_the_same_weights() {
    let image = |level| Image::from_bytes(Array3::from_elem((1, 1, 2), level)).unwrap();
    let (black, white) = (image(0), image(255));
    let (mixed, target) = mix_up((&black, &[1.0, 0.0]), (&white, &[0.0, 1.0]), 0.75).unwrap();
    assert!(mixed.intensities().iter().all(|x| *x == 0.25));
    assert_eq!(target, [0.75, 0.25]);
    assert!(mix_up((&black, &[1.0]), (&Image::from_bytes(Array3::zeros((1, 2, 2))).unwrap(), &[1.0]), 0.5).is_err());
    assert!(mix_up((&black, &[1.0]), (&white, &[1.0, 0.0]), 0.5).is_err());
    assert!(mix_up((&black, &[1.0]), (&white, &[1.0]), -0.1).is_err());
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|c| format!("class {c}")).collect()
}

#[test]
fn splits_are_stratified_and_pinned_by_their_seed() {
    let labels: Vec<usize> = (0..100).map(|i| usize::from(i % 5 == 0)).collect();
    let parts = stratified(&labels, &names(2), 0.1, 0.25, &streams(1)).unwrap();
    assert_eq!(counts(&labels, &parts.test, 2).unwrap(), [20, 5]);
    assert_eq!(counts(&labels, &parts.validation, 2).unwrap(), [8, 2]);
    assert_eq!(counts(&labels, &parts.training, 2).unwrap(), [52, 13]);
    assert_eq!(stratified(&labels, &names(2), 0.1, 0.25, &streams(1)).unwrap(), parts);
    assert_ne!(stratified(&labels, &names(2), 0.1, 0.25, &streams(2)).unwrap(), parts);
    // The draw of a class does not depend on the others.
    let first: Vec<usize> = (0..100).filter(|i| labels[*i] == 0).collect();
    let alone = stratified(&vec![0; first.len()], &names(1), 0.1, 0.25, &streams(1)).unwrap();
    let test: Vec<usize> = alone.test.iter().map(|i| first[*i]).collect();
    assert!(test.iter().all(|i| parts.test.contains(i)));
    assert!(stratified(&labels, &names(2), 0.0, 0.5, &streams(1)).unwrap().validation.is_empty());
}

#[test]
fn splits_that_leave_a_part_empty_are_refused() {
    let labels = [0, 0, 0, 0, 0, 0, 1, 1];
    let text =
        |validation, test| stratified(&labels, &names(2), validation, test, &streams(1)).unwrap_err().to_string();
    assert!(text(0.2, 0.2).starts_with("images of class 'class 1' = 2: must be enough for one in every part"));
    assert!(text(0.0, 0.9).contains("test 2"));
    assert!(text(0.5, 0.5).starts_with("validation + test = 1"));
    assert!(text(-0.1, 0.5).starts_with("validation = -0.1"));
    assert!(text(0.1, f64::NAN).starts_with("test = NaN"));
    assert!(stratified(&[2], &names(2), 0.1, 0.1, &streams(1)).is_err());
    assert!(stratified(&[0; 9], &names(2), 0.1, 0.1, &streams(1)).is_err());
    assert!(counts(&labels, &[8], 2).is_err());
    assert!(counts(&labels, &[7], 1).is_err());
}

#[test]
fn the_order_of_an_epoch_is_a_permutation_of_its_own() {
    let order = epoch_order(50, &streams(1), 2);
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert!(sorted.iter().copied().eq(0..50));
    assert_eq!(order, epoch_order(50, &streams(1), 2));
    assert_ne!(order, epoch_order(50, &streams(1), 3));
    assert!(epoch_order(0, &streams(1), 0).is_empty());
}

#[test]
fn data_sets_in_memory_check_what_they_are_given() {
    let images = |shape| Array4::<u8>::zeros(shape);
    let text = |shape, labels: &[usize], names: Option<Vec<String>>| {
        StoredImages::from_bytes(images(shape), labels.to_vec(), names).unwrap_err().to_string()
    };
    assert!(text((2, 2, 1, 1), &[0, 1], None).contains("1 or 3 channels"));
    assert!(text((2, 1, 1, 1), &[0], None).starts_with("labels = 1: must be as many"));
    assert!(text((0, 1, 1, 1), &[], None).starts_with("images = 0"));
    assert!(text((2, 1, 1, 1), &[0, 2], Some(names(2))).starts_with("label = 2"));
    assert!(text((2, 1, 1, 1), &[0, usize::MAX], None).contains("number of images, 2; every class"));
    let nan = StoredImages::from_floats(Array4::from_elem((1, 1, 1, 1), f32::NAN), vec![0], None);
    assert!(nan.unwrap_err().to_string().contains("of image 0 = NaN"));
    let good = StoredImages::from_bytes(images((2, 1, 2, 2)), vec![1, 0], None).unwrap();
    assert_eq!(flattened(&good).unwrap().dim(), (4, 2));
    assert!(ImageSubset::new(&good, vec![]).is_err());
    assert!(ImageSubset::new(&good, vec![2]).is_err());
    assert_eq!(ImageSubset::new(&good, vec![1]).unwrap().count(), 1);
}

proptest! {
    /// Patches put back together are the image, in both orders.
    #[test]
    fn patches_have_an_inverse(
        rgb in any::<bool>(),
        (rows, columns, p) in (1_usize..5, 1_usize..5, 1_usize..5),
        last in any::<bool>(),
    ) {
        let image = numbered(if rgb { 3 } else { 1 }, rows * p, columns * p);
        let order = if last { PatchOrder::ChannelsLast } else { PatchOrder::ChannelsFirst };
        let tokens = patches(image.view(), p, order).unwrap();
        prop_assert_eq!(from_patches(tokens.view(), rows * p, columns * p, p, order).unwrap(), image);
    }

    /// Every image is in exactly one part, and every part has every class.
    #[test]
    fn parts_partition(
        labels in prop::collection::vec(0_usize..3, 30..120),
        validation in 0.1_f64..0.4,
        test in 0.1_f64..0.4,
        seed in any::<u64>(),
    ) {
        if let Ok(parts) = stratified(&labels, &names(3), validation, test, &streams(seed)) {
            let mut indices = [parts.training.clone(), parts.validation.clone(), parts.test.clone()].concat();
            indices.sort_unstable();
            prop_assert!(indices.into_iter().eq(0..labels.len()));
            for part in [&parts.training, &parts.validation, &parts.test] {
                prop_assert!(counts(&labels, part, 3).unwrap().iter().all(|count| *count > 0));
            }
        }
    }
}

/// Ten images of 8 × 8, image i of level 10 i in class i mod 2.
fn ten_images() -> StoredImages {
    let levels = Array4::from_shape_fn((10, 3, 8, 8), |(i, c, y, x)| (10 * i + c + y * x) as u8);
    StoredImages::from_bytes(levels, (0..10).map(|i| i % 2).collect(), None).unwrap()
}

#[test]
fn batches_are_slices_of_one_sequence() {
    let images = ten_images();
    let augmentation = Augmentation::small_images(8, 2, &[0.5; 3], &[0.25; 3]);
    let batches =
        ImageBatches { images: &images, augmentation: &augmentation, patch: 4, order: PatchOrder::ChannelsLast };
    let whole = batches.training(&streams(1), 0, 25).unwrap();
    assert_eq!(whole.tokens.dim(), (25, 4, 48));
    // Two epochs are 20 sequences, in each of which every image is seen once.
    for epoch in 0..2 {
        let labels = &whole.labels[10 * epoch..10 * (epoch + 1)];
        assert_eq!(labels.iter().sum::<usize>(), 5);
    }
    for threads in [1, 3] {
        let part = pool(threads).install(|| batches.training(&streams(1), 7, 6)).unwrap();
        assert_eq!(part.labels, whole.labels[7..13]);
        assert_eq!(part.tokens, whole.tokens.slice(s![7..13, .., ..]));
    }
    assert_ne!(batches.training(&streams(2), 0, 25).unwrap(), whole);
    assert!(batches.training(&streams(1), 0, 0).is_err());
}

#[test]
fn chosen_images_are_their_patches() {
    let images = ten_images();
    let none = Augmentation::default();
    let batches = ImageBatches { images: &images, augmentation: &none, patch: 2, order: PatchOrder::ChannelsFirst };
    let batch = batches.chosen(&streams(1), &[9, 0]).unwrap();
    assert_eq!(batch.labels, [1, 0]);
    let expected = patches(images.image(9).unwrap().intensities().view(), 2, PatchOrder::ChannelsFirst).unwrap();
    assert_eq!(batch.tokens.slice(s![0, .., ..]), expected.t());
    assert!(batches.chosen(&streams(1), &[10]).unwrap_err().to_string().starts_with("index = 10"));
    assert!(batches.chosen(&streams(1), &[]).is_err());
    let odd = ImageBatches { patch: 3, ..batches };
    assert!(odd.chosen(&streams(1), &[0]).unwrap_err().to_string().starts_with("patch = 3"));
}
