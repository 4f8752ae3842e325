//! `attnlab audit`: every claim at random settings.

use attnlab_core::error::{Error, Result};
use attnlab_lab::audit::{self, Options, Summary, audit};
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::command::{Bar, Out, RowOptions, Status, input};
use attnlab_lab::run::store::{self, Manifest};
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  attnlab audit --quick                          a few settings of every claim, in minutes
  attnlab audit                                  200 settings of every claim, in hours
  attnlab audit --only aot.lemma1 --settings 20
  attnlab audit --only 'lsa.*'                   every claim whose id begins with lsa.
  attnlab audit --out runs/audit-0 --shard 0/4   the first of four parts ...
  attnlab audit --rows runs/audit-0 runs/audit-1 ... and the page of parts that are there

Draws settings inside the domain of every claim, corners and all choices included, and checks each in a
process of its own. Writes rows and audit.md, which lists every unexpected verdict with the command that
shows it. An audit that was stopped goes on where it was: give the same command again. Exit status 0: no
surprise stands; 1: some do; 2: bad usage or input; 130: stopped.";

/// Number of settings per claim under --quick.
const QUICK: u64 = 4;

/// Check every claim at random settings inside its domain
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Audit only these claims; `prefix*` stands for all whose ids begin so
    #[arg(long, value_name = "ID", num_args = 1..)]
    only: Vec<String>,
    /// Audit a few settings of each claim
    #[arg(long)]
    quick: bool,
    /// Settings per claim, fewer of one whose checks are long [default: 200, with --quick 4]
    #[arg(long, value_name = "N", value_parser = input::positive, allow_negative_numbers = true)]
    settings: Option<u64>,
    /// Time limit of one check in seconds, of processor time where the system tells it [default: 120]
    #[arg(long, value_name = "S", value_parser = input::seconds, allow_negative_numbers = true)]
    check_limit: Option<Duration>,
    /// Seed of the settings and of their checks
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = input::whole, allow_negative_numbers = true)]
    seed: u64,
    /// Folder for the rows and the page
    #[arg(long, value_name = "DIR", default_value = "runs/audit")]
    out: PathBuf,
    /// Write the page of the rows in these folders, and check nothing
    #[arg(long, value_name = "DIR", num_args = 1..)]
    rows: Vec<PathBuf>,
    #[command(flatten)]
    parts: RowOptions,
}

pub fn run(args: &Args, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    let (rows, folder) = match args.rows.as_slice() {
        [] => (audit(catalogue, &options(args)?, &Bar::resumable())?.rows, &args.out),
        folders => (store::read_all(folders)?.rows, &folders[0]),
    };
    let summary = Summary::of_rows(&rows)?;
    let (_, settings) = summary.settings_per_claim();
    let command = audit::command(&Manifest::of_folder(folder)?, settings);
    let path = args.out.join("audit.md");
    let advice = "Choose a folder that you may write with --out";
    std::fs::create_dir_all(&args.out).map_err(|e| Error::io(&args.out, e, advice))?;
    store::replace(&path, &summary.markdown(&command)).map_err(|e| Error::io(&path, e, advice))?;
    for surprise in summary.surprises.iter().filter(|s| s.stands()) {
        out.line(&format!("{}: {}", surprise.finding.name(), surprise.command))?;
    }
    out.line(&path.display().to_string())?;
    out.line(&summary.sentence())?;
    Ok(if summary.clean() { Status::Expected } else { Status::Unexpected })
}

fn options(args: &Args) -> Result<Options> {
    let defaults = Options::default();
    let program = std::env::current_exe()
        .map_err(|e| Error::io(std::path::Path::new("attnlab"), e, "Start it by its full path"))?;
    Ok(Options {
        out: args.out.clone(),
        only: args.only.clone(),
        seed: args.seed,
        settings: args.settings.unwrap_or(if args.quick { QUICK } else { defaults.settings }),
        limit: args.check_limit.unwrap_or(defaults.limit),
        program: Some(program),
        grid: args.parts.grid(),
    })
}
