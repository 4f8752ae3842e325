//! Progress, as long work reports it and as a terminal may show it.

/// Told of the progress of long work; the command line shows it as a bar.
pub trait Progress: Sync {
    /// A piece of work of `total` steps begins.
    fn start(&self, label: &str, total: u64);
    /// `steps` more of them are done.
    fn advance(&self, steps: u64);
    /// `steps` of them were done by an earlier run: they say nothing about the time left.
    fn resume(&self, steps: u64) {
        self.advance(steps);
    }
    /// `done` of `all` cells are complete.
    fn cells(&self, _done: usize, _all: usize) {}
    /// `done` of `all` pieces of a work of many pieces are complete: checks and experiments of
    /// `attnlab reproduce`, claims of `attnlab check --all`.
    fn overall(&self, _done: u64, _all: u64) {}
    /// Shows a line of a long trial: its step, loss, rate and time left.
    fn tell(&self, _line: &str) {}
    /// Whether the user has asked for an end. Work that can be resumed then ends after the trials
    /// under way.
    fn stopped(&self) -> bool {
        false
    }
    /// The work is done.
    fn finish(&self);
}

/// Says nothing.
pub struct Silent;

impl Progress for Silent {
    fn start(&self, _label: &str, _total: u64) {}
    fn advance(&self, _steps: u64) {}
    fn finish(&self) {}
}
