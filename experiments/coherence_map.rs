//! How much coherence of the subspaces Theorem 1 survives. Settings: `coherence_map.toml` beside this
//! file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("coherence_map")
}
