//! Figures 2 and 3 of JoMA: does Theorem 1 predict the logits of softmax attention?

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "joma_training")
}
