//! AoT Figure 4: SNR per layer.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("snr_per_layer")
}
