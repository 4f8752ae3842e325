//! Linear self-attention trained on B prompts and from other starts.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("lsa_training")
}
