//! Batches of a training.

use crate::{pool, streams};
use attnlab_images::patches::{PatchOrder, patches};
use attnlab_images::transforms::Augmentation;
use attnlab_images::{ImageBatches, LabelledImages, StoredImages};
use ndarray::{Array4, s};

/// Ten images of 8 × 8, image i of level 10 i in class i mod 2.
fn images() -> StoredImages {
    let levels = Array4::from_shape_fn((10, 3, 8, 8), |(i, c, y, x)| (10 * i + c + y * x) as u8);
    StoredImages::from_bytes(levels, (0..10).map(|i| i % 2).collect(), None).unwrap()
}

#[test]
fn batches_are_slices_of_one_sequence() {
    let images = images();
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
    let images = images();
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
