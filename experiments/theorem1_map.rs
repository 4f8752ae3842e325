//! Where Theorem 1 holds, against where it is stated. Settings: `theorem1_map.toml` beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("theorem1_map")
}
