//! Where Theorem 1 holds, against where it is stated.

fn main() -> std::process::ExitCode {
    attnlab::experiment_main("theorem1_map")
}
