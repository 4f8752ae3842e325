//! The experiments of this room: a folder each, with code, pictures and `settings.toml`.

mod tasks;

attnlab_lab::experiments! {
    training::DenoiseTraining,
    generalisation::DenoiseGeneralisation,
    excess_risk::DenoiseExcessRisk,
    landscape::DenoiseLandscape,
    alpha_beta::DenoiseAlphaBeta,
}
