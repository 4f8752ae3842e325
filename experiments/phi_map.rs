//! SNR gain per layer for three phi, over delta and p. Settings: `phi_map.toml` beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("phi_map")
}
