//! Training on images.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("vision")
}
