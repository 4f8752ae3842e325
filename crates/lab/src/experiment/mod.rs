//! Experiments: a figure or table of a paper as cells × trials, whose rows the figure is drawn from.
//!
//! An [`Experiment`] is one complete set of settings. Its defaults are a TOML beside its code
//! (`settings.toml`), built into the program; [`Entry::configure`] lays what the user wrote over them.
//! [`run`] computes the trials in parallel and keeps their rows in a folder ([`crate::run::store`]);
//! [`Experiment::figures`] turns rows into [`Figure`]s, and [`crate::figure::write_all`] draws them.
//!
//! A new experiment is a folder in the room of its paper, with `mod.rs` and `settings.toml`, and one line
//! in the room's [`experiments!`](crate::experiments) list.

pub mod draw;
pub mod plane;
pub mod runner;
pub mod settings;

pub use runner::{RunOptions, RunReport, cells, run};
pub use settings::{Described, Entry};

use crate::figure::Figure;
use crate::run::{Row, TrialContext};
use attnlab_core::error::Result;
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use serde_json::{Map, Value};

/// One figure or table of a paper with all its settings.
pub trait Experiment: Send + Sync {
    /// The name in rows and folders: [`Described::NAME`].
    fn name(&self) -> &'static str;

    /// Every setting, as JSON: two runs with the same settings and seed give the same rows.
    fn settings(&self) -> Map<String, Value>;

    /// Refuses settings that are each of the right type but cannot be run.
    ///
    /// # Errors
    /// Names the setting, its value and what is allowed.
    fn validate(&self) -> Result<()>;

    /// Refuses a run whose inputs outside the settings (a file to read) are not there or do not fit;
    /// asked before anything is written, and not when figures are drawn from rows.
    ///
    /// # Errors
    /// Names the file or the setting, and what is allowed.
    fn ready(&self) -> Result<()> {
        Ok(())
    }

    /// The parameter combinations, in the canonical order of their rows.
    ///
    /// # Errors
    /// When a combination cannot be run.
    fn cells(&self) -> Result<Vec<Params>>;

    /// Trials per cell.
    fn trials(&self) -> u64;

    /// One trial: named numbers and series, a pure function of the arguments.
    ///
    /// # Errors
    /// When the cell cannot be simulated.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>>;

    /// The same for a trial that takes long: it may keep checkpoints at the context, and tells of its
    /// steps. The result is that of [`Experiment::trial`] to the bit.
    ///
    /// # Errors
    /// As [`Experiment::trial`].
    fn trial_at(
        &self,
        cell: &Params,
        streams: &Streams,
        _desk: &TrialContext,
    ) -> Result<Map<String, Value>> {
        self.trial(cell, streams)
    }

    /// Bytes that one trial holds at its peak; the runner limits how many run at once by it.
    fn memory(&self, _cell: &Params) -> u64 {
        0
    }

    /// The figures, from rows alone (closed forms may be evaluated; nothing is sampled).
    ///
    /// # Errors
    /// When rows are missing or are not of this experiment.
    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>>;
}

/// Declares the experiments of a room: `experiments! { snr_per_layer::SnrPerLayer, }` declares the module
/// `snr_per_layer`, whose folder also has `settings.toml`, and lists its experiment in `entries()`.
///
/// An experiment that needs a feature of its package is written `icl::Icl needs "train" else ICL`, where
/// `ICL` is its [`Entry::without`](crate::experiment::Entry::without) for builds that lack the feature.
#[macro_export]
macro_rules! experiments {
    ($($folder:ident::$experiment:ident $(needs $feature:literal else $listed:ident)?),* $(,)?) => {
        $($(#[cfg(feature = $feature)])? pub mod $folder;)*

        /// The experiments of this room.
        #[allow(clippy::vec_init_then_push)]
        pub fn entries() -> Vec<$crate::experiment::Entry> {
            let mut entries = vec![];
            $(
                $(#[cfg(feature = $feature)])?
                entries.push($crate::experiment::Entry::new::<$folder::$experiment>(include_str!(
                    concat!(stringify!($folder), "/settings.toml")
                )));
                $(#[cfg(not(feature = $feature))] entries.push($listed);)?
            )*
            entries
        }
    };
}
