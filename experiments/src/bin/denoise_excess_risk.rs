//! Excess risk over Bayes of trained one-layer attention.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("denoise_excess_risk")
}
