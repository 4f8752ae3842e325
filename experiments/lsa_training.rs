//! Linear self-attention trained on B prompts and from other starts. Settings: `lsa_training.toml`
//! beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("lsa_training")
}
