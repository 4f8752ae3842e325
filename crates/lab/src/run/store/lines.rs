//! Lines of a file of rows, read one after the other.

use super::Row;
use attnlab_core::error::{Error, Result};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Longest line (bytes) that is read as a row: a series of three million numbers.
pub const LONGEST: u64 = 64 << 20;

/// A line of a file of rows.
#[derive(Debug)]
pub struct Line {
    /// Number of the line, counted from 1.
    pub number: u64,
    /// Place of its first byte in the file.
    pub offset: u64,
    /// Hash of its bytes without the newline.
    pub check: u64,
    /// The contents.
    pub content: Content,
}

/// Contents of a line.
#[derive(Debug)]
pub enum Content {
    /// A row.
    Row(Box<Row>),
    /// The last line, without its newline: a write that was cut off.
    Torn,
    /// Anything else, with the reason.
    Broken(String),
}

/// Reader of the lines of a file.
pub struct Lines {
    path: PathBuf,
    file: BufReader<File>,
    number: u64,
    offset: u64,
    buffer: Vec<u8>,
}

impl Lines {
    /// Opens a file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(path: &Path) -> Result<Lines> {
        let file = BufReader::with_capacity(1 << 16, File::open(path).map_err(|e| unreadable(path, e))?);
        Ok(Lines { path: path.to_path_buf(), file, number: 0, offset: 0, buffer: vec![] })
    }

    /// Reads the next line; None at the end.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next(&mut self) -> Result<Option<Line>> {
        self.buffer.clear();
        let read = (&mut self.file).take(LONGEST).read_until(b'\n', &mut self.buffer);
        let mut length = read.map_err(|e| unreadable(&self.path, e))? as u64;
        if length == 0 {
            return Ok(None);
        }
        self.number += 1;
        let whole = self.buffer.last() == Some(&b'\n');
        let content = if whole {
            match serde_json::from_slice::<Row>(&self.buffer) {
                Ok(row) => Content::Row(Box::new(row)),
                Err(e) => Content::Broken(format!("is not a row of this version ({e})")),
            }
        } else if length == LONGEST {
            length += self.skip_line()?;
            Content::Broken(format!("is longer than {} MB", LONGEST >> 20))
        } else {
            Content::Torn
        };
        let text = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        let line = Line { number: self.number, offset: self.offset, check: attnlab_core::rng::hash(text), content };
        self.offset += length;
        Ok(Some(line))
    }

    /// Returns the bytes of the last line that was read, with its newline, as far as it was kept.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Reads past the rest of a line and returns its length.
    fn skip_line(&mut self) -> Result<u64> {
        let mut skipped = 0;
        loop {
            let block = self.file.fill_buf().map_err(|e| unreadable(&self.path, e))?;
            let end = block.iter().position(|b| *b == b'\n').map(|i| i + 1);
            let length = end.unwrap_or(block.len());
            self.file.consume(length);
            skipped += length as u64;
            if end.is_some() || length == 0 {
                return Ok(skipped);
            }
        }
    }
}

pub(super) fn unreadable(path: &Path, e: std::io::Error) -> Error {
    Error::io(path, e, "Check its permissions")
}
