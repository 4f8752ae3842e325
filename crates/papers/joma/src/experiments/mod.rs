//! The experiments of this room: a folder each, with code, pictures and `settings.toml`.

mod paired;

attnlab_lab::experiments! {
    training::JomaTraining,
    entropy::JomaEntropy,
    critical::JomaCritical,
    convergence::JomaConvergence,
    tree::JomaTree,
    table1::Table1,
    latents::JomaLatents,
    text::JomaText,
    association::JomaAssociation,
    patterns::JomaPatterns,
    weights::JomaWeights,
}
