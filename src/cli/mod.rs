//! The `attnlab` command: one file per subcommand.
//!
//! Results go to standard output and nothing else does; progress, warnings and errors go to
//! standard error. Exit status 0: everything is as expected; 1: some verdict is not; 2: bad usage
//! or input, with one message that names the value and what to write instead.

mod backend;
mod bar;
mod card;
mod check;
mod completions;
mod doctor;
mod eval;
mod experiment;
mod export;
mod horizon;
mod input;
mod list;
mod merge;
mod out;
mod report;
mod reproduce;
mod sweep;
#[cfg(feature = "train")]
mod train;
mod unroll;

use crate::error::{Error, Result};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use out::Out;
use std::error::Error as _;
use std::ffi::OsString;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  attnlab reproduce                              the main job: claims, figures, report.html
  attnlab list                                   every claim, with its source
  attnlab check aot.mssa_is_mhsa                 is it true? with how much confidence?
  attnlab show aot.mssa_is_mhsa                  its statement, hypotheses and parameters
  attnlab eval aot.min_tokens --set clusters=2   any closed form, as a number
  attnlab unroll --tokens z.npy --bases u0.npy u1.npy --labels y.npy --layers 12
  attnlab horizon --tokens 20000 --dim 1300      the exact depth of Theorem 1 on one draw
  attnlab run snr_per_layer --quick              one figure of a paper: rows and pictures
  attnlab sweep map.toml                         a map over parameters; --print-schema shows the file
  attnlab report runs                            one HTML file of all verdicts and figures there
  attnlab doctor                                 what this machine offers

Exit status: 0 every verdict is the expected one, 1 some are not, 2 bad usage or input.";

/// Checks the mathematics of attention by simulation: claims of papers, with seeds, exact intervals
/// and verdicts.
#[derive(Parser)]
#[command(name = "attnlab", version, about, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    /// Threads to use [default: all]; results do not depend on it.
    #[arg(long, global = true, value_name = "N", value_parser = input::threads)]
    #[arg(allow_negative_numbers = true)]
    threads: Option<usize>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Reproduce(reproduce::Args),
    List(list::Args),
    Show(list::ShowArgs),
    Check(check::Args),
    Eval(eval::Args),
    Horizon(horizon::Args),
    Run(experiment::RunArgs),
    #[cfg(feature = "train")]
    Train(train::Args),
    Figure(experiment::FigureArgs),
    Sweep(sweep::Args),
    Merge(merge::Args),
    Export(export::Args),
    Report(report::Args),
    Unroll(unroll::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
}

/// Whether everything came out as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// Exit status 0.
    Expected,
    /// Exit status 1: some verdict is not the expected one.
    Unexpected,
}

/// A closed pipe ends the command as the signal would: 128 + SIGPIPE.
const PIPE_CLOSED: u8 = 141;

/// Work that the user stopped ends as the signal would end it: 128 + SIGINT.
const STOPPED: u8 = 130;

/// The `attnlab` command with the arguments of this process.
pub fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os()))
}

/// The program of an experiment's own binary: the options of `attnlab run ID`.
pub fn experiment_main(id: &str) -> ExitCode {
    experiment::main(id)
}

/// The program of the binary `theorem1_horizon` for one draw: `attnlab horizon` with its options.
pub fn horizon_main() -> ExitCode {
    let rest = std::env::args_os().skip(1);
    let command = ["attnlab".into(), "horizon".into()];
    ExitCode::from(run(command.into_iter().chain(rest)))
}

/// Runs the command with these arguments, the name of the program first; gives the exit status.
fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    finish(start_threads(cli.threads).and_then(|()| dispatch(&cli.command, &mut Out::stdout())))
}

fn dispatch(command: &Command, out: &mut Out) -> Result<Status> {
    match command {
        Command::Reproduce(args) => reproduce::run(args, out),
        Command::List(args) => list::run(args, out),
        Command::Show(args) => list::show(args, out),
        Command::Check(args) => check::run(args, out),
        Command::Eval(args) => eval::run(args, out),
        Command::Horizon(args) => horizon::run(args, out),
        Command::Run(args) => experiment::run(args, out),
        #[cfg(feature = "train")]
        Command::Train(args) => train::run(args, out),
        Command::Figure(args) => experiment::figure(args, out),
        Command::Sweep(args) => sweep::run(args, out),
        Command::Merge(args) => merge::run(args, out),
        Command::Export(args) => export::run(args, out),
        Command::Report(args) => report::run(args, out),
        Command::Unroll(args) => unroll::run(args, out),
        Command::Doctor(args) => doctor::run(args, out),
        Command::Completions(args) => completions::run(args, Cli::command(), out),
    }
}

/// The exit status of a finished command; an error becomes one message.
fn finish(result: Result<Status>) -> u8 {
    match result {
        Ok(Status::Expected) => 0,
        Ok(Status::Unexpected) => 1,
        Err(error) if out::pipe_closed(&error) => PIPE_CLOSED,
        Err(error @ Error::Stopped { .. }) => {
            out::note(&error.to_string());
            STOPPED
        }
        Err(error) => {
            out::note(&format!("error: {error}"));
            2
        }
    }
}

/// What clap has to say: help and version on standard output, errors on standard error, values
/// that a parser refused in our own words.
fn usage(error: &clap::Error) -> u8 {
    if let Some(refused) = refusal(error) {
        return finish(Err(refused));
    }
    // Nothing is left to do when even this cannot be written.
    let _ = error.print();
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// A refused value in our own words; None for what clap says well itself.
fn refusal(error: &clap::Error) -> Option<Error> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let refused = |allowed: String| {
        let (option, value) = (
            text(ContextKind::InvalidArg)?,
            text(ContextKind::InvalidValue)?,
        );
        Some(Error::invalid(bare(option), value, allowed))
    };
    match (error.kind(), error.get(ContextKind::ValidValue)) {
        (ErrorKind::ValueValidation, _) => refused(error.source()?.to_string()),
        (ErrorKind::InvalidValue, Some(ContextValue::Strings(words))) if !words.is_empty() => {
            refused(format!("one of {}", words.join(", ")))
        }
        (ErrorKind::InvalidUtf8, _) => Some(not_text(std::env::args_os())),
        _ => None,
    }
}

/// `--phi <PHI>` and `<SHELL>` as a user names them: `phi`, `shell`.
fn bare(option: &str) -> String {
    let name = option.split_whitespace().next().unwrap_or(option);
    match name.strip_prefix("--") {
        Some(name) => name.to_string(),
        None => name.trim_matches(['<', '>', '[', ']', '.']).to_lowercase(),
    }
}

/// The refusal of arguments that are no text. Only names of files may be none, and clap does not
/// say which argument it stumbled over, so all that are no text are named.
fn not_text(args: impl Iterator<Item = OsString>) -> Error {
    let broken = args.filter(|a| a.to_str().is_none());
    let broken: Vec<String> = broken.map(|a| a.to_string_lossy().into_owned()).collect();
    let allowed = "write UTF-8; only names of files and folders may have other bytes";
    Error::invalid("argument", broken.join(", "), allowed)
}

fn start_threads(threads: Option<usize>) -> Result<()> {
    let Some(threads) = threads else {
        return Ok(());
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build_global()
        .map_err(|e| Error::invalid("threads", threads, format!("a smaller number ({e})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_of_the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string);
            let name = command.get_name();
            let help = help.unwrap_or_default();
            assert!(help.contains(&format!("attnlab {name}")), "{name}: {help}");
        }
    }
}
