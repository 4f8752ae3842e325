//! In-context denoising Figure 3: the energy landscape of one context, one step and many. Settings:
//! `denoise_landscape.toml` beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("denoise_landscape")
}
