//! In-context denoising Figure 6: the loss of softmax attention with scaled identities.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "denoise_alpha_beta")
}
