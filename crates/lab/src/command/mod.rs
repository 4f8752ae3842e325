//! Commands that a room adds to the command line, and their shared parts: options, output, progress.
//!
//! Results go to standard output and nothing else does; progress, warnings and errors go to standard error.

#[cfg(not(target_family = "wasm"))]
mod bar;
#[cfg(target_family = "wasm")]
#[path = "bar/none.rs"]
mod bar;
pub mod input;
mod out;
mod stop;

pub use bar::Bar;
pub use input::{Parameters, RowOptions};
pub use out::{Out, note, pipe_closed, unwritten};
pub use stop::{stop_after, stop_on_signals, wait};

use crate::run::files::content;
use attnlab_core::error::Result;

/// Exit status of work that was stopped, by the user or at the time limit: 128 + SIGINT, as the signal itself would
/// give.
pub const STOPPED: u8 = 130;

/// Outcome of a command that ran to its end; that of several pieces of work is the greatest of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Exit status 0.
    Expected,
    /// Exit status 1: some verdict is not the expected one.
    Unexpected,
    /// Exit status 3: a check failed numerically.
    Failed,
}

/// A subcommand that a room adds to `attnlab`.
pub trait Command: Send + Sync {
    /// Returns name, help and arguments. The help must have examples, each beginning with `attnlab NAME`.
    fn describe(&self) -> clap::Command;

    /// Runs the command with its parsed arguments.
    ///
    /// # Errors
    /// Bad input or a failure; the command line prints the message and exits with status 2.
    fn run(&self, matches: &clap::ArgMatches, out: &mut Out) -> Result<Status>;
}

/// A command whose arguments are a struct that clap derives, and whose work is a function of them.
pub struct WithArgs<A> {
    /// Name.
    pub name: &'static str,
    /// The work.
    pub run: fn(&A, &mut Out) -> Result<Status>,
}

impl<A: clap::Args> Command for WithArgs<A> {
    fn describe(&self) -> clap::Command {
        A::augment_args(clap::Command::new(self.name))
    }

    fn run(&self, matches: &clap::ArgMatches, out: &mut Out) -> Result<Status> {
        (self.run)(&A::from_arg_matches(matches).map_err(|e| content("command line", e))?, out)
    }
}
