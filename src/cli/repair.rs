//! `attnlab repair`: what is wrong with a folder of rows, and the wrong lines set aside.

use attnlab_core::error::Result;
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::command::{Out, Status, note};
use attnlab_lab::folder;
use attnlab_lab::run::store::Repair;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  attnlab repair runs/map              what is wrong with each line, and what would be done
  attnlab repair runs/map --apply      moves those lines to runs/map/set-aside.jsonl

A line is wrong if it is no row, or a row of another run, seed, build or cell than run.json says, or if
another line has other numbers for the same trial (then both are wrong). Nothing is lost: the command
that began the run computes the trials of those lines again. Exit status 0: nothing is wrong, or it was
repaired; 1: something is; 2: bad usage or input.";

/// Find the lines of a folder of rows that are not rows of its run, and set them aside
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Folder with rows
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Move the wrong lines and delete the leftovers
    #[arg(long)]
    apply: bool,
}

pub fn run(args: &Args, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    let repair = folder::repair(&args.folder, catalogue, args.apply)?;
    for fault in &repair.faults {
        let (file, line) = (fault.file.display(), fault.line);
        out.line(&format!("{file}: line {line} {}", fault.why))?;
    }
    for path in &repair.leftovers {
        out.line(&format!("{}: left by a killed process", path.display()))?;
    }
    let (wrong, left) = (repair.faults.len(), repair.leftovers.len());
    out.line(&format!("lines: {} right, {wrong} wrong", repair.kept))?;
    if repair.is_clean() {
        return Ok(Status::Expected);
    }
    let aside = args.folder.join(Repair::ASIDE);
    let aside = aside.display();
    if args.apply {
        note(&format!("lines moved to {aside}: {wrong}; leftovers deleted: {left}"));
        return Ok(Status::Expected);
    }
    note(&format!("--apply moves the wrong lines to {aside} and deletes the leftovers"));
    Ok(Status::Unexpected)
}
