//! GGUF files: metadata and quantised tensors of llama.cpp and what reads its files.
//!
//! A header is read with a bound on its bytes, and every count in it is held against the bytes that are left, so that
//! nothing is reserved for what the file does not have.

mod blocks;
mod metadata;
mod split;

pub use metadata::GgufValue;
pub(crate) use split::remove_later_parts;

use crate::tensors::{PIECE, content, finite, pieces, unreadable};
use attnlab_core::error::{Error, Result};
use attnlab_core::input;
use attnlab_lab::run::memory;
use blocks::BlockType;
use metadata::Header;
use ndarray::{ArrayD, IxDyn};
use std::collections::BTreeMap;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest header, in bytes; vocabularies of 256 000 tokens with their merges take some 20 million.
const MOST_HEADER: u64 = 256 << 20;

/// Largest number of dimensions of a tensor, as the format has it.
const MOST_DIMENSIONS: u32 = 4;

/// A GGUF file, in one part or several, whose headers have been checked against the lengths of the files.
#[derive(Clone, Debug)]
pub struct Gguf {
    path: PathBuf,
    metadata: BTreeMap<String, GgufValue>,
    tensors: BTreeMap<String, Stored>,
}

/// Place and type of a tensor.
#[derive(Clone, Debug)]
struct Stored {
    file: Arc<Path>,
    kind: BlockType,
    /// Slowest index first, as in every other format here; the file has the reverse.
    shape: Vec<usize>,
    /// First byte in the file.
    start: u64,
    /// Number of bytes; of a type that cannot be read all bytes up to the next tensor.
    bytes: u64,
}

impl Gguf {
    /// Opens a file and reads its header. A split file is opened by its first part, `NAME-00001-of-00003.gguf`, whose
    /// other parts lie beside it.
    ///
    /// # Errors
    /// A file that is no GGUF of version 2 or 3, is cut short, or whose header contradicts itself or its length, with
    /// the tensor or the setting named; a later part of a split file; a part that is missing or of another split.
    pub fn open(path: &Path) -> Result<Self> {
        split::joined(Gguf::single(path)?)
    }

    /// Opens one file and no other parts.
    fn single(path: &Path) -> Result<Self> {
        let file = input::open("GGUF", path).map_err(|e| unreadable(path, e))?;
        let length = file.metadata().map_err(|e| unreadable(path, e))?.len();
        let mut header = Header::new(BufReader::new(file), length.min(MOST_HEADER));
        parse(path, length, &mut header).map_err(|problem| content(path, problem))
    }

    /// Returns the path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the settings of the file by name.
    pub fn metadata(&self) -> &BTreeMap<String, GgufValue> {
        &self.metadata
    }

    /// Returns the names of all tensors, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Returns the shape of a tensor, slowest index first: (out, in) of a matrix.
    ///
    /// # Errors
    /// When there is no such tensor.
    pub fn shape(&self, name: &str) -> Result<Vec<usize>> {
        Ok(self.stored(name)?.shape.clone())
    }

    /// Reads a tensor in f32, of F64, F32, F16, BF16, Q2_K to Q6_K, Q4_0 to Q5_1, Q8_0, IQ4_NL or IQ4_XS.
    ///
    /// # Errors
    /// When there is no such tensor or its type is another; an entry that is not finite in f32, with its place; a
    /// tensor that the memory cannot hold.
    pub fn values(&self, name: &str) -> Result<ArrayD<f32>> {
        let stored = self.stored(name)?;
        let bad = |problem: String| content(&stored.file, format!("{name}: {problem}"));
        let entries: usize = stored.shape.iter().product();
        memory::ensure(&format!("reading {name}"), (entries as u64).saturating_mul(4))?;
        let Some(format) = stored.kind.format() else {
            return Err(bad(format!(
                "must have one of the types {}; it is {}. Download the network in another type, such as Q8_0 or Q4_K_M",
                BlockType::known().join(", "),
                stored.kind.name()
            )));
        };
        let mut values = Vec::with_capacity(entries);
        self.pieces(stored, PIECE / format.bytes * format.bytes, |bytes| (format.widen)(bytes, &mut values))?;
        finite(&stored.shape, &values).map_err(bad)?;
        ArrayD::from_shape_vec(IxDyn(&stored.shape), values).map_err(|e| bad(e.to_string()))
    }

    /// Reads the bytes of a tensor as they are stored.
    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        let stored = self.stored(name)?;
        memory::ensure(&format!("reading {name}"), stored.bytes)?;
        let mut data = vec![];
        self.pieces(stored, PIECE, |bytes| data.extend_from_slice(bytes))?;
        Ok(data)
    }

    fn pieces(&self, stored: &Stored, piece: usize, mut work: impl FnMut(&[u8])) -> Result<()> {
        pieces("GGUF", &stored.file, stored.start, stored.bytes as usize, piece, |bytes| {
            work(bytes);
            Ok(())
        })
    }

    fn stored(&self, name: &str) -> Result<&Stored> {
        self.tensors.get(name).ok_or_else(|| Error::unknown("tensor", name, self.names()))
    }
}

