//! Theorem 5 of JoMA: co-occurrence against the depth of the common ancestor.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main(&attnlab::catalogue(), "joma_tree")
}
