//! Every experiment, one line each: the only place to add a new one.

use super::{
    DenoiseAlphaBeta, DenoiseExcessRisk, DenoiseGeneralisation, DenoiseLandscape, DenoiseTraining,
    Entry, SnrPerLayer, Theorem1Horizon,
};
use crate::error::{Error, Result};

/// All experiments.
pub static EXPERIMENTS: [Entry; 7] = [
    Entry::of::<SnrPerLayer>(include_str!("../../experiments/snr_per_layer.toml")),
    Entry::of::<Theorem1Horizon>(include_str!("../../experiments/theorem1_horizon.toml")),
    Entry::of::<DenoiseTraining>(include_str!("../../experiments/denoise_training.toml")),
    Entry::of::<DenoiseGeneralisation>(include_str!(
        "../../experiments/denoise_generalisation.toml"
    )),
    Entry::of::<DenoiseExcessRisk>(include_str!("../../experiments/denoise_excess_risk.toml")),
    Entry::of::<DenoiseLandscape>(include_str!("../../experiments/denoise_landscape.toml")),
    Entry::of::<DenoiseAlphaBeta>(include_str!("../../experiments/denoise_alpha_beta.toml")),
];

/// The experiment with this id.
///
/// # Errors
/// An unknown id, with the nearest known ones.
pub fn find(id: &str) -> Result<&'static Entry> {
    let unknown = || Error::unknown("experiment", id, EXPERIMENTS.iter().map(|e| e.id));
    EXPERIMENTS.iter().find(|e| e.id == id).ok_or_else(unknown)
}
