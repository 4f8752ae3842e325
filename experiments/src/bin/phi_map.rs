//! SNR gain per layer for three phi, over delta and p.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "phi_map")
}
