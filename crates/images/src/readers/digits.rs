//! scikit-learn's digits (`digits.csv.gz` in its wheel): 1797 images of 8 × 8, from the test part of the "Optical
//! Recognition of Handwritten Digits" data of the UCI repository (Alpaydin, Kaynak 1998).
//!
//! A line has 64 levels from 0 to 16, row by row, and the label. Intensities are levels over 16, exact in f32.

use crate::dataset::{Numbers, StoredImages};
use crate::files::{Source, content, in_file};
use attnlab_core::error::Result;
use ndarray::Array4;
use std::path::Path;

/// Longest text (bytes), decompressed: two hundred times the published one.
const MAX_TEXT_BYTES: u64 = 1 << 26;

/// Levels of a line.
const LEVELS: usize = 64;

/// Reads a file in this format, plain or in gzip, of any number of lines.
///
/// # Errors
/// A file that cannot be read; a line of other than 65 numbers, a level above 16, a label above 9 (with the number of
/// the line); a class without images; more than 64 MiB of text.
pub fn open(path: &Path) -> Result<StoredImages> {
    let text = Source::open(path)?.limited(MAX_TEXT_BYTES + 1);
    let mut lines = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
    let (mut intensities, mut labels) = (vec![], vec![]);
    let mut record = csv::ByteRecord::new();
    loop {
        let more = lines.read_byte_record(&mut record).map_err(|e| {
            content(path, format!("text = broken: must be lines of numbers ({e}). Fetch the file again"))
        })?;
        if lines.position().byte() > MAX_TEXT_BYTES {
            let problem =
                format!("bytes = more than {MAX_TEXT_BYTES}: must be at most so many. Give a smaller part of the text");
            return Err(content(path, problem));
        }
        if !more {
            break;
        }
        let number = labels.len() + 1;
        if record.len() != LEVELS + 1 {
            let problem = format!(
                "numbers in line {number} = {}: must be 65, levels of 8 x 8 pixels and the label. Fetch the file again",
                record.len()
            );
            return Err(content(path, problem));
        }
        for (place, field) in record.iter().enumerate() {
            let most = if place == LEVELS { 9 } else { 16 };
            let value = std::str::from_utf8(field).ok().and_then(|text| text.trim().parse::<u8>().ok());
            match value.filter(|value| *value <= most) {
                Some(label) if place == LEVELS => labels.push(usize::from(label)),
                Some(level) => intensities.push(f32::from(level) / 16.0),
                None => {
                    let shown: String = String::from_utf8_lossy(field).chars().take(20).collect();
                    let problem = format!(
                        "number {} of line {number} = {shown}: must be a whole number from 0 to {most}. Fetch the \
                         file again",
                        place + 1
                    );
                    return Err(content(path, problem));
                }
            }
        }
    }
    let images = Array4::from_shape_vec((labels.len(), 1, 8, 8), intensities);
    let images = Numbers::Floats(images.map_err(|e| content(path, e.to_string()))?);
    StoredImages::new(images, labels, None).map_err(|e| in_file(path, e))
}

/// Returns `true` if a text begins like this format: 64 commas between digits in the first line.
pub(crate) fn is_like(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let plain = line.iter().all(|byte| byte.is_ascii_digit() || *byte == b',');
    plain && line.iter().filter(|byte| **byte == b',').count() == LEVELS
}
