//! Transforms and decoders against `pillow.bin.gz`, made by `make_pillow.py`.

use attnlab_images::transforms::{AugmentOperation, Resampling, auto_contrast, equalise, resize, rotate};
use attnlab_images::{Image, Pixels, decode};
use ndarray::Array3;
use std::collections::BTreeMap;
use std::io::Read;

/// Largest difference of a JPEG from libjpeg's, in levels: both decoders round the inverse cosine transform and the
/// conversion of colours, each in its own fixed-point arithmetic.
const JPEG_LEVELS: u8 = 2;

/// Level of pixels from outside, in the script.
const FILL: u8 = 77;

enum Record {
    File(Vec<u8>),
    Image(Image),
}

pub(crate) struct Records(BTreeMap<String, Record>);

impl Records {
    pub(crate) fn read() -> Self {
        let file = std::fs::File::open(crate::data("pillow.bin.gz")).unwrap();
        let mut bytes = vec![];
        flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
        let mut rest = &bytes[..];
        let mut take = |count: usize| {
            let (taken, after) = rest.split_at(count.min(rest.len()));
            rest = after;
            taken
        };
        let mut records = BTreeMap::new();
        while let &[a, b] = take(2) {
            let name = String::from_utf8(take(usize::from(u16::from_le_bytes([a, b]))).to_vec()).unwrap();
            let kind = take(1)[0];
            let sizes = take(12).as_chunks::<4>().0.iter().map(|n| u32::from_le_bytes(*n) as usize);
            let shape: [usize; 3] = sizes.collect::<Vec<_>>().try_into().unwrap();
            let count: usize = shape.iter().product();
            let record = match kind {
                0 => Record::File(take(count).to_vec()),
                1 => {
                    let levels = Array3::from_shape_vec(shape, take(count).to_vec()).unwrap();
                    Record::Image(Image::from_bytes(levels).unwrap())
                }
                _ => {
                    let values = take(4 * count).as_chunks::<4>().0.iter().map(|x| f32::from_le_bytes(*x));
                    Record::Image(Image::from_floats(Array3::from_shape_vec(shape, values.collect()).unwrap()).unwrap())
                }
            };
            records.insert(name, record);
        }
        Records(records)
    }

    /// Bytes of a file that Pillow wrote.
    pub(crate) fn file(&self, name: &str) -> &[u8] {
        match self.0.get(&format!("file {name}")) {
            Some(Record::File(bytes)) => bytes,
            _ => panic!("no file {name}"),
        }
    }

    fn image(&self, name: &str) -> &Image {
        match self.0.get(name) {
            Some(Record::Image(image)) => image,
            _ => panic!("no image {name}"),
        }
    }
}

/// Largest difference of two images, in levels.
fn difference(a: &Image, b: &Image) -> u8 {
    assert_eq!(a.dim(), b.dim());
    let (a, b) = (a.levels().unwrap(), b.levels().unwrap());
    a.iter().zip(b).map(|(x, y)| x.abs_diff(*y)).max().unwrap()
}

#[test]
fn every_operation_gives_the_levels_of_pillow() {
    let records = Records::read();
    for (source, magnitudes) in [("small", &[9, 30][..]), ("grey", &[17])] {
        let image = records.image(source);
        for operation in AugmentOperation::ALL {
            for (magnitude, negative, sign) in magnitudes.iter().flat_map(|m| [(m, false, "+"), (m, true, "-")]) {
                let made = operation.apply(image, *magnitude, negative, FILL).unwrap();
                let name = operation.name();
                let expected = match operation {
                    AugmentOperation::Identity => source.to_string(),
                    AugmentOperation::AutoContrast | AugmentOperation::Equalise => format!("{source} {name}"),
                    _ if operation.is_signed() => format!("{source} {magnitude} {name} {sign}"),
                    _ => format!("{source} {magnitude} {name}"),
                };
                assert_eq!(&made, records.image(&expected), "{expected}");
            }
        }
    }
}

#[test]
fn tables_of_histograms_give_the_levels_of_pillow() {
    let records = Records::read();
    for source in ["large", "flat"] {
        assert_eq!(&auto_contrast(records.image(source)).unwrap(), records.image(&format!("{source} auto_contrast")));
    }
    for source in ["large", "flat", "uneven"] {
        assert_eq!(&equalise(records.image(source)).unwrap(), records.image(&format!("{source} equalise")));
    }
    // The table is not the identity where there are enough pixels.
    assert_ne!(records.image("large equalise"), records.image("large"));
}

#[test]
fn rotations_by_any_angle_give_the_levels_of_pillow() {
    let records = Records::read();
    for angle in ["45", "77.7", "-123", "180.5"] {
        let made = rotate(records.image("small"), angle.parse().unwrap(), FILL).unwrap();
        assert_eq!(&made, records.image(&format!("small rotate {angle}")), "{angle}");
    }
}

#[test]
fn grey_is_that_of_pillow() {
    let records = Records::read();
    assert_eq!(&records.image("small").to_grey(), records.image("small to grey"));
}

/// Levels are equal. Real intensities too: both sum in f64 in the same order.
#[test]
fn resized_images_are_those_of_pillow() {
    let records = Records::read();
    let mut compared = 0;
    for (name, record) in &records.0 {
        let words: Vec<&str> = name.split(' ').collect();
        let ([source, filter, height, width], Record::Image(expected)) = (&words[..], record) else { continue };
        let filter = match *filter {
            "bilinear" => Resampling::Bilinear,
            "bicubic" => Resampling::Bicubic,
            _ => continue,
        };
        let (height, width) = (height.parse().unwrap(), width.parse().unwrap());
        assert_eq!(&resize(records.image(source), height, width, filter).unwrap(), expected, "{name}");
        compared += 1;
    }
    assert_eq!(compared, 16);
}

#[test]
fn decoded_files_are_those_of_pillow() {
    let records = Records::read();
    let mut worst = BTreeMap::new();
    for (name, record) in &records.0 {
        let (Some(name), Record::File(bytes)) = (name.strip_prefix("file "), record) else { continue };
        let image = decode(bytes).unwrap();
        assert!(matches!(image.pixels(), Pixels::Bytes(_)));
        worst.insert(name, difference(&image, records.image(&format!("decoded {name}"))));
    }
    for (name, difference) in &worst {
        let allowed = if name.ends_with(".jpg") { JPEG_LEVELS } else { 0 };
        assert!(*difference <= allowed, "{name}: {worst:?}");
    }
    assert_eq!(worst.len(), 11, "{worst:?}");
}
