//! Reading of files that may be malformed: limits, sorted folders, gzip.

use attnlab_core::error::{Error, Result};
use attnlab_core::input;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// Kind of the files as inputs of a run.
pub(crate) const KIND: &str = "image";

/// Largest ratio of decompressed to compressed bytes of deflate: 258 bytes for 2 bits.
const MAX_DEFLATE_RATIO: u64 = 1032;

/// Builds [`Error::Content`].
pub(crate) fn content(path: &Path, problem: impl Into<String>) -> Error {
    Error::Content { path: path.to_path_buf(), problem: problem.into() }
}

/// Accepts a file whose content `holds` what it must.
pub(crate) fn require_content(holds: bool, path: &Path, problem: impl Into<String>) -> Result<()> {
    if holds { Ok(()) } else { Err(content(path, problem)) }
}

/// Moves an error about a value into the file that has it.
pub(crate) fn in_file(path: &Path, error: Error) -> Error {
    match error {
        Error::Io { .. } | Error::Content { .. } => error,
        other => content(path, other.to_string()),
    }
}

/// Builds [`Error::Io`] for a path that cannot be read.
pub(crate) fn unreadable(path: &Path, source: std::io::Error) -> Error {
    let advice = match source.kind() {
        std::io::ErrorKind::NotFound => "Give the path of a file or folder that exists",
        std::io::ErrorKind::PermissionDenied => "Give yourself the right to read it",
        _ => "Check that it is a readable file or folder, and no link to itself",
    };
    Error::io(path, source, advice)
}

/// Returns the paths in a folder, sorted by name.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let paths = |list: std::fs::ReadDir| list.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).and_then(paths).map_err(|e| unreadable(folder, e))?;
    paths.sort();
    Ok(paths)
}

/// Returns `true` for a folder; links are followed.
///
/// # Errors
/// A path that does not exist, or a link that leads nowhere.
pub(crate) fn is_folder(path: &Path) -> Result<bool> {
    Ok(std::fs::metadata(path).map_err(|e| unreadable(path, e))?.is_dir())
}

/// Opens a regular file; returns its length in bytes.
///
/// # Errors
/// A path that is no regular file: reading a pipe or a device may never end.
pub(crate) fn open_file(path: &Path) -> Result<(File, u64)> {
    let metadata = std::fs::metadata(path).map_err(|e| unreadable(path, e))?;
    require_content(metadata.is_file(), path, "kind = pipe, socket or device: must be a regular file. Give a file")?;
    Ok((input::open(KIND, path).map_err(|e| unreadable(path, e))?, metadata.len()))
}

/// Reads a whole regular file of at most `most` bytes.
pub(crate) fn read_whole(path: &Path, most: u64) -> Result<Vec<u8>> {
    let (file, length) = open_file(path)?;
    let problem = format!("bytes = {length}: must be at most {most}. Give a file of this kind");
    require_content(length <= most, path, problem)?;
    let mut bytes = vec![];
    file.take(most).read_to_end(&mut bytes).map_err(|e| unreadable(path, e))?;
    Ok(bytes)
}

/// Bytes of a file, decompressed if it is in gzip.
pub(crate) struct Source {
    reader: Box<dyn Read>,
    /// Flag: the file is in gzip.
    pub(crate) gzip: bool,
    path: PathBuf,
    /// Upper bound of the number of bytes.
    bound: u64,
}

impl Source {
    /// Opens a file; gzip is recognised by its first two bytes.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let (file, length) = open_file(path)?;
        let mut head = [0; 2];
        let mut file = BufReader::new(file);
        let read = read_up_to(&mut file, &mut head).map_err(|e| unreadable(path, e))?;
        let whole = std::io::Cursor::new(head).take(read as u64).chain(file);
        let gzip = head == [0x1f, 0x8b];
        let (reader, bound): (Box<dyn Read>, u64) = match gzip {
            true => (Box::new(MultiGzDecoder::new(whole)), length.saturating_mul(MAX_DEFLATE_RATIO)),
            false => (Box::new(whole), length),
        };
        Ok(Source { reader, gzip, path: path.to_path_buf(), bound })
    }

    /// Reads at most `count` bytes: fewer at the end of the file.
    pub(crate) fn head(&mut self, count: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        let there = read_up_to(&mut self.reader, &mut bytes);
        bytes.truncate(there.map_err(|e| self.broken(&e))?);
        Ok(bytes)
    }

    /// Reads exactly `count` bytes, which the file announces as `name`. Memory grows with the bytes that arrive.
    pub(crate) fn exactly(&mut self, name: &str, count: u64) -> Result<Vec<u8>> {
        let bound = self.bound;
        let problem =
            format!("{name} = {count} bytes: must be at most {bound}, by the length of the file. Fetch the file again");
        require_content(count <= bound, &self.path, problem)?;
        let mut bytes = vec![];
        let read = (&mut self.reader).take(count).read_to_end(&mut bytes);
        read.map_err(|e| self.broken(&e))?;
        let there = bytes.len();
        let problem =
            format!("{name} = {count} bytes: must be in the file; it ends after {there}. Fetch the file again");
        require_content(there as u64 == count, &self.path, problem)?;
        Ok(bytes)
    }

    /// Refuses bytes after the last that was read.
    pub(crate) fn end(&mut self) -> Result<()> {
        let problem = "data = longer than announced: must end where the header says. Fetch the file again";
        require_content(self.head(1)?.is_empty(), &self.path, problem)
    }

    /// Returns a reader of at most `most` bytes.
    pub(crate) fn limited(self, most: u64) -> impl Read {
        self.reader.take(most)
    }

    fn broken(&self, error: &std::io::Error) -> Error {
        content(&self.path, format!("data = broken: must be whole ({error}). Fetch the file again"))
    }
}

/// Fills a buffer as far as the reader goes; returns the number of bytes.
fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}
