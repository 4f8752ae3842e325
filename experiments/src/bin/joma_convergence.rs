//! Theorem 4 of JoMA: how much faster do salient components converge?

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "joma_convergence")
}
