//! In-context learning, Figures 6 and 7.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("icl")
}
