//! `attnlab sweep`: runs a claim or an experiment over every combination of some axes.

use attnlab_core::error::Result;
use attnlab_core::format::quoted;
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::command::{Bar, Out, RowOptions, Status, note};
use attnlab_lab::folder::{list, note_shard, note_trials};
use attnlab_lab::run::grid::{Finished, GridOptions};
use attnlab_lab::run::memory;
use attnlab_lab::run::store::Shard;
use attnlab_lab::sweep::{self, CellMark, Plan, Sweep};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  attnlab sweep --print-schema > map.toml      a sweep file with every key, to edit
  attnlab sweep map.toml                       rows, cells.csv and a map in runs/map
  attnlab sweep map.toml --out runs/map --shard 0/4        the first of four parts ...
  attnlab merge runs/map --out runs/map-all                ... and all of them together
  attnlab export runs/map-all --format csv     every trial as a table

A sweep that was stopped (Ctrl-C, a kill, a full disk) goes on where it was: give the same command
again. Exit status 0: done, whatever the verdicts; 2: bad usage or input; 130: stopped.";

/// Run a claim or an experiment over every combination of some axes: a map
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The sweep: a TOML file, see --print-schema
    #[arg(value_name = "FILE", required_unless_present = "print_schema")]
    file: Option<PathBuf>,
    /// Folder for the rows and the summary [default: runs/NAME, from the file's name]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    rows: RowOptions,
    /// Print every key of a sweep file with its meaning, and stop
    #[arg(long)]
    print_schema: bool,
}

pub fn run(args: &Args, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    let file = match (&args.file, args.print_schema) {
        (Some(file), false) => file,
        _ => {
            out.line(sweep::schema().trim_end())?;
            return Ok(Status::Expected);
        }
    };
    let sweep = Sweep::read(file)?;
    let plan = Plan::new(&sweep, catalogue)?;
    let folder = args.out.clone().unwrap_or_else(|| Path::new("runs").join(file.file_stem().unwrap_or_default()));
    note(&size(&plan, &folder)?);
    let words = [file, &folder].map(|path| quoted(&path.display().to_string()));
    let command = format!("attnlab sweep {} --out {}", words[0], words[1]);
    let options = GridOptions { command: Some(&command), ..args.rows.grid() };
    let finished = sweep::run_plan(&plan, &folder, options, &Bar::resumable())?;
    note_trials(&finished.dropped, finished.resumed, finished.computed);
    if args.rows.shard.is_whole() {
        finish(&plan, &finished, &folder, out)?;
    } else {
        note_shard(args.rows.shard, finished.stored.len(), &folder);
    }
    Ok(Status::Expected)
}

/// Writes the summary and the maps of a whole or merged sweep, and prints their paths.
pub fn finish(plan: &Plan, finished: &Finished, folder: &Path, out: &mut Out) -> Result<()> {
    let (cells, pictures) = sweep::write_results(plan, &finished.stored, folder)?;
    out.line(&folder.join(Shard::WHOLE.file()).display().to_string())?;
    if !cells.is_empty() {
        out.line(&folder.join("cells.jsonl").display().to_string())?;
        out.line(&folder.join("cells.csv").display().to_string())?;
        list(&pictures, out)?;
        out.line(&tally(&cells))?;
    }
    Ok(())
}

fn size(plan: &Plan, folder: &Path) -> Result<String> {
    let trials: u64 = plan.cells.keys().iter().map(|c| c.trials).sum();
    let heaviest = plan.cells.heaviest()?;
    let heaviest = heaviest
        .filter(|c| c.memory > 0)
        .map_or(String::new(), |c| format!(", at most {} of memory a trial", memory::size(c.memory)));
    // Under a stopping rule cells may end before all their trials are done.
    let stops = plan.claim().is_some_and(|(_, sweep)| sweep.stop.is_some());
    let (cells, most) = (plan.cells.len(), if stops { "at most " } else { "" });
    Ok(format!("{cells} cells, {most}{trials} trials{heaviest}; rows in {}", folder.display()))
}

/// Returns a sentence with the number of cells per verdict.
fn tally(cells: &[CellMark]) -> String {
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    for cell in cells {
        *counts.entry(cell.verdict).or_default() += 1;
    }
    let each = counts.iter().map(|(v, n)| format!("{n} {}", v.name()));
    format!("{} cells: {}.", cells.len(), each.collect::<Vec<_>>().join(", "))
}
