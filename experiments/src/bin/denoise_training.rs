//! In-context denoising, Figure 2.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("denoise_training")
}
