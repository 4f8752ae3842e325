//! The depth of Theorem 1 over noise, N, K and tau. Settings: `horizon_map.toml` beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("horizon_map")
}
