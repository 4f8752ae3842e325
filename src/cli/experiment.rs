//! `attnlab run` and the experiment binaries: rows and pictures of one experiment; and
//! `attnlab figure`: the pictures again, from stored rows.

use super::bar::Bar;
use super::input::{self, Parameters};
use super::out::{Out, note};
use super::{Status, finish, start_threads, usage};
use crate::claim;
use crate::error::{Error, Result};
use crate::experiment::{self, Entry, Experiment, RunOptions, registry};
use crate::figure::{self, Figure};
use crate::report::{Origin, Picture, quoted};
use crate::run::Row;
use crate::run::store::{self, Shard};
use crate::sweep::{self, Part, Plan};
use clap::{CommandFactory, FromArgMatches, Parser};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What every experiment takes.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    parameters: Parameters,
    /// Settings that replace the defaults: a TOML file with any of the names that --show lists
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Small sizes: the same figure, rougher
    #[arg(long)]
    quick: bool,
    /// Folder for rows and pictures [default: runs/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = input::whole)]
    #[arg(allow_negative_numbers = true)]
    seed: u64,
    /// Delete the rows of another run that the folder holds
    #[arg(long)]
    force: bool,
    /// Do one part of the trials only, I from 0 to N-1; merge the parts with attnlab merge
    #[arg(
        long,
        value_name = "I/N",
        default_value = "0/1",
        hide_default_value = true
    )]
    #[arg(value_parser = input::shard)]
    shard: Shard,
    /// Print the default settings with their meaning, and stop
    #[arg(long)]
    show: bool,
}

const RUN_EXAMPLES: &str = "\
Examples:
  attnlab run snr_per_layer --quick
  attnlab run snr_per_layer --seed 1 --out runs/snr        rows and pictures in one folder
  attnlab run snr_per_layer --show > mine.toml             its settings, to be changed
  attnlab run snr_per_layer --config mine.toml --set tokens=4000

A run that was stopped goes on where it was: give the same command again. Each experiment is also a
binary of its own: cargo run --release --bin snr_per_layer";

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
    /// The experiment, or the claim, whose rows the folder holds
    #[arg(value_name = "EXPERIMENT")]
    id: String,
    /// Folder with its rows
    #[arg(long, value_name = "DIR")]
    rows: PathBuf,
    /// Folder for the pictures
    #[arg(long, value_name = "DIR", default_value = "plots")]
    out: PathBuf,
}

/// The command line of an experiment's own binary.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Standalone {
    #[command(flatten)]
    options: Options,
    /// Threads to use [default: all]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = input::threads, allow_negative_numbers = true)]
    threads: Option<usize>,
}

/// The whole program of the binary of experiment `id`.
pub fn main(id: &str) -> ExitCode {
    let entry = match registry::find(id) {
        Ok(entry) => entry,
        Err(error) => return ExitCode::from(finish(Err(error))),
    };
    let about = format!("{}. Source: {}.", entry.title, entry.source);
    let examples = format!(
        "Examples:\n  cargo run --release --bin {id} -- --quick\n  \
         cargo run --release --bin {id} -- --seed 1 --out runs/{id}-1\n\n\
         A run that was stopped goes on where it was: give the same command again."
    );
    let command = Standalone::command()
        .name(entry.id)
        .about(about)
        .after_help(examples);
    let parsed = command
        .try_get_matches()
        .and_then(|m| Standalone::from_arg_matches(&m));
    let status = match parsed {
        Ok(args) => finish(
            start_threads(args.threads)
                .and_then(|()| execute(entry, &args.options, &mut Out::stdout())),
        ),
        Err(error) => usage(&error),
    };
    ExitCode::from(status)
}

/// Runs `attnlab run`.
pub fn run(args: &RunArgs, out: &mut Out) -> Result<Status> {
    execute(registry::find(&args.id)?, &args.options, out)
}

/// Rows and pictures go to a folder, the paths of the pictures to standard output.
pub(super) fn execute(entry: &Entry, options: &Options, out: &mut Out) -> Result<Status> {
    if options.show {
        out.line(entry.defaults.trim_end())?;
        return Ok(Status::Expected);
    }
    let set = settings(&options.parameters)?;
    let experiment = entry.configure(options.quick, options.config.as_deref(), &set)?;
    let default = || Path::new("runs").join(entry.id);
    let folder = options.out.clone().unwrap_or_else(default);
    let how = RunOptions {
        seed: options.seed,
        force: options.force,
        shard: options.shard,
    };
    let found = experiment::run(&*experiment, &folder, &how, &Bar::of_rows())?;
    for dropped in &found.dropped {
        note(&format!("warning: {dropped}"));
    }
    if found.resumed > 0 {
        let (old, new) = (found.resumed, found.computed);
        note(&format!(
            "{old} trials were there already, {new} computed now"
        ));
    }
    noted(entry, &*experiment, options.seed, found.computed, &folder)?;
    if !options.shard.is_whole() {
        super::sweep::shard_done(options.shard, found.rows.len(), &folder);
        return Ok(Status::Expected);
    }
    draw(&*experiment, &found.rows, &folder, out)?;
    Ok(Status::Expected)
}

