//! The idx files of MNIST and its relatives (LeCun, Cortes, Burges 1998), plain or in gzip.
//!
//! Two zero bytes, the type (8: bytes), the number of dimensions, the sizes as big-endian 32-bit numbers, the data.

use super::Remarked;
use crate::dataset::{Numbers, StoredImages};
use crate::files::{Source, content, entries, in_file, is_folder};
use attnlab_core::error::Result;
use ndarray::Array4;
use std::path::{Path, PathBuf};

/// Reads images (3 dimensions) and their labels (1 dimension). Classes are called by their numbers.
///
/// # Errors
/// A file that cannot be read, is no idx file of bytes with these dimensions, is cut short or goes on after its end;
/// other numbers of labels than of images; a class without images.
pub fn open(images: &Path, labels: &Path) -> Result<StoredImages> {
    let (sizes, levels) = array(images, 3)?;
    let [count, height, width] = sizes[..] else { return Err(content(images, "dimensions = wrong: must be 3")) };
    let levels = Array4::from_shape_vec((count, 1, height, width), levels);
    let levels = Numbers::Bytes(levels.map_err(|e| content(images, e.to_string()))?);
    let classes = array(labels, 1)?.1.into_iter().map(usize::from).collect();
    StoredImages::new(levels, classes, None).map_err(|e| in_file(labels, e))
}

/// Reads images and the labels of the file beside it whose name has `labels` for `images` and `idx1` for `idx3`.
///
/// # Errors
/// As [`open`]; a name without `images`.
pub fn open_beside(images: &Path) -> Result<StoredImages> {
    let problem = "name = without 'images': must have it, so that the file of labels is found. Rename both as in \
                   train-images-idx3-ubyte and train-labels-idx1-ubyte";
    open(images, &labels_of(images).ok_or_else(|| content(images, problem))?)
}

/// Reads the images of a folder with one pair of files, or with the training part (`train..`) and the test part (`t10k..`
/// or `test..`) of a data set, of which it reads the former, as a remark says.
///
/// # Errors
/// As [`open`]; other files.
pub fn open_folder(folder: &Path) -> Result<Remarked<StoredImages>> {
    let mut files = image_files(folder)?;
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut remarks = vec![];
    if let [first, second] = &files[..] {
        // By name: "t10k" and "test" come before "train".
        let test = ["t10k", "test"].iter().any(|t| name(first).starts_with(t));
        if test && name(second).starts_with("train") {
            remarks.push(format!("training part; the test part is the file {}", name(first)));
            files.remove(0);
        }
    }
    if let [images] = &files[..] {
        return Ok(Remarked { images: open_beside(images)?, remarks });
    }
    let count = files.len();
    let problem =
        format!("idx files of images = {count}: must be one, or those of a training and a test part. Give a file");
    Err(content(folder, problem))
}

/// Returns the idx files of images in a folder.
pub(crate) fn image_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = vec![];
    for path in entries(folder)? {
        // Broken gzip has no head.
        if !is_folder(&path)? && dimensions(&Source::open(&path)?.head(4).unwrap_or_default()) == Some(3) {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// Returns the number of dimensions of an idx file of bytes by its first four bytes.
pub(crate) fn dimensions(head: &[u8]) -> Option<u8> {
    if let [0, 0, 8, dimensions @ 1..=4, ..] = head { Some(*dimensions) } else { None }
}

fn labels_of(images: &Path) -> Option<PathBuf> {
    let name = images.file_name()?.to_str()?;
    let labels = name.replacen("images", "labels", 1).replacen("idx3", "idx1", 1);
    (labels != name).then(|| images.with_file_name(labels))
}

/// Reads an array of `dimensions` dimensions: its sizes, and its bytes in row-major order.
fn array(path: &Path, dimensions: u8) -> Result<(Vec<usize>, Vec<u8>)> {
    let mut source = Source::open(path)?;
    let magic = source.exactly("magic number", 4)?;
    if magic != [0, 0, 8, dimensions] {
        let shown: Vec<String> = magic.iter().map(|b| format!("{b:02x}")).collect();
        let problem = format!(
            "magic number = {}: must be 00 00 08 {dimensions:02x}, bytes in {dimensions} dimensions. Give an idx file",
            shown.join(" ")
        );
        return Err(content(path, problem));
    }
    let header = source.exactly("sizes", 4 * u64::from(dimensions))?;
    let (words, _) = header.as_chunks::<4>();
    let sizes: Vec<u64> = words.iter().map(|w| u64::from(u32::from_be_bytes(*w))).collect();
    let shape: Vec<String> = sizes.iter().map(u64::to_string).collect();
    let count = sizes.iter().try_fold(1_u64, |product, n| product.checked_mul(*n));
    let data = source.exactly(&format!("data of shape ({})", shape.join(", ")), count.unwrap_or(u64::MAX))?;
    source.end()?;
    Ok((sizes.into_iter().map(|n| n as usize).collect(), data))
}
