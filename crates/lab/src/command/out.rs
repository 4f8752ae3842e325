//! Standard output for results, standard error for everything else.

use attnlab_core::error::{Error, Result};
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

const STDOUT: &str = "standard output";

/// Where results go. Writing fails with an error, never with a panic, when the reader is gone or
/// the disk is full.
pub struct Out {
    sink: Box<dyn Write>,
}

impl Out {
    /// Standard output.
    pub fn stdout() -> Self {
        Out {
            sink: Box::new(io::stdout()),
        }
    }

    /// One line, at once: a reader at the other end of a pipe sees each result as it comes.
    pub fn line(&mut self, text: &str) -> Result<()> {
        let written = self.sink.write_all(format!("{text}\n").as_bytes());
        written
            .and_then(|()| self.sink.flush())
            .map_err(|e| Error::io(Path::new(STDOUT), e, "Is the reader gone or the disk full?"))
    }

    /// One JSON object on one line. Numbers that JSON has not (infinity, NaN) become null.
    pub fn json(&mut self, value: &impl Serialize) -> Result<()> {
        let text =
            serde_json::to_string(value).map_err(|e| Error::unwritable("a result (JSON)", e))?;
        self.line(&text)
    }
}

/// One line on standard error; nothing is done when it is closed.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Whether the reader of standard output is gone: no error, it has seen enough.
pub fn pipe_closed(error: &Error) -> bool {
    matches!(error, Error::Io { path, source, .. }
        if path == Path::new(STDOUT) && source.kind() == io::ErrorKind::BrokenPipe)
}
