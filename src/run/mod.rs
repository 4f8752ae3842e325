//! From claims to reports: trials in parallel, in a reproducible order, with progress.

pub mod check;
pub mod files;
pub mod memory;
pub mod mutants;
pub mod progress;

pub use check::{CheckOptions, CheckReport, check};
pub use mutants::{MutantReport, mutants};
pub use progress::{Progress, Silent};
