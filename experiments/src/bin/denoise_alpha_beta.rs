//! In-context denoising Figure 6: the loss of softmax attention with scaled identities.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("denoise_alpha_beta")
}
