//! `attnlab new`: writes a package for a user's own theorem.

use attnlab_core::error::Result;
use attnlab_lab::command::{Out, Status};
use attnlab_lab::scaffold::{Dependency, scaffold};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  attnlab new my-theorem                         writes the package my-theorem
  attnlab new my-theorem --path ../attnlab       with a checkout of attnlab instead of the published crate
  cd my-theorem && cargo run -- check 'my_theorem.*' --mutants

The package has one claim with two mutants, one experiment, a test and a README. It builds and runs at
once, and is meant to be changed.";

/// Write a package with a claim, two mutants, an experiment and a test of your own
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Name of the package and of its folder: lower-case letters, digits and hyphens
    #[arg(value_name = "NAME")]
    name: String,
    /// Checkout of attnlab to depend on [default: the published crate]
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
}

pub fn run(args: &Args, out: &mut Out) -> Result<Status> {
    let dependency = args.path.clone().map_or(Dependency::Published, Dependency::Checkout);
    attnlab_lab::folder::list(&scaffold(&args.name, &dependency, std::path::Path::new("."))?, out)?;
    let name = &args.name;
    let family = name.replace('-', "_");
    out.line(&format!("next: cd {name} && cargo run -- check '{family}.*' --mutants"))?;
    Ok(Status::Expected)
}
