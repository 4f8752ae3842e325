//! Progress of long work.

use std::sync::{Mutex, PoisonError};

/// Receiver of the progress of long work; the command line shows it as a bar. What it does not implement, it ignores.
pub trait Progress: Sync {
    /// Begins a piece of work of `total` steps.
    fn start(&self, _label: &str, _total: u64) {}
    /// Counts `steps` more steps.
    fn advance(&self, _steps: u64) {}
    /// Counts `steps` steps of an earlier run, which do not enter the estimate of the time left.
    fn resume(&self, steps: u64) {
        self.advance(steps);
    }
    /// Reports that `done` of `all` cells are complete.
    fn cells(&self, _done: usize, _all: usize) {}
    /// Reports that `done` of `all` pieces of a larger work are complete: checks and experiments of
    /// `attnlab reproduce`, claims of `attnlab check --all`.
    fn overall(&self, _done: u64, _all: u64) {}
    /// Shows a line of a long trial: its step, loss, rate and time left.
    fn line(&self, _line: &str) {}
    /// Shows a line before long work begins.
    fn announce(&self, _line: &str) {}
    /// Returns `true` if the user has asked to stop. Work that can be resumed then ends after the trials under way.
    fn stopped(&self) -> bool {
        false
    }
    /// Ends the piece of work.
    fn finish(&self) {}
}

/// Receiver that ignores all progress.
pub struct Silent;

impl Progress for Silent {}

/// Receiver that keeps the lines that are shown or announced, in their order.
#[derive(Default)]
pub struct Lines(Mutex<Vec<String>>);

impl Lines {
    /// Returns the lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Progress for Lines {
    fn line(&self, line: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_string());
    }
    fn announce(&self, line: &str) {
        self.line(line);
    }
}
