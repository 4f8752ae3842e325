//! Experiments: a figure or table of a paper as cells × trials, whose rows the figure is drawn from.
//!
//! An [`Experiment`] is one complete set of settings, which [`settings!`](crate::settings) declares with their
//! [`ranges`] and with the place of the experiment in its paper. Their meaning and their defaults are a TOML beside the
//! code (`settings.toml`), built into the program; [`Entry::configure`] applies the user's settings on top.
//! [`run`] computes the trials in parallel and keeps their rows in a folder ([`crate::run::store`]);
//! [`Experiment::figures`] turns rows into [`Figure`]s, and [`crate::figure::write_all`] draws them.
//!
//! A new experiment is a folder in the room of its paper, with `mod.rs` and `settings.toml`, and one line
//! in the room's [`experiments!`](crate::experiments) list.

pub mod draw;
pub mod plane;
pub mod ranges;
pub mod runner;
pub mod settings;
mod shared;

pub use runner::{RunOptions, RunReport, cells, manifest, run};
pub use settings::{Described, Entry};
pub use shared::Shared;

use crate::figure::Figure;
use crate::run::store::TRIALS;
use crate::run::{Row, TrialContext};
use attnlab_core::error::Result;
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use serde_json::{Map, Value};

/// Name and settings of an experiment; every [`Described`] type has them.
pub trait Identity {
    /// Returns the name in rows and folders, [`Described::NAME`].
    fn name(&self) -> &'static str;

    /// Returns every setting as JSON. Two runs with the same settings and seed give the same rows.
    fn settings(&self) -> Map<String, Value>;

    /// Refuses settings of the right type that cannot be run: one out of its [range](ranges), or some that
    /// [`Experiment::validate`] refuses.
    ///
    /// # Errors
    /// Names the setting, its value and what is allowed.
    fn check_settings(&self) -> Result<()>;
}

/// One figure or table of a paper with all its settings.
pub trait Experiment: Identity + Send + Sync {
    /// Refuses settings that do not fit each other. Each is within its range.
    ///
    /// # Errors
    /// Names the setting, its value and what is allowed.
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    /// Refuses a run whose inputs outside the settings (a file to read) are missing or do not fit. It is
    /// called before anything is written, and not when figures are drawn from rows. It must open or note every file of
    /// the run through [`input`](attnlab_core::input), as trials must: rows of other bytes are then another run.
    ///
    /// # Errors
    /// Names the file or the setting, and what is allowed.
    fn ready(&self) -> Result<()> {
        Ok(())
    }

    /// Returns the parameter combinations, in the canonical order of their rows.
    ///
    /// # Errors
    /// When a combination cannot be run.
    fn cells(&self) -> Result<Vec<Params>>;

    /// Returns the number of trials per cell: the setting `trials` or `seeds`, or 1 where there is none. Cells and trials
    /// must not depend on it, so that a run with more of them keeps the rows of one with fewer.
    fn trials(&self) -> u64 {
        let settings = self.settings();
        TRIALS.iter().find_map(|name| settings.get(*name)?.as_u64()).unwrap_or(1)
    }

    /// Runs one trial and returns named numbers and series. It must be a pure function of its arguments.
    ///
    /// # Errors
    /// When the cell cannot be simulated.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>>;

    /// Runs one long trial, which may keep checkpoints in the folder of its context and reports its
    /// steps. The result must be that of [`Experiment::trial`] to the bit.
    ///
    /// # Errors
    /// As [`Experiment::trial`].
    fn trial_at(&self, cell: &Params, streams: &Streams, _context: &TrialContext) -> Result<Map<String, Value>> {
        self.trial(cell, streams)
    }

    /// Returns the peak memory of one trial in bytes, which limits the number of trials run in parallel.
    fn memory(&self, _cell: &Params) -> u64 {
        0
    }

    /// Describes the sizes of the run in symbols, such as "*N* = 600, *p* = 200, 8 draws", for the line under its
    /// figures.
    fn size(&self) -> String {
        format!("{} trials per cell", self.trials())
    }

    /// Builds the figures from rows alone. It may evaluate closed forms and must not draw random numbers.
    ///
    /// # Errors
    /// When rows are missing or are not of this experiment.
    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>>;
}

/// Declares the experiments of a room: `experiments! { snr_per_layer::SnrPerLayer, }` declares the module
/// `snr_per_layer` and lists its experiment in `entries()`.
///
/// An experiment that needs a feature of its package is written `icl::Icl needs "train" else ICL`, where
/// `ICL` is its [`Entry::without`](crate::experiment::Entry::without) for builds that lack the feature.
#[macro_export]
macro_rules! experiments {
    ($($folder:ident::$experiment:ident $(needs $feature:literal else $listed:ident)?),* $(,)?) => {
        $($(#[cfg(feature = $feature)])? pub mod $folder;)*

        /// Returns the experiments of this room; none in a browser, which keeps no rows.
        #[allow(clippy::vec_init_then_push)]
        pub fn entries() -> Vec<$crate::experiment::Entry> {
            let mut entries = vec![];
            if cfg!(target_family = "wasm") {
                return entries;
            }
            $(
                $(#[cfg(feature = $feature)])?
                entries.push($crate::experiment::Entry::new::<$folder::$experiment>());
                $(#[cfg(not(feature = $feature))] entries.push($listed);)?
            )*
            entries
        }
    };
}
