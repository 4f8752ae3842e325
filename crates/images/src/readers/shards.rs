//! Tar shards in the WebDataset convention: `KEY.jpg`, `KEY.jpeg` or `KEY.png` and `KEY.cls`, the number of the class.
//!
//! The key of an entry ends at the first dot of its file name, as in the Python package `webdataset`; its folder belongs
//! to it. Entries with other extensions are skipped, which a remark says.

use super::Remarked;
use crate::dataset::{LabelledImages, check_classes, check_index};
use crate::decode::{MAX_FILE_BYTES, decode};
use crate::files::{content, entries, in_file, open_file, require_content, unreadable};
use crate::image::Image;
use attnlab_core::error::{Error, Result};
use std::collections::BTreeMap;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Longest entry with a number of a class (bytes).
const MAX_CLASS_BYTES: u64 = 32;

/// Images in tar files. Only headers and class numbers are read when it is opened; an image when it is asked for.
#[derive(Clone, Debug)]
pub struct TarShards {
    shards: Vec<PathBuf>,
    places: Vec<Place>,
    labels: Vec<usize>,
    class_names: Vec<String>,
}

/// An image in a shard.
#[derive(Clone, Debug)]
struct Place {
    shard: usize,
    name: String,
    /// Offset and length in the shard (bytes).
    start: u64,
    length: u64,
}

/// The entries of a key.
#[derive(Default)]
struct Sample {
    image: Option<Place>,
    label: Option<usize>,
}

impl TarShards {
    /// Opens the shard at a path, or all `.tar` files of a folder, sorted by name. Images are in the order of their
    /// entries.
    ///
    /// # Errors
    /// A file that is no tar file or cut short; an image without class or a class without image; two entries of a key
    /// and kind; a class that is no number; classes without images between others.
    pub fn open(path: &Path) -> Result<Remarked<Self>> {
        let shards = if path.is_dir() { files(path)? } else { vec![path.to_path_buf()] };
        let problem = "shards = 0: must be at least one .tar file. Give a folder with shards";
        require_content(!shards.is_empty(), path, problem)?;
        let (mut places, mut labels) = (vec![], vec![]);
        let mut skipped = 0;
        for (number, shard) in shards.iter().enumerate() {
            skipped += index(number, shard, &mut places, &mut labels)?;
        }
        let class_names = check_classes(&labels, None).map_err(|e| in_file(path, e))?;
        let remarks = if skipped == 0 { vec![] } else { vec![format!("{skipped} other entries skipped")] };
        Ok(Remarked { images: TarShards { shards, places, labels, class_names }, remarks })
    }
}

impl LabelledImages for TarShards {
    fn class_names(&self) -> &[String] {
        &self.class_names
    }

    fn labels(&self) -> &[usize] {
        &self.labels
    }

    fn image(&self, index: usize) -> Result<Image> {
        check_index(index, self.places.len())?;
        let place = &self.places[index];
        let path = &self.shards[place.shard];
        let (mut file, _) = open_file(path)?;
        let mut bytes = vec![];
        let read =
            file.seek(SeekFrom::Start(place.start)).and_then(|_| file.take(place.length).read_to_end(&mut bytes));
        read.map_err(|e| unreadable(path, e))?;
        decode(&bytes).map_err(|e| content(path, format!("entry '{}': {e}", place.name)))
    }
}

/// Returns the `.tar` files of a folder.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut shards = entries(folder)?;
    shards.retain(|path| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("tar")));
    Ok(shards)
}

/// Lists the images of a shard; returns the number of entries that were skipped. Memory is at most that of the headers.
fn index(number: usize, path: &Path, places: &mut Vec<Place>, labels: &mut Vec<usize>) -> Result<usize> {
    let (file, length) = open_file(path)?;
    let mut archive = tar::Archive::new(BufReader::new(file));
    let broken = |e: std::io::Error| {
        content(path, format!("archive = broken: must be a tar file ({e}). Fetch it again, or decompress it first"))
    };
    let mut samples: BTreeMap<Vec<u8>, Sample> = BTreeMap::new();
    let mut order = vec![];
    let mut skipped = 0;
    for entry in archive.entries_with_seek().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let bytes = entry.path_bytes().into_owned();
        let name = String::from_utf8_lossy(&bytes).into_owned();
        let problem = |problem: String| content(path, format!("entry '{name}': {problem}"));
        let (start, size) = (entry.raw_file_position(), entry.size());
        if start.checked_add(size).is_none_or(|end| end > length) {
            return Err(problem(format!(
                "size = {size} bytes: must end within the {length} bytes of the file. Fetch it again"
            )));
        }
        let Some((key, part)) = part(&bytes).filter(|_| entry.header().entry_type().is_file()) else {
            skipped += usize::from(!entry.header().entry_type().is_dir());
            continue;
        };
        let sample = samples.entry(key.to_vec()).or_insert_with(|| {
            order.push(key.to_vec());
            Sample::default()
        });
        let twice = match part {
            Part::Image => {
                if size > MAX_FILE_BYTES {
                    return Err(problem(format!(
                        "size = {size} bytes: must be at most {MAX_FILE_BYTES}. Write a smaller image"
                    )));
                }
                sample.image.replace(Place { shard: number, name: name.clone(), start, length: size }).is_some()
            }
            Part::Class => {
                let mut text = String::new();
                let read = (&mut entry).take(MAX_CLASS_BYTES + 1).read_to_string(&mut text);
                let class = read.ok().and_then(|_| text.trim().parse().ok());
                let wrong = "class = no number: must be a whole number >= 0. Number the classes from 0";
                sample.label.replace(class.ok_or_else(|| problem(wrong.into()))?).is_some()
            }
        };
        if twice {
            return Err(problem("key = given twice: must have one image and one class. Rename one of them".into()));
        }
    }
    for key in order {
        let shown = String::from_utf8_lossy(&key).into_owned();
        match samples.remove(&key) {
            Some(Sample { image: Some(place), label: Some(label) }) => {
                places.push(place);
                labels.push(label);
            }
            Some(Sample { image: Some(_), .. }) => return Err(missing(path, &shown, "class", ".cls")),
            _ => return Err(missing(path, &shown, "image", ".jpg, .jpeg or .png")),
        }
    }
    Ok(skipped)
}

fn missing(path: &Path, key: &str, what: &str, extensions: &str) -> Error {
    content(path, format!("entry '{key}': {what} = none: must have one. Add an entry with {extensions}"))
}

#[derive(Clone, Copy)]
enum Part {
    Image,
    Class,
}

/// Splits the path of an entry into key and kind; None for other extensions.
fn part(path: &[u8]) -> Option<(&[u8], Part)> {
    let name = path.iter().rposition(|b| *b == b'/').map_or(0, |slash| slash + 1);
    let dot = name + path.get(name..)?.iter().position(|b| *b == b'.')?;
    let (key, extension) = (path.get(..dot)?, path.get(dot + 1..)?);
    let is = |known: &str| extension.eq_ignore_ascii_case(known.as_bytes());
    // A hidden file has no key.
    match dot > name {
        true if is("jpg") || is("jpeg") || is("png") => Some((key, Part::Image)),
        true if is("cls") => Some((key, Part::Class)),
        _ => None,
    }
}