/// Notes beside the rows what computed them, where something was computed.
pub(super) fn noted(
    entry: &Entry,
    experiment: &dyn Experiment,
    seed: u64,
    computed: u64,
    folder: &Path,
) -> Result<()> {
    if computed == 0 {
        return Ok(());
    }
    Origin::here(command(entry, experiment, seed)?).note(folder)
}

/// Figures with what made them, for a report.
pub(super) fn pictures(
    figures: Vec<Figure>,
    experiment: &dyn Experiment,
    rows: &[Row],
    folder: &Path,
) -> Result<Vec<Picture>> {
    let mut origins = Origin::read(folder)?;
    let (seed, build) = rows.first().map_or((0, ""), |row| (row.seed, &row.build));
    if origins.is_empty() {
        let command = command(registry::find(experiment.id())?, experiment, seed)?;
        origins.push(Origin::unknown(command, build));
    }
    let picture = |figure| Picture {
        figure,
        seed,
        origins: origins.clone(),
    };
    Ok(figures.into_iter().map(picture).collect())
}

/// The command that runs an experiment with these settings: what differs from the defaults or, where
/// that is less, from the quick sizes.
fn command(entry: &Entry, experiment: &dyn Experiment, seed: u64) -> Result<String> {
    let settings = experiment.settings();
    let mut shortest: Option<(usize, String)> = None;
    for (quick, flag) in [(false, ""), (true, " --quick")] {
        let base = entry
            .configure(quick, None, &toml::Table::new())?
            .settings();
        let differs =
            |(name, value): &(&String, &serde_json::Value)| base.get(*name) != Some(*value);
        let changed = settings.iter().filter(differs);
        let sets: Vec<String> = changed
            .map(|(name, value)| format!(" --set {}", quoted(&format!("{name}={value}"))))
            .collect();
        let text = format!(
            "attnlab run {}{flag} --seed {seed}{}",
            entry.id,
            sets.concat()
        );
        if shortest
            .as_ref()
            .is_none_or(|(count, _)| sets.len() < *count)
        {
            shortest = Some((sets.len(), text));
        }
    }
    Ok(shortest.map_or_else(String::new, |(_, text)| text))
}

/// The rows of a folder; what was dropped is said on standard error.
pub(super) fn rows_of(folder: &Path) -> Result<Vec<Row>> {
    let found = store::read(folder)?;
    for dropped in &found.dropped {
        note(&format!("warning: {dropped}"));
    }
    Ok(found.rows)
}

/// A run that has only begun.
pub(super) fn no_rows(folder: &Path) -> Error {
    Error::Content {
        path: folder.to_path_buf(),
        problem: "no rows yet: give the command that began the run again, it goes on".into(),
    }
}

/// Runs `attnlab figure`.
pub fn figure(args: &FigureArgs, out: &mut Out) -> Result<Status> {
    let plan = Plan::of_folder(&args.rows)?;
    let id = &args.id;
    if plan.manifest.id != *id {
        // A name that there is not is the likelier slip.
        registry::find(id)
            .map(|_| ())
            .or_else(|e| match claim::registry::find(id) {
                Ok(_) => Ok(()),
                Err(_) => Err(e),
            })?;
        let found = &plan.manifest.id;
        return Err(Error::Content {
            path: args.rows.clone(),
            problem: format!("it holds rows of {found}, not of {id}"),
        });
    }
    let rows = rows_of(&args.rows)?;
    if rows.is_empty() {
        return Err(no_rows(&args.rows));
    }
    let maps = sweep::figures(&plan, &sweep::summarise(&plan, &rows)?)?;
    list(&figure::write_all(&maps, &args.out)?, out)?;
    for part in plan.parts(&rows) {
        list(&figure::write_all(&figures_of(&part)?, &args.out)?, out)?;
    }
    Ok(Status::Expected)
}

/// The figures of a part of a run. A sweep over an experiment's settings has its figures once for each
/// of them.
pub(super) fn figures_of(part: &Part) -> Result<Vec<Figure>> {
    let mut figures = part.experiment.figures(&part.rows)?;
    for figure in figures.iter_mut().filter(|_| !part.label.is_empty()) {
        let plain = |c: char| c.is_alphanumeric() || "=.-_".contains(c);
        let words = part.label.split(|c| !plain(c)).filter(|w| !w.is_empty());
        let suffix = words.collect::<Vec<_>>().join("_");
        figure.name = format!("{}_{suffix}", figure.name);
        figure.title = format!("{} ({})", figure.title, part.label);
    }
    Ok(figures)
}

fn draw(experiment: &dyn Experiment, rows: &[Row], folder: &Path, out: &mut Out) -> Result<()> {
    list(&figure::write_all(&experiment.figures(rows)?, folder)?, out)
}

pub(super) fn list(written: &[PathBuf], out: &mut Out) -> Result<()> {
    written
        .iter()
        .try_for_each(|path| out.line(&path.display().to_string()))
}

/// The user's settings as TOML, which experiments are configured with.
fn settings(parameters: &Parameters) -> Result<toml::Table> {
    let set = parameters.collect()?;
    toml::Table::try_from(&set).map_err(|e| {
        let shown = serde_json::Value::Object(set.clone());
        Error::invalid("set", shown, format!("values that TOML has too ({e})"))
    })
}
