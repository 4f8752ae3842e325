//! The experiments of this room: a folder each, with code, pictures and `settings.toml`.

mod common;

attnlab_lab::experiments! {
    flow::LsaFlow,
    training::LsaTraining,
}
