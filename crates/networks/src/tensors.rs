//! One file with tensors.

use crate::foreign;
use crate::gguf::Gguf;
use crate::npy;
use attnlab_core::error::{Error, Result};
use attnlab_core::input;
use attnlab_lab::run::memory;
use half::{bf16, f16};
use ndarray::{Array2, ArrayD, IxDyn};
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// A file with tensors, whose header has been checked against its length.
#[derive(Clone, Debug)]
pub(crate) enum TensorFile {
    /// Many tensors.
    Safe {
        path: PathBuf,
        /// First byte of the data.
        start: u64,
        tensors: BTreeMap<String, TensorInfo>,
    },
    /// Many tensors, quantised or not, with settings.
    Gguf(Gguf),
    /// One matrix, whose name is that of the file.
    Npy { path: PathBuf, shape: Vec<usize> },
}

/// Largest header of a safetensors file, in bytes: that of 80 000 tensors, which take 150 MB of memory. The reference
/// implementation allows twelve times as much, which takes 2 GB.
const MOST_HEADER: u64 = 8 << 20;

/// Bytes of a tensor that are read at a time; a multiple of every type's size.
pub(crate) const PIECE: usize = 1 << 20;

impl TensorFile {
    /// Returns `true` if the ending of a file is one of a known kind.
    pub(crate) fn is_known(path: &Path) -> bool {
        path.extension().is_some_and(|e| e == "safetensors" || e == "gguf" || e == "npy")
    }

    pub(crate) fn open(path: &Path) -> Result<Self> {
        input::note("tensor", path);
        if let Some(problem) = foreign::refusal(path) {
            return Err(content(path, problem));
        }
        if path.extension().is_some_and(|e| e == "npy") {
            let shape = npy::shape("the checkpoint", path)?;
            return Ok(TensorFile::Npy { path: path.to_path_buf(), shape });
        }
        if path.extension().is_some_and(|e| e == "gguf") {
            return Gguf::open(path).map(TensorFile::Gguf);
        }
        let mut file = input::open("tensor", path).map_err(|e| unreadable(path, e))?;
        let length = file.metadata().map_err(|e| unreadable(path, e))?.len();
        let bad = |problem: String| content(path, problem);
        let mut size = [0; 8];
        if length < 8 {
            let problem = format!("must be a safetensors file; it has {length} bytes");
            return Err(bad(foreign::text(path).unwrap_or(problem)));
        }
        file.read_exact(&mut size).map_err(|e| unreadable(path, e))?;
        let header = u64::from_le_bytes(size);
        if header > MOST_HEADER.min(length - 8) {
            let problem = format!(
                "must be a whole safetensors file; its first 8 bytes announce a header of {header} bytes, and it has \
                 {length}. A header has at most {MOST_HEADER}"
            );
            return Err(bad(foreign::text(path).unwrap_or(problem)));
        }
        let mut text = vec![0; header as usize];
        file.read_exact(&mut text).map_err(|e| unreadable(path, e))?;
        let tensors = parse(&text).map_err(bad)?;
        let end = tensors.values().map(|t| t.data_offsets.1 as u64).max().unwrap_or(0);
        let there = length - 8 - header;
        let problem = format!("{there} bytes of data, and its header announces {end}: is the file complete?");
        require_content(end == there, path, problem)?;
        Ok(TensorFile::Safe { path: path.to_path_buf(), start: 8 + header, tensors })
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            TensorFile::Safe { path, .. } | TensorFile::Npy { path, .. } => path,
            TensorFile::Gguf(file) => file.path(),
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        match self {
            TensorFile::Safe { tensors, .. } => tensors.keys().cloned().collect(),
            TensorFile::Gguf(file) => file.names().map(String::from).collect(),
            TensorFile::Npy { path, .. } => {
                vec![path.file_stem().unwrap_or_default().to_string_lossy().into_owned()]
            }
        }
    }

