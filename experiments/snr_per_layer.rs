//! AoT Figure 4: SNR per layer. Settings: `snr_per_layer.toml` beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("snr_per_layer")
}
