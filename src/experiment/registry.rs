//! Every experiment, one line each: the only place to add a new one.

use super::{
    CoherenceMap, DenoiseAlphaBeta, DenoiseExcessRisk, DenoiseGeneralisation, DenoiseLandscape,
    DenoiseTraining, Entry, HorizonMap, JomaConvergence, JomaCritical, JomaEntropy, JomaTraining,
    JomaTree, LsaFlow, LsaTraining, PhiMap, SnrPerLayer, Theorem1Horizon, Theorem1Map,
};
use crate::error::{Error, Result};

/// All experiments.
pub static EXPERIMENTS: &[Entry] = &[
    Entry::of::<SnrPerLayer>(include_str!("../../experiments/snr_per_layer.toml")),
    Entry::of::<Theorem1Horizon>(include_str!("../../experiments/theorem1_horizon.toml")),
    Entry::of::<Theorem1Map>(include_str!("../../experiments/theorem1_map.toml")),
    Entry::of::<HorizonMap>(include_str!("../../experiments/horizon_map.toml")),
    Entry::of::<PhiMap>(include_str!("../../experiments/phi_map.toml")),
    Entry::of::<CoherenceMap>(include_str!("../../experiments/coherence_map.toml")),
    Entry::of::<DenoiseTraining>(include_str!("../../experiments/denoise_training.toml")),
    Entry::of::<DenoiseGeneralisation>(include_str!(
        "../../experiments/denoise_generalisation.toml"
    )),
    Entry::of::<DenoiseExcessRisk>(include_str!("../../experiments/denoise_excess_risk.toml")),
    Entry::of::<DenoiseLandscape>(include_str!("../../experiments/denoise_landscape.toml")),
    Entry::of::<DenoiseAlphaBeta>(include_str!("../../experiments/denoise_alpha_beta.toml")),
    Entry::of::<LsaFlow>(include_str!("../../experiments/lsa_flow.toml")),
    Entry::of::<LsaTraining>(include_str!("../../experiments/lsa_training.toml")),
    Entry::of::<JomaTraining>(include_str!("../../experiments/joma_training.toml")),
    Entry::of::<JomaEntropy>(include_str!("../../experiments/joma_entropy.toml")),
    Entry::of::<JomaCritical>(include_str!("../../experiments/joma_critical.toml")),
    Entry::of::<JomaConvergence>(include_str!("../../experiments/joma_convergence.toml")),
    Entry::of::<JomaTree>(include_str!("../../experiments/joma_tree.toml")),
    #[cfg(feature = "train")]
    Entry::of::<super::Icl>(include_str!("../../experiments/icl.toml")),
    #[cfg(feature = "train")]
    Entry::of::<super::Language>(include_str!("../../experiments/language.toml")),
];

/// Those that need the feature `train`, which trains networks.
const TRAINING: [&str; 2] = ["icl", "language"];

/// The experiment with this id.
///
/// # Errors
/// An unknown id, with the nearest known ones; one that this build leaves out.
pub fn find(id: &str) -> Result<&'static Entry> {
    if cfg!(not(feature = "train")) && TRAINING.contains(&id) {
        let allowed = "it trains networks; build with --features train";
        return Err(Error::invalid("experiment", id, allowed));
    }
    let unknown = || Error::unknown("experiment", id, EXPERIMENTS.iter().map(|e| e.id));
    EXPERIMENTS.iter().find(|e| e.id == id).ok_or_else(unknown)
}
