//! Training on images.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "vision")
}
