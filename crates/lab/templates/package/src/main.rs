//! The `attnlab` command with this package's room.

fn main() -> std::process::ExitCode {
    attnlab::main(attnlab::catalogue().with(my_theorem::room()))
}
