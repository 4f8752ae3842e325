//! How much coherence of the subspaces Theorem 1 survives.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("coherence_map")
}
