//! In-context denoising Figure 6: the loss of softmax attention with scaled identities. Settings:
//! `denoise_alpha_beta.toml` beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("denoise_alpha_beta")
}
