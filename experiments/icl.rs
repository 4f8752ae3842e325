//! In-context learning, Figures 6 and 7. Settings: `icl.toml` beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("icl")
}
