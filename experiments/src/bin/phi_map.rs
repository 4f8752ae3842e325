//! SNR gain per layer for three phi, over delta and p.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("phi_map")
}
