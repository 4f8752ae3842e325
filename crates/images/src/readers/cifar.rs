//! The binary files of CIFAR-10 and CIFAR-100 (Krizhevsky 2009).
//!
//! A record is a label (CIFAR-10) or a coarse and a fine label (CIFAR-100), a byte each, and 3 · 32 · 32 levels: planes
//! of red, green and blue, row by row.

use super::Remarked;
use crate::dataset::{Numbers, StoredImages};
use crate::files::{KIND, content, entries, in_file, open_file, read_whole, require_content, unreadable};
use attnlab_core::error::Result;
use attnlab_core::input;
use ndarray::Array4;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// Levels of an image.
const LEVELS: usize = 3 * 32 * 32;

/// The labels that a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CifarLabels {
    /// The 10 classes of CIFAR-10.
    Ten,
    /// The 100 classes of CIFAR-100.
    Fine,
    /// The 20 classes of CIFAR-100, of 5 fine classes each.
    Coarse,
}

impl CifarLabels {
    /// Numbers of classes of the labels of a record, in their order.
    fn ranges(self) -> &'static [u8] {
        if self == CifarLabels::Ten { &[10] } else { &[20, 100] }
    }

    /// Length of a record in bytes.
    fn record_bytes(self) -> usize {
        self.ranges().len() + LEVELS
    }

    /// Returns `true` if a file of `length` bytes is a whole number of records, and not 0.
    fn has_records_of(self, length: u64) -> bool {
        length > 0 && length.is_multiple_of(self.record_bytes() as u64)
    }

    /// Index of the label that is used.
    fn place(self) -> usize {
        usize::from(self == CifarLabels::Fine)
    }

    /// Name of the file with the names of the classes.
    fn names_file(self) -> &'static str {
        match self {
            CifarLabels::Ten => "batches.meta.txt",
            CifarLabels::Fine => "fine_label_names.txt",
            CifarLabels::Coarse => "coarse_label_names.txt",
        }
    }
}

/// Reads one or more files, one after the other. The names of classes are taken from `batches.meta.txt`,
/// `fine_label_names.txt` or `coarse_label_names.txt` beside the first file; without it they are numbers, which a remark
/// says.
///
/// # Errors
/// A file that cannot be read, or has no whole number of records, or a label out of range (with its record); a class
/// without images; names of another number than of classes.
pub fn open(files: &[PathBuf], labels: CifarLabels) -> Result<Remarked<StoredImages>> {
    let (mut levels, mut targets) = (vec![], vec![]);
    for path in files {
        records(path, labels, &mut levels, &mut targets)?;
    }
    let Some(first) = files.first() else { return Err(content(Path::new(""), "files = []: must be at least one")) };
    let classes = usize::from(labels.ranges()[labels.place()]);
    let names_path = first.with_file_name(labels.names_file());
    let mut remarks = vec![];
    let names = match input::is_file(KIND, &names_path) {
        true => names(&names_path, classes)?,
        false => {
            remarks.push(format!("no {}: classes are numbers", labels.names_file()));
            (0..classes).map(|c| c.to_string()).collect()
        }
    };
    let images = Array4::from_shape_vec((targets.len(), 3, 32, 32), levels);
    let images = Numbers::Bytes(images.map_err(|e| content(first, e.to_string()))?);
    Ok(Remarked { images: StoredImages::new(images, targets, Some(names)).map_err(|e| in_file(first, e))?, remarks })
}

