//! Theorem 4 of JoMA: how much faster do salient components converge?

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("joma_convergence")
}
