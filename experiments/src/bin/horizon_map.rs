//! The depth of Theorem 1 over noise, N, K and tau.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "horizon_map")
}
