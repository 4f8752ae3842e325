//! Training on language.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "language")
}
