//! Figures 2 and 3 of JoMA: does Theorem 1 predict the logits of softmax attention? Settings:
//! `joma_training.toml` beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("joma_training")
}
