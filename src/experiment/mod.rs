//! Experiments: a figure or table of a paper as cells × trials, whose rows the figure is drawn from.
//!
//! An [`Experiment`] is one complete set of settings. Its defaults are a TOML beside its binary
//! (`experiments/NAME.toml`), built into the program; [`Entry::configure`] lays what the user wrote
//! over them. [`run`] computes the trials in parallel and keeps their rows in a folder
//! ([`crate::run::store`]); [`Experiment::figures`] turns rows into [`Figure`]s, and
//! [`crate::figure::write_all`] draws them.
//!
//! A new experiment is a file here that implements the trait, its TOML, its two-line binary in
//! `experiments/`, and a line in [`registry`].

pub mod registry;
pub mod runner;
mod settings;

mod coherence_map;
mod denoise_alpha_beta;
mod denoise_excess_risk;
mod denoise_generalisation;
mod denoise_landscape;
mod denoise_tasks;
mod denoise_training;
mod draw;
mod horizon_map;
#[cfg(feature = "train")]
mod icl;
mod joma_convergence;
mod joma_critical;
mod joma_entropy;
mod joma_training;
mod joma_tree;
#[cfg(feature = "train")]
mod language;
mod law;
mod lsa_common;
mod lsa_flow;
mod lsa_training;
#[cfg(feature = "train")]
mod networks;
mod phi_map;
mod plane;
mod snr_per_layer;
mod theorem1_horizon;
mod theorem1_map;

pub use coherence_map::CoherenceMap;
pub use denoise_alpha_beta::DenoiseAlphaBeta;
pub use denoise_excess_risk::DenoiseExcessRisk;
pub use denoise_generalisation::DenoiseGeneralisation;
pub use denoise_landscape::DenoiseLandscape;
pub use denoise_tasks::{Bases, ClusterTask, Sphere, Subspace, Training};
pub use denoise_training::{DenoiseTraining, Variant};
pub use horizon_map::HorizonMap;
#[cfg(feature = "train")]
pub use icl::Icl;
pub use joma_convergence::JomaConvergence;
pub use joma_critical::JomaCritical;
pub use joma_entropy::JomaEntropy;
pub use joma_training::JomaTraining;
pub use joma_tree::JomaTree;
#[cfg(feature = "train")]
pub use language::Language;
pub use lsa_flow::LsaFlow;
pub use lsa_training::LsaTraining;
pub use phi_map::PhiMap;
pub use registry::find;
pub use runner::{RunOptions, RunReport, cells, run};
pub use settings::Entry;
pub use snr_per_layer::SnrPerLayer;
pub use theorem1_horizon::Theorem1Horizon;
pub use theorem1_map::Theorem1Map;

use crate::error::Result;
use crate::figure::Figure;
use crate::params::Params;
use crate::rng::Streams;
use crate::run::{Desk, Row};
use serde_json::{Map, Value};

/// One figure or table of a paper with all its settings.
pub trait Experiment: Send + Sync {
    /// Identifier: the name of the binary, the TOML and the pictures.
    fn id(&self) -> &'static str;

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

    /// The same for a trial that takes long: it may keep checkpoints at the desk, and tells of its
    /// steps. The result is that of [`Experiment::trial`] to the bit.
    ///
    /// # Errors
    /// As [`Experiment::trial`].
    fn trial_at(
        &self,
        cell: &Params,
        streams: &Streams,
        _desk: &Desk,
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
