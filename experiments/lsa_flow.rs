//! Training linear self-attention: the lecture notes' two theorems. Settings: `lsa_flow.toml` beside
//! this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("lsa_flow")
}
