//! In-context denoising, Figure 5. Settings: `denoise_generalisation.toml` beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("denoise_generalisation")
}
