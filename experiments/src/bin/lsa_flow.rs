//! Training linear self-attention: the lecture notes' two theorems.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "lsa_flow")
}
