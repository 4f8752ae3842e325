//! NumPy arrays: images (N, H, W) or (N, H, W, C), of uint8 or float32, and labels (N,) of an integer type.
//!
//! The reader of crates/networks knows matrices only and stands on the laboratory; this one needs neither.

use crate::dataset::{Numbers, StoredImages};
use crate::files::{content, entries, in_file, open_file, unreadable};
use attnlab_core::error::Result;
use attnlab_core::npy::check_header;
use ndarray::{Array4, ArrayD, Axis, Ix4};
use ndarray_npy::npy::header::Header;
use ndarray_npy::{ReadNpyExt, ReadableElement};
use std::io::{BufReader, Seek};
use std::path::{Path, PathBuf};

/// Reads images and labels. float32 is kept as it is, in the unit of the file; classes are called by their numbers.
///
/// # Errors
/// A file that cannot be read, is no NumPy file, is cut short or longer than its header says; another type or shape;
/// entries that are not finite; labels that are negative or too many or too few; a class without images.
pub fn open(images: &Path, labels: &Path) -> Result<StoredImages> {
    let file = NpyFile::open(images)?;
    let numbers = match file.kind.as_str() {
        "u1" => Numbers::Bytes(channels_first(&file, file.read::<u8>()?)?),
        "f4" => {
            let values = file.read::<f32>()?;
            if let Some((place, x)) = values.indexed_iter().find(|(_, x)| !x.is_finite()) {
                let name = format!("entry {:?}", ndarray::Dimension::slice(&place));
                return Err(content(images, format!("{name} = {x}: must be a finite number. Replace it")));
            }
            Numbers::Floats(channels_first(&file, values)?)
        }
        _ => return Err(file.wrong_type("uint8 or float32", "x.astype('float32')")),
    };
    let file = NpyFile::open(labels)?;
    if file.shape.len() != 1 {
        return Err(file.wrong_shape("(N,), a label for each image"));
    }
    let found = match file.kind.as_str() {
        "i1" => file.labels::<i8>(),
        "i2" => file.labels::<i16>(),
        "i4" => file.labels::<i32>(),
        "i8" => file.labels::<i64>(),
        "u1" => file.labels::<u8>(),
        "u2" => file.labels::<u16>(),
        "u4" => file.labels::<u32>(),
        "u8" => file.labels::<u64>(),
        _ => Err(file.wrong_type("an integer type", "y.astype('int64')")),
    }?;
    StoredImages::new(numbers, found, None).map_err(|e| in_file(labels, e))
}

/// Reads the images at a path with the labels of the only other NumPy file of its folder that has one dimension; or
/// those of a folder with two files.
///
/// # Errors
/// As [`open`]; more or fewer files.
pub fn open_beside(path: &Path) -> Result<StoredImages> {
    let is_folder = path.is_dir();
    let parent = match path.parent() {
        _ if is_folder => path,
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    };
    let (mut images, mut labels) = (vec![], vec![]);
    for file in files(parent)? {
        match NpyFile::open(&file)?.shape.len() {
            1 => labels.push(file),
            _ if is_folder || file.file_name() == path.file_name() => images.push(file),
            _ => {}
        }
    }
    match (&images[..], &labels[..]) {
        ([images], [labels]) => open(images, labels),
        _ => {
            let problem = format!(
                "NumPy files of images and labels = {} and {}: must be one each, labels in one dimension. Put the two \
                 into a folder of their own",
                images.len(),
                labels.len()
            );
            Err(content(path, problem))
        }
    }
}

/// Returns the NumPy files of a folder, by their extension.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = entries(folder)?;
    all.retain(|path| path.extension().is_some_and(|e| e == "npy"));
    Ok(all)
}

/// Orders the axes (N, H, W) or (N, H, W, C) as (N, C, H, W), without a copy.
fn channels_first<T>(file: &NpyFile, values: ArrayD<T>) -> Result<Array4<T>> {
    let expected =
        "(N, H, W) or (N, H, W, C) with C of 1 or 3 and no 0. For (N, C, H, W) write x.transpose(0, 2, 3, 1)";
    let values = match file.shape[..] {
        [_, _, _] => values.insert_axis(Axis(3)),
        [_, _, _, 1 | 3] => values,
        _ => return Err(file.wrong_shape(expected)),
    };
    if file.shape.contains(&0) {
        return Err(file.wrong_shape(expected));
    }
    let values = values.into_dimensionality::<Ix4>();
    let values = values.map_err(|e| content(&file.path, e.to_string()))?;
    Ok(values.permuted_axes([0, 3, 1, 2]))
}

/// A NumPy file whose header has been checked against its length.
struct NpyFile {
    path: PathBuf,
    /// Type without byte order: "u1", "f4", ..
    kind: String,
    shape: Vec<usize>,
}

impl NpyFile {
    fn open(path: &Path) -> Result<Self> {
        let (file, length) = open_file(path)?;
        let mut reader = BufReader::new(file);
        check_header(&mut reader).map_err(|problem| content(path, problem))?;
        let header = Header::from_reader(&mut reader)
            .map_err(|e| content(path, format!("header = {e}: must be that of numpy.save. Write the file again")))?;
        let start = reader.stream_position().map_err(|e| unreadable(path, e))?;
        let kind = header.type_descriptor.to_string();
        let kind = kind.trim_matches(['\'', '<', '>', '|', '=']).to_string();
        let width = kind.get(1..).and_then(|width| width.parse::<u64>().ok());
        let bytes = header.shape.iter().try_fold(width.unwrap_or(1), |all, n| all.checked_mul(*n as u64));
        let file = NpyFile { path: path.to_path_buf(), kind, shape: header.shape };
        let there = length.saturating_sub(start);
        if width.is_none() {
            return Err(file.wrong_type("numbers", "x.astype('float32')"));
        }
        if bytes != Some(there) {
            let problem = format!(
                "shape = {:?}: must fill the {there} bytes of data in the file. Write the file again",
                file.shape
            );
            return Err(content(path, problem));
        }
        Ok(file)
    }

    fn read<T: ReadableElement>(&self) -> Result<ArrayD<T>> {
        let (file, _) = open_file(&self.path)?;
        ArrayD::read_npy(BufReader::new(file))
            .map_err(|e| content(&self.path, format!("data = broken: must be whole ({e}). Write the file again")))
    }

    fn labels<T: ReadableElement + Copy + TryInto<usize> + std::fmt::Display>(&self) -> Result<Vec<usize>> {
        let label = |(i, x): (usize, &T)| {
            (*x).try_into().map_err(|_| {
                content(&self.path, format!("label {i} = {x}: must be a whole number >= 0. Number the classes from 0"))
            })
        };
        self.read::<T>()?.iter().enumerate().map(label).collect()
    }

    fn wrong_type(&self, allowed: &str, example: &str) -> attnlab_core::Error {
        let problem = format!("type = {}: must be {allowed}. Write {example}", self.kind);
        content(&self.path, problem)
    }

    fn wrong_shape(&self, expected: &str) -> attnlab_core::Error {
        content(&self.path, format!("shape = {:?}: must be {expected}", self.shape))
    }
}
