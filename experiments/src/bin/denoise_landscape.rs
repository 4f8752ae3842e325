//! In-context denoising Figure 3: the energy landscape of one context, one step and many.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("denoise_landscape")
}
