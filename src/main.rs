//! The `attnlab` command.

fn main() -> std::process::ExitCode {
    attnlab::main(attnlab::catalogue())
}
