//! AoT Figure 4: SNR per layer. Settings: `snr_per_layer.toml` beside this file.

fn main() -> std::process::ExitCode {
    attnlab::experiment::command::main("snr_per_layer")
}