    pub(crate) fn shape(&self, name: &str) -> Result<Vec<usize>> {
        Ok(match self {
            TensorFile::Safe { .. } => self.info(name)?.0.shape.clone(),
            TensorFile::Gguf(file) => file.shape(name)?,
            TensorFile::Npy { shape, .. } => shape.clone(),
        })
    }

    /// Reads the bytes of a tensor as they are stored; of a NumPy file, the whole of it.
    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.path();
        match self {
            TensorFile::Npy { .. } => return input::read("tensor", path).map_err(|e| unreadable(path, e)),
            TensorFile::Gguf(file) => return file.bytes(name),
            TensorFile::Safe { .. } => {}
        }
        let (info, start) = self.info(name)?;
        let (from, to) = info.data_offsets;
        memory::ensure(&format!("reading {name}"), (to - from) as u64)?;
        let mut bytes = Vec::with_capacity(to - from);
        pieces("tensor", path, start + from as u64, to - from, PIECE, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(bytes)
    }

    pub(crate) fn matrix(&self, name: &str) -> Result<Array2<f64>> {
        if let TensorFile::Npy { path, .. } = self {
            return npy::matrix(name, path);
        }
        let bad = |problem: String| content(self.path(), format!("{name}: {problem}"));
        let shape = self.shape(name)?;
        let [rows, columns] = shape[..] else { return Err(bad(format!("must be a matrix; its shape is {shape:?}"))) };
        let entries = (rows * columns) as u64;
        memory::ensure(&format!("reading {name}"), entries.saturating_mul(16))?;
        if let TensorFile::Gguf(file) = self {
            return file.values(name)?.mapv(f64::from).into_dimensionality().map_err(|e| bad(e.to_string()));
        }
        let (info, _) = self.info(name)?;
        let bytes = self.bytes(name)?;
        let values: Vec<f64> = match info.dtype {
            Dtype::F64 => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
            kind => {
                let mut exact = vec![];
                narrowed(kind, &bytes, &mut exact).map_err(bad)?;
                exact.into_iter().map(f64::from).collect()
            }
        };
        if let Some(i) = values.iter().position(|x| !x.is_finite()) {
            let (place, value) = ([i / columns, i % columns], values[i]);
            return Err(bad(format!("entry {place:?} must be finite; it is {value}")));
        }
        Array2::from_shape_vec((rows, columns), values).map_err(|e| bad(e.to_string()))
    }

    /// Reads a tensor of any number of dimensions in f32. F16 and BF16 are widened exactly, F64 is rounded.
    ///
    /// A positioned read per tensor rather than a memory map: a map needs `unsafe`, and a file that shrinks under it
    /// ends the process. Only a piece of the stored bytes is in memory beside the numbers.
    pub(crate) fn values(&self, name: &str) -> Result<ArrayD<f32>> {
        let bad = |problem: String| content(self.path(), format!("{name}: {problem}"));
        match self {
            TensorFile::Npy { path, .. } => return Ok(npy::matrix(name, path)?.mapv(|x| x as f32).into_dyn()),
            TensorFile::Gguf(file) => return file.values(name),
            TensorFile::Safe { .. } => {}
        }
        let (info, start) = self.info(name)?;
        let (from, to) = info.data_offsets;
        let entries: usize = info.shape.iter().product();
        memory::ensure(&format!("reading {name}"), (entries as u64).saturating_mul(4))?;
        let mut values = Vec::with_capacity(entries);
        pieces("tensor", self.path(), start + from as u64, to - from, PIECE, |piece| {
            narrowed(info.dtype, piece, &mut values).map_err(bad)
        })?;
        finite(&info.shape, &values).map_err(bad)?;
        ArrayD::from_shape_vec(IxDyn(&info.shape), values).map_err(|e| bad(e.to_string()))
    }

    fn info(&self, name: &str) -> Result<(&TensorInfo, u64)> {
        let entry = match self {
            TensorFile::Safe { tensors, start, .. } => tensors.get(name).map(|t| (t, *start)),
            TensorFile::Gguf(_) | TensorFile::Npy { .. } => None,
        };
        entry.ok_or_else(|| content(self.path(), format!("it must have a tensor {name}")))
    }
}

