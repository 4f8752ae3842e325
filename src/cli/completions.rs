//! `attnlab completions`: completion scripts for shells.

use attnlab_core::error::Result;
use attnlab_lab::command::{Out, Status};
use clap_complete::Shell;

const EXAMPLES: &str = "\
Examples:
  attnlab completions bash > ~/.local/share/bash-completion/completions/attnlab
  attnlab completions zsh > ~/.zfunc/_attnlab
  attnlab completions fish > ~/.config/fish/completions/attnlab.fish";

/// Print a completion script for a shell
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: &Args, mut command: clap::Command, out: &mut Out) -> Result<Status> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut command, "attnlab", &mut script);
    out.line(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Status::Expected)
}
