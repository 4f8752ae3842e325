//! Linear self-attention trained on B prompts and from other starts.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "lsa_training")
}
