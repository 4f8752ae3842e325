//! The depth of Theorem 1 over noise, N, K and tau.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("horizon_map")
}
