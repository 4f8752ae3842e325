//! The command line of the experiment binaries.

use super::{Entry, Experiment, RunOptions, RunReport, registry, run};
use crate::error::{Error, Result};
use crate::figure;
use crate::run::store::{self, Manifest};
use crate::run::{Progress, Row};
use clap::{CommandFactory, FromArgMatches, Parser};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What every experiment binary takes.
#[derive(Clone, Debug, Parser)]
#[command(version, max_term_width = 100)]
pub struct Arguments {
    /// Settings that replace the defaults: a TOML file with any of the names that --show lists
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// One setting, such as tokens=4000 or noise=[0.1,0.2]; again for more
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Small sizes: the same figure, rougher
    #[arg(long)]
    pub quick: bool,
    /// Folder for rows and pictures [default: runs/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seed of every random stream
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Delete the rows of another run that the folder holds
    #[arg(long)]
    pub force: bool,
    /// Print the default settings with their meaning, and stop
    #[arg(long)]
    pub show: bool,
}

/// Runs the experiment `id` with the arguments of this process: rows and pictures go to a folder,
/// their paths to standard output. Exit status 2 for bad usage or input.
pub fn main(id: &str) -> ExitCode {
    let result = registry::find(id).and_then(|entry| {
        let about = format!("{}. Source: {}.", entry.title, entry.source);
        let matches = Arguments::command()
            .name(entry.id)
            .about(about)
            .get_matches();
        let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
        execute(entry, &arguments, &crate::cli::progress_bar())
    });
    exit_code(result)
}

/// Prints an error as the `attnlab` command does and gives its exit status.
pub fn exit_code(result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Does what the arguments say.
///
/// # Errors
/// Bad settings, a folder that cannot be written or holds other rows.
pub fn execute(entry: &Entry, arguments: &Arguments, progress: &dyn Progress) -> Result<()> {
    if arguments.show {
        print!("{}", entry.defaults);
        return Ok(());
    }
    let set = settings_of(&arguments.set)?;
    let experiment = entry.configure(arguments.quick, arguments.config.as_deref(), &set)?;
    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| Path::new("runs").join(entry.id));
    let options = RunOptions {
        seed: arguments.seed,
        force: arguments.force,
    };
    let RunReport {
        rows,
        resumed,
        computed,
        dropped,
    } = run(&*experiment, &out, &options, progress)?;
    for note in dropped {
        eprintln!("warning: {note}");
    }
    if resumed > 0 {
        eprintln!("{resumed} trials were there already, {computed} computed now");
    }
    for path in figure::write_all(&experiment.figures(&rows)?, &out)? {
        println!("{}", path.display());
    }
    Ok(())
}

/// `name=value` pairs as TOML; a value that is no TOML is a word.
///
/// # Errors
/// A pair without "=".
pub fn settings_of(pairs: &[String]) -> Result<toml::Table> {
    let mut table = toml::Table::new();
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(Error::invalid(
                "--set",
                pair,
                "NAME=VALUE, such as tokens=4000",
            ));
        };
        let line = format!("value = {value}").parse::<toml::Table>();
        let parsed = line.ok().and_then(|mut t| t.remove("value"));
        table.insert(
            name.trim().into(),
            parsed.unwrap_or_else(|| value.trim().into()),
        );
    }
    Ok(table)
}

/// What a folder of rows holds: the experiment with its settings, its rows in canonical order, and
/// what was dropped.
///
/// # Errors
/// A folder without rows of an experiment, or with damaged ones.
pub fn load(folder: &Path) -> Result<(Box<dyn Experiment>, Vec<Row>, Vec<String>)> {
    let manifest = Manifest::read(folder)?.ok_or_else(|| Error::Content {
        path: folder.to_path_buf(),
        problem: format!(
            "it has no {}; give a folder that an experiment wrote",
            Manifest::FILE
        ),
    })?;
    let experiment = registry::find(&manifest.id)?.with_settings(&manifest.settings)?;
    let found = store::read(folder)?;
    let cells: Vec<u64> = experiment.cells()?.iter().map(|c| c.cell()).collect();
    Ok((
        experiment,
        store::canonical(found.rows, &cells),
        found.dropped,
    ))
}
