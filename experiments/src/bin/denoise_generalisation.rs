//! In-context denoising, Figure 5.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("denoise_generalisation")
}
