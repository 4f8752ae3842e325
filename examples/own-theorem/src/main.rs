//! The `attnlab` command with this package's room.

fn main() -> std::process::ExitCode {
    attnlab::main(attnlab::catalogue().with(own_theorem::room()))
}