/// Reads a header; the error is the defect and its place.
fn parse(path: &Path, length: u64, header: &mut Header<impl Read>) -> std::result::Result<Gguf, String> {
    if header.bytes()? != *b"GGUF" {
        return Err("must be a GGUF file; it does not begin with \"GGUF\"".into());
    }
    let version = header.u32()?;
    if !matches!(version, 2 | 3) {
        return Err(format!("GGUF version = {version}: must be 2 or 3, little-endian. Convert the file anew"));
    }
    let (tensors, settings) = (header.u64()?, header.u64()?);
    // A setting takes 8 bytes for its name and 5 for its value at least, a tensor 24.
    header.holds(settings, 13, "settings")?;
    header.holds(tensors, 24, "tensors")?;
    let mut metadata = BTreeMap::new();
    for _ in 0..settings {
        let name = header.text("a name of a setting")?;
        if metadata.insert(name.clone(), header.value(&name)?).is_some() {
            return Err(format!("{name}: must be there once"));
        }
    }
    let alignment = match metadata.get("general.alignment") {
        None => 32,
        Some(GgufValue::Unsigned(n)) if n.is_power_of_two() && *n <= 1 << 20 => *n,
        Some(_) => return Err("general.alignment: must be a power of 2, at most 2^20".into()),
    };
    let file: Arc<Path> = path.into();
    let mut stored: Vec<(String, Stored)> = vec![];
    for _ in 0..tensors {
        let name = header.text("a name of a tensor")?;
        let entry = tensor(header, &file, alignment).map_err(|problem| format!("{name}: {problem}"))?;
        stored.push((name, entry));
    }
    let start = header.position.next_multiple_of(alignment);
    let there = length.saturating_sub(start);
    stored.sort_by_key(|(_, t)| t.start);
    let mut next = there;
    for (_, tensor) in stored.iter_mut().rev() {
        if tensor.kind.format().is_none() {
            tensor.bytes = next.saturating_sub(tensor.start);
        }
        next = tensor.start;
    }
    let mut end = 0;
    for (name, tensor) in &mut stored {
        if tensor.start < end {
            return Err(format!("{name}: must begin after the tensor before it"));
        }
        end = tensor.start.saturating_add(tensor.bytes);
        if end > there {
            return Err(format!(
                "{name}: must lie in the file; it ends at byte {end} of {there}: is the file complete?"
            ));
        }
        tensor.start += start;
    }
    let count = stored.len();
    let tensors: BTreeMap<String, Stored> = stored.into_iter().collect();
    if tensors.len() < count {
        return Err("names of tensors must differ".into());
    }
    Ok(Gguf { path: path.to_path_buf(), metadata, tensors })
}

/// Reads the entry of a tensor; its start is counted from the beginning of the data.
fn tensor(header: &mut Header<impl Read>, file: &Arc<Path>, alignment: u64) -> std::result::Result<Stored, String> {
    let dimensions = header.u32()?;
    if dimensions > MOST_DIMENSIONS {
        return Err(format!("must have at most {MOST_DIMENSIONS} dimensions; it has {dimensions}"));
    }
    let shape = (0..dimensions).map(|_| header.u64()).collect::<std::result::Result<Vec<u64>, String>>()?;
    let kind = BlockType(header.u32()?);
    let start = header.u64()?;
    if !start.is_multiple_of(alignment) {
        return Err(format!("must begin at a multiple of {alignment} bytes; it begins at {start}"));
    }
    let entries = shape.iter().try_fold(1_u64, |product, n| product.checked_mul(*n));
    let entries = entries.ok_or_else(|| format!("must have fewer than 2^64 entries; its shape is {shape:?}"))?;
    if entries == 0 {
        return Err(format!("must have entries; its shape is {shape:?}"));
    }
    let bytes = match kind.format() {
        // Known once the place of the next tensor is.
        None => 0,
        Some(format) => {
            let row = shape.first().copied().unwrap_or(1);
            if !row.is_multiple_of(format.entries as u64) {
                let (entries, kind) = (format.entries, kind.name());
                return Err(format!(
                    "must have rows of whole blocks of {entries} entries for its type {kind}; they have {row}"
                ));
            }
            // Fewer than the entries for every type but f32, so the product may not fit.
            (entries / format.entries as u64)
                .checked_mul(format.bytes as u64)
                .ok_or("must have fewer than 2^64 bytes")?
        }
    };
    let sizes: Option<Vec<usize>> = shape.iter().rev().map(|n| usize::try_from(*n).ok()).collect();
    Ok(Stored { file: Arc::clone(file), kind, shape: sizes.ok_or("must fit into the address space")?, start, bytes })
}
