//! attnlab checks the mathematics of attention by simulation: is a theorem, a lemma or a figure about
//! transformers true as printed, for which parameters, and where does it stop holding?
//!
//! This crate is the `attnlab` command and a facade over the crates that do the work:
//!
//! | crate | contents |
//! |---|---|
//! | `attnlab-core` | [`error`], [`rng`], [`linalg`], [`special`], [`stats`], [`npy`], [`input`], [`params`] |
//! | `attnlab-theory` | [`attention`], [`sample`], [`measure`], [`fit`], [`dynamics`], [`particles`] |
//! | `attnlab-lab` | [`claim`], [`mod@catalogue`], [`run`], [`experiment`], [`sweep`], [`figure`], [`report`], [`mod@reproduce`] |
//! | the crates in `crates/papers` | the [rooms](papers), one per paper or subject |
//! | `attnlab-networks` | [files](networks) of networks and of activations |
//! | `attnlab-gpu`, `attnlab-train`, `attnlab-images` | passes on a GPU; networks that are trained; the images they see |
//!
//! # A claim, from end to end
//!
//! ```
//! use attnlab::{claim::VerdictKind, run::{check, CheckOptions, Silent}};
//! use serde_json::json;
//!
//! let catalogue = attnlab::catalogue();
//! let claim = catalogue.claim("aot.theorem1")?;
//! let set = json!({"tokens": 400, "dim": 80, "layers": 12}).as_object().unwrap().clone();
//! // The theorem's hypotheses ask for far more tokens, so it says nothing here ...
//! let options = CheckOptions { trials: Some(6), ..CheckOptions::default() };
//! let report = check(&**claim, &set, &options, &Silent)?;
//! assert_eq!(report.verdict, VerdictKind::OutOfScope);
//! // ... but what it would say does not hold: the rate ends, in this layer, through that column.
//! let options = CheckOptions { beyond_hypotheses: true, ..options };
//! let report = check(&**claim, &set, &options, &Silent)?;
//! assert_eq!(report.verdict, VerdictKind::Refuted);
//! assert!(report.witness["weight"].as_f64() > Some(0.55));
//! # Ok::<(), attnlab::Error>(())
//! ```
//!
//! # A theorem of one's own
//!
//! `attnlab new my-theorem` writes a package whose program is
//!
//! ```no_run
//! # fn room() -> attnlab::catalogue::Room { attnlab::catalogue::Room::new("mine", &[]) }
//! fn main() -> std::process::ExitCode {
//!     attnlab::main(attnlab::catalogue().with(room()))
//! }
//! ```
//!
//! and which has the whole command: `check`, `sweep`, `report`, `figure` and all the others.

pub mod cli;
mod rooms;

pub use attnlab_core::{Error, Result};
pub use attnlab_core::{bracket, error, format, input, linalg, npy, params, quadrature, rng, special, stats};
pub use attnlab_gpu as gpu;
#[cfg(feature = "train")]
pub use attnlab_images as images;
pub use attnlab_lab::{
    build, catalogue, claim, command, experiment, figure, folder, formula, glossary, prelude, report, reproduce, run,
    scaffold, sheet_test, sweep, toy,
};
pub use attnlab_lab::{experiments, settings, sheet, witness};
pub use attnlab_networks as networks;
pub use attnlab_theory::{attention, dynamics, fit, markov, measure, particles, sample};
#[cfg(feature = "train")]
pub use attnlab_train as train;
pub use rooms::{catalogue, papers};

use attnlab_lab::build::Build;
use attnlab_lab::catalogue::Catalogue;
use std::process::ExitCode;

/// Crates that a package with claims of its own needs for random draws, in the versions of attnlab.
pub use {ndarray, rand, rand_distr};

/// Runs the `attnlab` command over a catalogue, with the arguments of this process. It is the whole
/// program of a package with claims of its own. A catalogue that contradicts itself, such as one with a
/// repeated id, is refused with exit status 2.
pub fn main(catalogue: Catalogue) -> ExitCode {
    cli::main(&catalogue)
}

/// States that this process runs the code of this repository and nothing else. The programs of the repository call
/// it; in a package with code of its own, rows carry a hash of the executable instead.
pub fn state_build() {
    attnlab_lab::build::state(Build {
        version: env!("CARGO_PKG_VERSION"),
        code: env!("ATTNLAB_CODE").into(),
        target: env!("ATTNLAB_TARGET").into(),
        features: env!("ATTNLAB_FEATURES").into(),
        commit: env!("ATTNLAB_COMMIT").into(),
    });
}

/// Runs the program of an experiment's own binary, with the options of `attnlab run NAME`.
pub fn experiment_main(name: &str) -> ExitCode {
    state_build();
    cli::experiment_main(&catalogue(), name)
}