/// Reads the training part of an unpacked folder: `data_batch_*.bin` of CIFAR-10, or `train.bin` of CIFAR-100 with its
/// fine labels. The test part is opened as a file, as a remark says.
///
/// # Errors
/// As [`open`]; a folder without these files, or with those of both.
pub fn open_folder(folder: &Path) -> Result<Remarked<StoredImages>> {
    let (ten, hundred) = training_files(folder)?;
    let (files, labels, test) = match (ten.is_empty(), hundred.is_empty()) {
        (false, true) => (ten, CifarLabels::Ten, "test_batch.bin"),
        (true, false) => (hundred, CifarLabels::Fine, "test.bin"),
        _ => {
            let problem = "files = neither or both of data_batch_1.bin, .. and train.bin: must be those of one data \
                           set. Give a folder of CIFAR-10 or of CIFAR-100";
            return Err(content(folder, problem));
        }
    };
    let mut opened = open(&files, labels)?;
    if folder.join(test).is_file() {
        opened.remarks.push(format!("training part; the test part is the file {test}"));
    }
    Ok(opened)
}

/// Returns the training files of CIFAR-10 and of CIFAR-100 in a folder.
pub(crate) fn training_files(folder: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let files = entries(folder)?;
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let ten = |path: &&PathBuf| name(path).starts_with("data_batch_") && name(path).ends_with(".bin");
    let hundred = |path: &&PathBuf| name(path) == "train.bin";
    Ok((files.iter().filter(ten).cloned().collect(), files.iter().filter(hundred).cloned().collect()))
}

/// Returns the labels that a file can have: by its length, and by the ranges of all labels. None if no reading fits, or
/// more than one.
pub(crate) fn recognise(path: &Path) -> Result<Option<CifarLabels>> {
    let mut fitting = vec![];
    for labels in [CifarLabels::Ten, CifarLabels::Fine] {
        let (_, length) = open_file(path)?;
        if labels.has_records_of(length) && each(path, labels, |_, _| {})?.is_none() {
            fitting.push(labels);
        }
    }
    Ok(if let [only] = fitting[..] { Some(only) } else { None })
}

fn records(path: &Path, labels: CifarLabels, levels: &mut Vec<u8>, classes: &mut Vec<usize>) -> Result<()> {
    let (_, length) = open_file(path)?;
    let record = labels.record_bytes();
    let problem = format!(
        "bytes = {length}: must be a multiple of {record}, the length of a record, and not 0. Fetch the file again"
    );
    require_content(labels.has_records_of(length), path, problem)?;
    let wrong = each(path, labels, |bytes, pixels| {
        classes.push(usize::from(bytes[labels.place()]));
        levels.extend(pixels);
    })?;
    let Some((number, label, range)) = wrong else { return Ok(()) };
    let problem =
        format!("label of record {number} = {label}: must be below {range}. Check that the file is of this data set");
    Err(content(path, problem))
}

/// Calls a function on labels and levels of each record, up to the first with a label out of range; returns the number of
/// that record, the label and its range.
fn each(path: &Path, labels: CifarLabels, mut f: impl FnMut(&[u8], &[u8])) -> Result<Option<(u64, u8, u8)>> {
    let (file, length) = open_file(path)?;
    let mut reader = BufReader::new(file);
    let mut record = vec![0; labels.record_bytes()];
    for number in 0..length / record.len() as u64 {
        reader.read_exact(&mut record).map_err(|e| unreadable(path, e))?;
        let (these, pixels) = record.split_at(labels.ranges().len());
        if let Some((label, range)) = these.iter().zip(labels.ranges()).find(|(label, range)| label >= range) {
            return Ok(Some((number, *label, *range)));
        }
        f(these, pixels);
    }
    Ok(None)
}

/// Longest file of names (bytes).
const MAX_NAMES_BYTES: u64 = 1 << 20;

fn names(path: &Path, classes: usize) -> Result<Vec<String>> {
    let text = String::from_utf8(read_whole(path, MAX_NAMES_BYTES)?)
        .map_err(|_| content(path, "names = no UTF-8: must be UTF-8. Fetch the file again"))?;
    let names: Vec<String> = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(String::from).collect();
    let count = names.len();
    let problem =
        format!("names = {count}: must be {classes}, one line for each class. Fetch the file again, or remove it");
    require_content(count == classes, path, problem)?;
    Ok(names)
}
