//! Excess risk over Bayes of trained one-layer attention.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "denoise_excess_risk")
}
