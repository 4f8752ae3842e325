//! Theorem 5 of JoMA: co-occurrence against the depth of the common ancestor.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("joma_tree")
}
