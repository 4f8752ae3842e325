//! How much coherence of the subspaces Theorem 1 survives.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "coherence_map")
}
