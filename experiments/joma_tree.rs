//! Theorem 5 of JoMA: co-occurrence against the depth of the common ancestor. Settings: `joma_tree.toml`
//! beside this file.

fn main() -> std::process::ExitCode {
    attnlab::cli::experiment_main("joma_tree")
}
