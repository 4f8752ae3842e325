//! Training on language.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("language")
}
