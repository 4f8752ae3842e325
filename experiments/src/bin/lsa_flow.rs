//! Training linear self-attention: the lecture notes' two theorems.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("lsa_flow")
}
