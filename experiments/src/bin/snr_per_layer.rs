//! AoT Figure 4: SNR per layer.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "snr_per_layer")
}
