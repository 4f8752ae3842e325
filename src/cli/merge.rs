//! `attnlab merge`: the shards of a run become one folder.

use super::out::Out;
use super::{Status, sweep as sweep_cli};
use crate::error::Result;
use crate::sweep::{self, Plan};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  attnlab merge runs/map --out runs/map-all                 shards that share a folder
  attnlab merge runs/map-0 runs/map-1 --out runs/map        shards in folders of their own
  attnlab figure theorem1_horizon --rows runs/map-all       figures from the merged rows

The merged rows are, byte for byte, those of the same run in one process. Nothing is written while
trials are missing; the message says how many, and of which cell first.";

/// Merge the shards of a sweep or an experiment into one folder
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Folders with the rows of shards
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Folder for the merged rows; may be one of the others
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Delete the rows of another run that the folder --out holds
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(args: &Args, out: &mut Out) -> Result<Status> {
    let report = sweep::merge(&args.folders, &args.out, args.force)?;
    sweep_cli::tell(&report);
    let plan = Plan::of_folder(&args.out)?;
    sweep_cli::finish(&plan, &report, &args.out, out)?;
    Ok(Status::Expected)
}
