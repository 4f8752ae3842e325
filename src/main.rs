//! The `attnlab` command.

fn main() -> std::process::ExitCode {
    attnlab::state_build();
    attnlab::main(attnlab::catalogue())
}
