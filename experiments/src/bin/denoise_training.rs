//! In-context denoising, Figure 2.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "denoise_training")
}
