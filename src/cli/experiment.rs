//! `attnlab run` and the experiment binaries, which compute rows and pictures of one experiment, and
//! `attnlab figure`, which draws the pictures again from stored rows.

use super::{Process, finish, usage};
use attnlab_core::error::{Error, Result};
use attnlab_core::input::Inputs;
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::command::{Out, Parameters, RowOptions, Status, input, stop_on_signals};
use attnlab_lab::experiment::Entry;
use attnlab_lab::figure;
use attnlab_lab::folder::{self, RunFolder};
use attnlab_lab::run::files::content;
use attnlab_lab::run::store::Manifest;
use clap::{CommandFactory, FromArgMatches, Parser};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options that every experiment takes.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    parameters: Parameters,
    /// Settings that replace the defaults: a TOML file with any of the names that --show lists
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Use small sizes, for a rougher figure in less time
    #[arg(long)]
    quick: bool,
    /// Folder for rows and pictures [default: runs/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = input::whole, allow_negative_numbers = true)]
    seed: u64,
    #[command(flatten)]
    rows: RowOptions,
    /// Print the default settings with their meaning, and stop
    #[arg(long)]
    show: bool,
}

const RUN_EXAMPLES: &str = "\
Examples:
  attnlab run snr_per_layer --quick
  attnlab run snr_per_layer --seed 1 --out runs/snr        rows and pictures in one folder
  attnlab run snr_per_layer --show > mine.toml             its settings, to edit
  attnlab run snr_per_layer --config mine.toml --set tokens=4000
  attnlab run snr_per_layer --out runs/snr --shard 0/4     the first of four parts ...
  attnlab merge runs/snr --out runs/snr-all                ... and all of them together

A run that was stopped goes on where it was: give the same command again. Each experiment is also a
binary of its own: cargo run --bin snr_per_layer";

/// Run an experiment: one figure of a paper, its rows and pictures
#[derive(clap::Args, Debug)]
#[command(after_help = RUN_EXAMPLES)]
pub struct RunArgs {
    /// The experiment, as `attnlab list experiments` shows it
    #[arg(value_name = "EXPERIMENT")]
    id: String,
    #[command(flatten)]
    options: Options,
}

const FIGURE_EXAMPLES: &str = "\
Examples:
  attnlab figure snr_per_layer --rows runs/snr_per_layer
  attnlab figure snr_per_layer --rows runs/snr_per_layer --out plots
  attnlab figure aot.theorem1_bounded --rows runs/map      the map of a sweep over a claim";

/// Draw the figures of an experiment, or of a sweep over a claim, again from stored rows
#[derive(clap::Args, Debug)]
#[command(after_help = FIGURE_EXAMPLES)]
pub struct FigureArgs {
    /// Id of the experiment or the claim whose rows the folder holds
    #[arg(value_name = "EXPERIMENT")]
    id: String,
    /// Folder with its rows
    #[arg(long, value_name = "DIR")]
    rows: PathBuf,
    /// Folder for the pictures
    #[arg(long, value_name = "DIR", default_value = "plots")]
    out: PathBuf,
    /// Draw the rows that are there if trials are missing, with a watermark
    #[arg(long)]
    partial: bool,
}

/// Command line of an experiment's own binary.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Standalone {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    process: Process,
}

/// Runs the program of the binary of the experiment `name`.
pub fn main(catalogue: &Catalogue, name: &str) -> ExitCode {
    let entry = match catalogue.experiment(name) {
        Ok(entry) => entry,
        Err(error) => return ExitCode::from(finish(Err(error))),
    };
    let about = format!("{}. Source: {}.", entry.title, entry.source);
    let examples = format!(
        "Examples:\n  cargo run --bin {name} -- --quick\n  \
         cargo run --bin {name} -- --seed 1 --out runs/{name}-1\n\n\
         A run that was stopped goes on where it was: give the same command again."
    );
    let command = Standalone::command().name(entry.name).about(about).after_help(examples);
    let parsed = command.try_get_matches().and_then(|m| Standalone::from_arg_matches(&m));
    stop_on_signals();
    Inputs::record_process();
    let status = match parsed {
        Ok(args) => finish(args.process.configure().and_then(|()| execute(entry, &args.options, &mut Out::stdout()))),
        Err(error) => usage(&error),
    };
    ExitCode::from(status)
}

pub fn run(args: &RunArgs, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    execute(catalogue.experiment(&args.id)?, &args.options, out)
}

/// Runs an experiment: rows and pictures go to a folder, the paths of the pictures to standard output.
pub(super) fn execute(entry: &Entry, options: &Options, out: &mut Out) -> Result<Status> {
    if options.show {
        out.line(entry.defaults.trim_end())?;
        return Ok(Status::Expected);
    }
    let experiment = entry.configure(options.quick, options.config.as_deref(), &settings(&options.parameters)?)?;
    let folder = options.out.clone().unwrap_or_else(|| Path::new("runs").join(entry.name));
    folder::keep(entry, &*experiment, (options.seed, options.rows), &folder, out)?;
    Ok(Status::Expected)
}

pub fn figure(args: &FigureArgs, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    let manifest = Manifest::of_folder(&args.rows)?;
    // An experiment may be named by its id or by the name in its rows.
    let named = match catalogue.experiment(&args.id) {
        Ok(entry) => entry.name,
        // An unknown id is more likely meant as an experiment than as a claim.
        Err(error) if catalogue.claim(&args.id).is_err() => return Err(error),
        Err(_) => args.id.as_str(),
    };
    if manifest.id != named {
        return Err(content(&args.rows, format!("it holds rows of {}, not of {named}", manifest.id)));
    }
    let run = RunFolder::open(&args.rows, catalogue)?;
    folder::note_dropped(&run.dropped);
    let figures = if args.partial { run.partial_figures()? } else { run.figures()? };
    folder::list(&figure::write_all(&figures, &args.out)?, out)?;
    Ok(Status::Expected)
}

/// Returns the user's settings as TOML.
fn settings(parameters: &Parameters) -> Result<toml::Table> {
    let set = parameters.collect()?;
    toml::Table::try_from(&set).map_err(|e| {
        Error::invalid("set", serde_json::Value::Object(set.clone()), format!("must be values that TOML has too ({e})"))
    })
}
