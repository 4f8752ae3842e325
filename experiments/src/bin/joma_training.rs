//! Figures 2 and 3 of JoMA: does Theorem 1 predict the logits of softmax attention?

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("joma_training")
}
