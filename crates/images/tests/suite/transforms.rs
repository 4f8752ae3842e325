//! Laws of random transforms, their independence of threads, and their refusals.

use crate::{pool, streams};
use attnlab_core::rng::hash;
use attnlab_images::Image;
use attnlab_images::transforms::{
    AugmentOperation, Augmentation, CropBox, CropLaw, RandAugment, Resampling, Transform, brightness, crop, flip,
    normalise, pad, posterise, resize, rotate, shear_x, solarise, translate,
};
use ndarray::Array3;
use proptest::prelude::*;
use rayon::prelude::*;

/// Image of levels that depend on channel, row and column.
fn picture(channels: usize, height: usize, width: usize) -> Image {
    let level = |(c, y, x): (usize, usize, usize)| ((c * 91 + y * 37 + x * 11) % 256) as u8;
    Image::from_bytes(Array3::from_shape_fn((channels, height, width), level)).unwrap()
}

fn photographs() -> Augmentation {
    Augmentation::photographs(24, RandAugment { operations: 2, magnitude: 9, fill: 0 }, &[0.5; 3], &[0.25; 3])
}

fn checksum(image: &Image) -> u64 {
    hash(&image.intensities().iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
}

#[test]
fn an_augmented_image_depends_on_seed_epoch_and_index_alone() {
    let image = picture(3, 40, 50);
    let chain = photographs();
    let augmented = |i: u64| chain.apply(&image, &streams(5), 3, i).unwrap();
    let forwards: Vec<Image> = (0..64).map(augmented).collect();
    for threads in [1, 3] {
        let backwards: Vec<Image> =
            pool(threads).install(|| (0..64_u32).into_par_iter().rev().map(|i| augmented(u64::from(i))).collect());
        assert!(backwards.iter().rev().eq(&forwards));
    }
    // Another seed, epoch or index gives another image.
    for (seed, epoch, index) in [(6, 3, 0), (5, 4, 0), (5, 3, 1)] {
        assert_ne!(chain.apply(&image, &streams(seed), epoch, index).unwrap(), forwards[0]);
    }
}

/// The checksum pins the order of draws: with another one a run could not be continued by a later version.
#[test]
fn augmented_images_stay_the_same_across_versions() {
    let augmented = photographs().apply(&picture(3, 40, 50), &streams(5), 3, 17).unwrap();
    assert_eq!(augmented.dim(), (3, 24, 24));
    assert_eq!(format!("{:016x}", checksum(&augmented)), "5928a68ad37f3c3c");
}

/// Frequencies of 2800 draws: each operation has probability 1/14, so its count has mean 200 and deviation 13.6; five
/// deviations are exceeded by one in 14 with probability 1e-5.
#[test]
fn rand_augment_draws_its_operations_uniformly() {
    let image = picture(3, 20, 24);
    // At magnitude 20 every operation and sign gives another image here.
    let outcomes: Vec<(Image, AugmentOperation, bool)> = AugmentOperation::ALL
        .iter()
        .flat_map(|operation| [false, true].map(|negative| (*operation, negative)))
        .filter(|(operation, negative)| operation.is_signed() || !negative)
        .map(|(operation, negative)| (operation.apply(&image, 20, negative, 0).unwrap(), operation, negative))
        .collect();
    assert_eq!(outcomes.len(), 23);
    let distinct: std::collections::BTreeSet<u64> = outcomes.iter().map(|(image, ..)| checksum(image)).collect();
    // Auto-contrast and equalise leave this picture as it is: like the identity.
    let settings = RandAugment { operations: 1, magnitude: 20, fill: 0 };
    let mut counts = std::collections::BTreeMap::new();
    for i in 0..2800 {
        let outcome = settings.apply(&image, &mut streams(1).part("draw", i)).unwrap();
        *counts.entry(checksum(&outcome)).or_insert(0) += 1;
    }
    for (outcome, operation, negative) in &outcomes {
        let same: Vec<_> = outcomes.iter().filter(|(other, ..)| other == outcome).collect();
        let probability: f64 =
            same.iter().map(|(_, operation, _)| if operation.is_signed() { 1.0 / 28.0 } else { 1.0 / 14.0 }).sum();
        let (mean, count) = (2800.0 * probability, f64::from(counts[&checksum(outcome)]));
        let deviation = (mean * (1.0 - probability)).sqrt();
        assert!((count - mean).abs() < 5.0 * deviation, "{operation:?} {negative}: {count} of {mean}");
    }
    assert!(counts.keys().all(|sum| distinct.contains(sum)));
}

/// Law of torchvision: the share of the area is uniform in (0.08, 1) as long as the box fits. Of a square image and a
/// ratio of 1 every box fits, so the mean share is 0.54 with a deviation of 0.92/√12.
#[test]
fn random_resized_crops_follow_their_law() {
    let law = CropLaw { ratio: (1.0, 1.0), ..CropLaw::default() };
    let draws = 4000;
    let boxes: Vec<CropBox> = (0..draws).map(|i| law.draw(500, 500, &mut streams(2).part("box", i)).unwrap()).collect();
    assert!(boxes.iter().all(|b| b.height == b.width && b.top + b.height <= 500 && b.left + b.width <= 500));
    let mean = boxes.iter().map(|b| (b.height * b.width) as f64 / 250_000.0).sum::<f64>() / draws as f64;
    let deviation = 0.92 / 12.0_f64.sqrt() / (draws as f64).sqrt();
    // Rounding to whole pixels moves the mean by less than 1e-4.
    assert!((mean - 0.54).abs() < 4.0 * deviation + 1e-4, "{mean}");
    // No ratio in range fits a strip: the largest centred box.
    let strip = CropLaw::default().draw(10, 1000, &mut streams(2).part("box", 0)).unwrap();
    assert_eq!(strip, CropBox { top: 0, left: 493, height: 10, width: 13 });
    let column = CropLaw::default().draw(1000, 10, &mut streams(2).part("box", 0)).unwrap();
    assert_eq!((column.top, column.left, column.height, column.width), (493, 0, 13, 10));
}

#[test]
fn crops_pad_and_centre_as_stated() {
    let image = picture(1, 5, 8);
    let padded = pad(&image, 2).unwrap();
    assert_eq!(padded.dim(), (1, 9, 12));
    assert_eq!(padded.levels().unwrap()[(0, 1, 5)], 0);
    assert_eq!(crop(&padded, CropBox { top: 2, left: 2, height: 5, width: 8 }).unwrap(), image);
    // torchvision: int(round((5 - 2) / 2)) is 2, int(round((8 - 3) / 2)) is 2.
    let centre = CropBox::centred(5, 8, 2, 3).unwrap();
    assert_eq!((centre.top, centre.left), (2, 2));
    assert_eq!(flip(&image).levels().unwrap()[(0, 3, 0)], image.levels().unwrap()[(0, 3, 7)]);
    let shorter = Transform::ResizeShorter { side: 3, filter: Resampling::Bilinear };
    assert_eq!(shorter.apply(&image, &mut streams(1).part("x", 0)).unwrap().dim(), (1, 3, 4));
}

#[test]
fn flips_have_their_probability() {
    let image = picture(1, 1, 2);
    let flipped = |probability: f64| {
        let transform = Transform::RandomFlip { probability };
        let is_other = |i: &u64| transform.apply(&image, &mut streams(3).part("flip", *i)).unwrap() != image;
        (0..1000).filter(is_other).count()
    };
    assert_eq!((flipped(0.0), flipped(1.0)), (0, 1000));
    // Five deviations of the binomial law: 5 √(1000 · 0.3 · 0.7) = 72.5.
    assert!(flipped(0.3).abs_diff(300) <= 72);
}

#[test]
fn normalisation_is_of_intensities_in_the_unit_interval() {
    let image = Image::from_bytes(Array3::from_shape_fn((3, 1, 1), |(c, ..)| [0, 51, 255][c])).unwrap();
    let normalised = normalise(&image, &[0.5, 0.2, 0.0], &[0.25, 1.0, 2.0]).unwrap();
    let values: Vec<f32> = normalised.intensities().iter().copied().collect();
    assert_eq!(values, [-2.0, 0.0, 0.5]);
}

#[test]
fn impossible_settings_are_refused() {
    let image = picture(3, 4, 6);
    let text = |result: attnlab_core::Result<Image>| result.unwrap_err().to_string();
    assert!(text(resize(&image, 0, 3, Resampling::Bicubic)).starts_with("size = 0 x 3: must have from 1"));
    assert!(text(resize(&image, 1 << 20, 1 << 20, Resampling::Bicubic)).starts_with("size = 1048576 x"));
    // Between the passes the image is 4 x 2^25.
    assert!(text(resize(&image, 1, 1 << 25, Resampling::Bicubic)).starts_with("size = 4 x 33554432"));
    assert!(text(pad(&image, usize::MAX)).starts_with("size = "));
    assert!(text(posterise(&image, 9)).starts_with("bits = 9: must be"));
    assert!(text(solarise(&image, f64::NAN)).starts_with("threshold = NaN"));
    assert!(text(brightness(&image, f64::INFINITY)).starts_with("factor = inf"));
    assert!(text(rotate(&image, f64::NAN, 0)).starts_with("degrees = NaN"));
    assert!(text(shear_x(&image, 1e7, 0)).starts_with("slope = "));
    assert!(text(normalise(&image, &[0.0], &[1.0])).contains("(3,), one for each channel"));
    assert!(text(normalise(&image, &[0.0; 3], &[1.0, 0.0, 1.0])).starts_with("deviation = 0"));
    assert!(text(normalise(&image, &[f32::NAN; 3], &[1.0; 3])).starts_with("mean = NaN"));
    let outside = CropBox { top: 1, left: 0, height: 4, width: 6 };
    assert!(text(crop(&image, outside)).starts_with("crop = 4 x 6: must be from 1 x 1 to 3 x 6"));
    assert!(CropBox::centred(4, 6, 5, 6).is_err());
    for (scale, ratio) in
        [((0.0, 1.0), (1.0, 1.0)), ((0.5, 0.1), (1.0, 1.0)), ((0.1, 1.1), (1.0, 1.0)), ((0.1, 1.0), (2.0, 1.0))]
    {
        assert!(CropLaw { scale, ratio }.validate().is_err());
    }
    let most = RandAugment { operations: 1, magnitude: 31, fill: 0 };
    assert!(most.validate().unwrap_err().to_string().starts_with("magnitude = 31"));
    let real = normalise(&image, &[0.0; 3], &[1.0; 3]).unwrap();
    for operation in AugmentOperation::ALL {
        let message = text(operation.apply(&real, 9, false, 0));
        assert!(message.starts_with("pixels = real intensities: must be levels"), "{message}");
    }
    assert!(Transform::RandomFlip { probability: 1.5 }.apply(&image, &mut streams(1).part("x", 0)).is_err());
    assert!(Image::from_bytes(Array3::zeros((2, 1, 1))).is_err());
    assert!(Image::from_bytes(Array3::zeros((1, 0, 1))).is_err());
    assert!(text(Image::from_floats(Array3::from_elem((1, 1, 2), f32::NAN))).starts_with("pixel[0, 0, 0] = NaN"));
}

#[test]
fn chains_are_written_and_read_and_refused_before_any_image() {
    let chain = photographs();
    let text = serde_json::to_string(&chain).unwrap();
    assert!(text.contains("\"transform\":\"random-resized-crop\"") && text.contains("\"magnitude\":9"), "{text}");
    assert_eq!(serde_json::from_str::<Augmentation>(&text).unwrap(), chain);
    assert!(serde_json::from_str::<Augmentation>(&text.replace("\"operations\"", "\"operation\"")).is_err());
    assert!(chain.validate().is_ok());
    assert!(Augmentation::evaluation(32, 28, &[0.5], &[0.2]).validate().is_ok());
    let wrong = Augmentation::small_images(0, 4, &[0.5], &[0.2]).validate();
    assert!(wrong.unwrap_err().to_string().starts_with("size = 0 x 0"));
    let wrong = Augmentation::small_images(8, 4, &[0.5], &[-1.0]).validate();
    assert!(wrong.unwrap_err().to_string().starts_with("deviation = -1"));
}

#[test]
fn translations_by_more_than_the_image_leave_the_fill() {
    let gone = translate(&picture(3, 4, 6), i32::MAX, i32::MIN, 9).unwrap();
    assert!(gone.levels().unwrap().iter().all(|level| *level == 9));
}

proptest! {
    /// A mean of levels is among them for the triangle; a constant image stays constant for both filters.
    #[test]
    fn resizing_keeps_constants_and_bounds(
        (height, width) in (1_usize..9, 1_usize..9),
        (to_height, to_width) in (1_usize..20, 1_usize..20),
        levels in prop::collection::vec(any::<u8>(), 64),
        level in any::<u8>(),
    ) {
        let image = Array3::from_shape_fn((1, height, width), |(_, y, x)| levels[8 * y + x]);
        let (low, high) = (*image.iter().min().unwrap(), *image.iter().max().unwrap());
        let resized = resize(&Image::from_bytes(image).unwrap(), to_height, to_width, Resampling::Bilinear).unwrap();
        prop_assert!(resized.levels().unwrap().iter().all(|level| (low..=high).contains(level)));
        let flat = Image::from_bytes(Array3::from_elem((3, height, width), level)).unwrap();
        for filter in [Resampling::Bilinear, Resampling::Bicubic] {
            let resized = resize(&flat, to_height, to_width, filter).unwrap();
            prop_assert!(resized.levels().unwrap().iter().all(|resized_level| *resized_level == level));
        }
    }

    /// Every operation keeps the size, of any image and at any magnitude; two flips are none.
    #[test]
    fn operations_keep_sizes(
        (height, width) in (1_usize..7, 1_usize..7),
        rgb in any::<bool>(),
        magnitude in 0_u32..=30,
        negative in any::<bool>(),
        fill in any::<u8>(),
    ) {
        let image = picture(if rgb { 3 } else { 1 }, height, width);
        for operation in AugmentOperation::ALL {
            prop_assert_eq!(operation.apply(&image, magnitude, negative, fill).unwrap().dim(), image.dim());
        }
        prop_assert_eq!(flip(&flip(&image)), image);
    }
}
