//! NumPy arrays: images (N, H, W) or (N, H, W, C), of uint8 or float32, and labels (N,) of an integer type.
//!
//! Header and data are read by [`attnlab_core::npy`].

use crate::dataset::{Numbers, StoredImages};
use crate::files::{content, entries, in_file, open_file};
use attnlab_core::error::Result;
use attnlab_core::npy::{Element, Header};
use ndarray::{Array4, ArrayD, Axis, Ix4};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// Reads images and labels. float32 is kept as it is, in the unit of the file; classes are called by their numbers.
///
/// # Errors
/// A file that cannot be read, is no NumPy file, is cut short or longer than its header says; another type or shape;
/// entries that are not finite; labels that are negative or too many or too few; a class without images.
pub fn open(images: &Path, labels: &Path) -> Result<StoredImages> {
    let mut file = NpyFile::open(images)?;
    let numbers = match file.header.kind() {
        "u1" => Numbers::Bytes(file.read::<u8>().and_then(|values| channels_first(&file, values))?),
        "f4" => {
            let values = file.read::<f32>()?;
            if let Some((place, x)) = values.indexed_iter().find(|(_, x)| !x.is_finite()) {
                let place = ndarray::Dimension::slice(&place);
                return Err(content(images, format!("entry {place:?} = {x}: must be a finite number. Replace it")));
            }
            Numbers::Floats(channels_first(&file, values)?)
        }
        _ => return Err(file.wrong_type("uint8 or float32", "x.astype('float32')")),
    };
    StoredImages::new(numbers, NpyFile::open(labels)?.labels()?, None).map_err(|e| in_file(labels, e))
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
        match NpyFile::open(&file)?.header.shape.len() {
            1 => labels.push(file),
            _ if is_folder || file.file_name() == path.file_name() => images.push(file),
            _ => {}
        }
    }
    if let ([images], [labels]) = (&images[..], &labels[..]) {
        return open(images, labels);
    }
    let (images, labels) = (images.len(), labels.len());
    let problem = format!(
        "NumPy files of images and labels = {images} and {labels}: must be one each, labels in one dimension. Put the two \
         into a folder of their own"
    );
    Err(content(path, problem))
}

/// Returns the NumPy files of a folder, by their extension.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = entries(folder)?;
    files.retain(|path| path.extension().is_some_and(|e| e == "npy"));
    Ok(files)
}

/// Orders the axes (N, H, W) or (N, H, W, C) as (N, C, H, W), without a copy.
fn channels_first<T>(file: &NpyFile, values: ArrayD<T>) -> Result<Array4<T>> {
    let expected = "must be (N, H, W) or (N, H, W, C) with C of 1 or 3 and no 0. For (N, C, H, W) write \
                    x.transpose(0, 2, 3, 1)";
    let values = match file.header.shape[..] {
        [_, _, _] if !file.header.shape.contains(&0) => values.insert_axis(Axis(3)),
        [_, _, _, 1 | 3] if !file.header.shape.contains(&0) => values,
        _ => return Err(file.wrong_shape(expected)),
    };
    Ok(values.into_dimensionality::<Ix4>().map_err(|e| content(&file.path, e.to_string()))?.permuted_axes([0, 3, 1, 2]))
}

/// A NumPy file whose header has been checked against its length.
struct NpyFile {
    path: PathBuf,
    header: Header,
    /// Reader at the first byte of the data.
    reader: BufReader<File>,
}

impl NpyFile {
    fn open(path: &Path) -> Result<Self> {
        let (file, length) = open_file(path)?;
        let mut reader = BufReader::new(file);
        let header = Header::read(&mut reader).map_err(|e| content(path, e.to_string()))?;
        let there = length.saturating_sub(header.start);
        let file = NpyFile { path: path.to_path_buf(), header, reader };
        match file.header.data_bytes() {
            Some(bytes) if bytes == there => Ok(file),
            Some(_) => {
                Err(file.wrong_shape(&format!("must fill the {there} bytes of data in the file. Write the file again")))
            }
            None => Err(file.wrong_type("numbers", "x.astype('float32')")),
        }
    }

    fn read<T: Element>(&mut self) -> Result<ArrayD<T>> {
        self.header.data(&mut self.reader).map_err(|e| content(&self.path, e.to_string()))
    }

    fn labels(&mut self) -> Result<Vec<usize>> {
        if self.header.shape.len() != 1 {
            return Err(self.wrong_shape("must be (N,), a label for each image"));
        }
        let labels = self.header.integers(&mut self.reader).map_err(|e| content(&self.path, e.to_string()))?;
        let labels = labels.ok_or_else(|| self.wrong_type("an integer type", "y.astype('int64')"))?;
        let label = |(i, x): (usize, i128)| {
            usize::try_from(x).map_err(|_| {
                content(&self.path, format!("label {i} = {x}: must be a whole number >= 0. Number the classes from 0"))
            })
        };
        labels.into_iter().enumerate().map(label).collect()
    }

    fn wrong_type(&self, allowed: &str, example: &str) -> attnlab_core::Error {
        content(&self.path, format!("type = {}: must be {allowed}. Write {example}", self.header.kind()))
    }

    fn wrong_shape(&self, requirement: &str) -> attnlab_core::Error {
        content(&self.path, format!("shape = {:?}: {requirement}", self.header.shape))
    }
}
