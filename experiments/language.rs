//! Training on language. Settings: `language.toml` beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("language")
}
