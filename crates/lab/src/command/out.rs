//! Standard output for results, standard error for everything else.

use attnlab_core::error::{Error, Result};
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

const STDOUT: &str = "standard output";

/// Destination of results. Writing fails with an error, never with a panic, when the reader is gone or
/// the disk is full.
pub struct Out {
    sink: Box<dyn Write>,
}

impl Out {
    /// Opens standard output.
    pub fn stdout() -> Self {
        Out { sink: Box::new(io::stdout()) }
    }

    /// Writes one line and flushes it, so that the reader of a pipe sees each result as it comes.
    ///
    /// # Errors
    /// When the line cannot be written.
    pub fn line(&mut self, text: &str) -> Result<()> {
        self.sink.write_all(format!("{text}\n").as_bytes()).and_then(|()| self.sink.flush()).map_err(unwritten)
    }

    /// Writes one JSON object on one line. Infinities and NaN, which JSON lacks, become null.
    ///
    /// # Errors
    /// When the value has no JSON form, or the line cannot be written.
    pub fn json(&mut self, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(value).map_err(|e| Error::unwritable("a result (JSON)", e))?;
        self.line(&text)
    }
}

/// Returns the error for results that standard output does not take.
pub fn unwritten(e: io::Error) -> Error {
    Error::io(Path::new(STDOUT), e, "Check the pipe and the disk")
}

/// Writes one line to standard error; a closed standard error is ignored.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Returns `true` if `error` is the broken pipe of a reader of standard output that has closed it.
pub fn pipe_closed(error: &Error) -> bool {
    matches!(error, Error::Io { path, source, .. }
        if path == Path::new(STDOUT) && source.kind() == io::ErrorKind::BrokenPipe)
}
