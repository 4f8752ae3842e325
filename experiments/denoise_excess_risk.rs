//! Excess risk over Bayes of trained one-layer attention. Settings: `denoise_excess_risk.toml`
//! beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("denoise_excess_risk")
}
