//! Where Theorem 1 holds, against where it is stated.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "theorem1_map")
}
