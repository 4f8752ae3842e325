//! `attnlab merge`: merges the shards of a run into one folder.

use super::sweep as sweep_cli;
use attnlab_core::error::Result;
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::command::{Out, Status};
use attnlab_lab::sweep::{self, MergeOptions};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  attnlab merge runs/map --out runs/map-all                 shards that share a folder
  attnlab merge runs/map-0 runs/map-1 --out runs/map        shards in folders of their own
  attnlab figure theorem1_horizon --rows runs/map-all       figures from the merged rows

The merged rows are, byte for byte, those of the same run in one process. Nothing is written while
trials are missing; the message names their number and the first cell that lacks one.";

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
    #[command(flatten)]
    options: MergeOptions,
}

pub fn run(args: &Args, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    let (plan, merged) = sweep::merge_rows(&args.folders, catalogue, &args.out, args.options)?;
    attnlab_lab::folder::note_dropped(&merged.dropped);
    sweep_cli::finish(&plan, &merged, &args.out, out)?;
    Ok(Status::Expected)
}
