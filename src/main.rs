//! The `attnlab` command.

fn main() -> std::process::ExitCode {
    attnlab::cli::main()
}
