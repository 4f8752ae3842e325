//! In-context denoising, Figure 2. Settings: `denoise_training.toml` beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("denoise_training")
}
