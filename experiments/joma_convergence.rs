//! Theorem 4 of JoMA: how much faster do salient components converge? Settings:
//! `joma_convergence.toml` beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("joma_convergence")
}
