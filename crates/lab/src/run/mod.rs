//! Runs: trials in parallel and in a reproducible order, with progress and with rows that survive a kill.

mod begun;
mod cells;
pub mod check;
pub mod checkpoints;
pub mod context;
pub mod curve;
mod decide;
pub mod disk;
pub mod export;
pub mod files;
pub mod grid;
pub mod memory;
pub mod mutants;
mod origin;
pub mod pause;
pub mod progress;
pub mod schedule;
pub mod store;
pub mod time;
pub mod watch;

pub use check::{CheckOptions, CheckReport, check};
pub use checkpoints::{Checkpoints, Clock, Restored};
pub use context::TrialContext;
pub use curve::TrainingCurve;
pub use mutants::{MutantReport, mutant, mutants};
pub use origin::{Origin, machine};
pub use progress::{Lines, Progress, Silent};
pub use store::{Row, Rows};
