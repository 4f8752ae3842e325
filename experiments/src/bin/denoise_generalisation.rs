//! In-context denoising, Figure 5.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "denoise_generalisation")
}