/// Reads a header: every tensor by name, whose data follow each other without gaps.
fn parse(text: &[u8]) -> std::result::Result<BTreeMap<String, TensorInfo>, String> {
    let mut entries: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(text).map_err(|e| format!("its header must be JSON ({e})"))?;
    // Words of the writer about the file, such as its format.
    entries.remove("__metadata__");
    let mut tensors: Vec<(String, TensorInfo)> = vec![];
    for (name, entry) in entries {
        let info = serde_json::from_value(entry).map_err(|e| format!("{name}: {e}"))?;
        tensors.push((name, info));
    }
    tensors.sort_by_key(|(_, info)| info.data_offsets);
    Metadata::new(None, tensors.clone()).map_err(|e| format!("its header contradicts itself: {e}"))?;
    Ok(tensors.into_iter().collect())
}

/// Reads `bytes` bytes of an input from `start` on, `piece` at a time, and calls `work` on each.
pub(crate) fn pieces(
    kind: &str,
    path: &Path,
    start: u64,
    bytes: usize,
    piece: usize,
    mut work: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut file = input::open(kind, path).map_err(|e| unreadable(path, e))?;
    file.seek(SeekFrom::Start(start)).map_err(|e| unreadable(path, e))?;
    let mut left = bytes;
    let mut buffer = vec![0; piece.min(left)];
    while left > 0 {
        let part = &mut buffer[..piece.min(left)];
        file.read_exact(part).map_err(|e| unreadable(path, e))?;
        left -= part.len();
        work(part)?;
    }
    Ok(())
}

/// Reads a file of JSON of limited size.
pub(crate) fn json(path: &Path, most_bytes: u64) -> Result<serde_json::Value> {
    let mut text = vec![];
    let read = input::open("JSON", path).map_err(|e| unreadable(path, e))?.take(most_bytes + 1).read_to_end(&mut text);
    read.map_err(|e| unreadable(path, e))?;
    require_content(text.len() as u64 <= most_bytes, path, format!("must have at most {most_bytes} bytes"))?;
    serde_json::from_slice(&text).map_err(|e| content(path, format!("must be JSON ({e})")))
}

pub(crate) fn content(path: &Path, problem: impl Into<String>) -> Error {
    Error::Content { path: path.to_path_buf(), problem: problem.into() }
}

/// Accepts a file whose content `holds` what it must.
pub(crate) fn require_content(holds: bool, path: &Path, problem: impl Into<String>) -> Result<()> {
    if holds { Ok(()) } else { Err(content(path, problem)) }
}

/// Appends F64, rounded, or F32, F16 or BF16, exactly, as f32; refuses other types.
fn narrowed(kind: Dtype, bytes: &[u8], values: &mut Vec<f32>) -> std::result::Result<(), String> {
    match kind {
        Dtype::F64 => values.extend(bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b) as f32)),
        Dtype::F32 => values.extend(bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b))),
        Dtype::F16 => values.extend(bytes.as_chunks().0.iter().map(|b| f16::from_le_bytes(*b).to_f32())),
        Dtype::BF16 => values.extend(bytes.as_chunks().0.iter().map(|b| bf16::from_le_bytes(*b).to_f32())),
        _ => return Err(format!("must have the type F64, F32, F16 or BF16; it is {kind:?}")),
    }
    Ok(())
}

/// Refuses numbers that are not finite, with the place of the first.
pub(crate) fn finite(shape: &[usize], values: &[f32]) -> std::result::Result<(), String> {
    let Some(i) = values.iter().position(|x| !x.is_finite()) else { return Ok(()) };
    let mut place = vec![];
    let mut rest = i;
    for size in shape.iter().rev() {
        place.insert(0, rest % size);
        rest /= size;
    }
    Err(format!("entry {place:?} must be finite in f32; it is {}", values[i]))
}

pub(crate) fn unreadable(path: &Path, e: std::io::Error) -> Error {
    Error::io(path, e, "Give a safetensors, GGUF or NumPy file, or a folder with such files")
}
