//! The `attnlab` command: one file per subcommand.
//!
//! Results go to standard output and nothing else does; progress, warnings and errors go to standard error. Exit status
//! 0: everything is as expected; 1: some verdict is not; 2: bad usage or input, with one message that names the value
//! and what to write instead; 3: a computation failed; 130: stopped, by the user or at the time limit.

mod audit;
mod card;
mod check;
mod completions;
mod diff;
mod doctor;
mod eval;
mod experiment;
mod export;
mod glossary;
mod list;
mod merge;
mod new;
mod on_arrays;
mod open;
mod repair;
mod report;
mod reproduce;
mod sweep;
mod train;

pub use glossary::defined;
pub use list::{listed, shown};

use attnlab_core::error::{Error, Result};
use attnlab_core::input::Inputs;
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::command::{Out, STOPPED, Status, input, note, pipe_closed, stop_after, stop_on_signals, unwritten};
use attnlab_lab::run::schedule::no_thread;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::error::Error as _;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  attnlab reproduce                              checks every claim and writes report.html
  attnlab list                                   every claim, with its source
  attnlab check aot.mssa_is_mhsa                 its verdict, with the evidence
  attnlab show aot.mssa_is_mhsa                  its statement, hypotheses and parameters
  attnlab eval aot.min_tokens --set clusters=2   any closed form, as a number
  attnlab unroll --tokens z.npy --bases u0.npy u1.npy --labels y.npy --layers 12
  attnlab horizon --tokens 20000 --dim 1300      the exact depth of Theorem 1 on one draw
  attnlab weights pythia-70m                     stable rank of weights along checkpoints
  attnlab run snr_per_layer --quick              one figure of a paper: rows and pictures
  attnlab sweep map.toml                         a map over parameters; --print-schema shows the file
  attnlab report runs                            one HTML file of all verdicts and figures in runs
  attnlab diff runs/main runs/branch             verdicts and estimates that changed between two runs
  attnlab new my-theorem                         a package with a claim of your own, which runs at once
  attnlab glossary                               defines parameters, verdict words and terms
  attnlab audit --quick                          every claim at random settings of its own
  attnlab doctor                                 threads, memory, GPUs and speed of this machine

Exit status: 0 every verdict is the expected one, 1 some are not, 2 bad usage or input, 3 a computation
failed, 130 stopped, by Ctrl-C or at --time-limit.";

/// Checks the mathematics of attention by simulation: claims of papers, with seeds, exact intervals and verdicts.
#[derive(Parser)]
#[command(name = "attnlab", version, about, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    process: Process,
    #[command(subcommand)]
    command: Command,
}

/// Options of the process, which every command has.
#[derive(clap::Args)]
struct Process {
    /// Threads to use [default: all]; results do not depend on it
    #[arg(long, global = true, value_name = "N", value_parser = input::threads, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Stop after S seconds, as Ctrl-C does; the trial under way is named
    #[arg(long, global = true, value_name = "S", value_parser = input::seconds, allow_negative_numbers = true)]
    time_limit: Option<Duration>,
}

impl Process {
    /// Starts the threads and the clock of the time limit.
    fn configure(&self) -> Result<()> {
        self.time_limit.map_or(Ok(()), stop_after)?;
        start_threads(self.threads)
    }
}

#[derive(Subcommand)]
enum Command {
    Reproduce(reproduce::Args),
    List(list::Args),
    Show(list::ShowArgs),
    Check(check::Args),
    Audit(audit::Args),
    Eval(eval::Args),
    Run(experiment::RunArgs),
    Train(train::Args),
    Figure(experiment::FigureArgs),
    Sweep(sweep::Args),
    Merge(merge::Args),
    Export(export::Args),
    Repair(repair::Args),
    Report(report::Args),
    Diff(diff::Args),
    New(new::Args),
    Glossary(glossary::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
}

/// Exit status of a computation that failed on valid input.
const NUMERICAL: u8 = 3;

/// Exit status after a closed pipe, 128 + SIGPIPE, as the signal itself would give.
const PIPE_CLOSED: u8 = 141;

/// Runs the `attnlab` command over a catalogue, with the arguments of this process.
pub fn main(catalogue: &Catalogue) -> ExitCode {
    ExitCode::from(run(catalogue, std::env::args_os()))
}

/// Runs the program of an experiment's own binary, with the options of `attnlab run NAME`.
pub fn experiment_main(catalogue: &Catalogue, name: &str) -> ExitCode {
    experiment::main(catalogue, name)
}

/// Runs the command with these arguments, the name of the program first, and returns the exit status.
pub fn run(catalogue: &Catalogue, args: impl IntoIterator<Item = OsString>) -> u8 {
    stop_on_signals();
    Inputs::record_process();
    if let Err(error) = catalogue.distinct() {
        return finish(Err(error));
    }
    let matches = match grammar(catalogue).try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) => return usage(&error),
    };
    let configured = Process::from_arg_matches(&matches).map_err(unread).and_then(|process| process.configure());
    finish(configured.and_then(|()| dispatch(catalogue, &matches, &mut Out::stdout())))
}

/// Builds the grammar of the command line: the built-in subcommands and those of the rooms.
fn grammar(catalogue: &Catalogue) -> clap::Command {
    Cli::command().subcommands(catalogue.commands().map(|command| command.describe()))
}

fn dispatch(catalogue: &Catalogue, matches: &clap::ArgMatches, out: &mut Out) -> Result<Status> {
    if let Some((name, arguments)) = matches.subcommand() {
        let mut brought = catalogue.commands();
        if let Some(command) = brought.find(|c| c.describe().get_name() == name) {
            return command.run(arguments, out);
        }
    }
    match &Cli::from_arg_matches(matches).map_err(unread)?.command {
        Command::Reproduce(args) => reproduce::run(args, catalogue, out),
        Command::List(args) => list::run(args, catalogue, out),
        Command::Show(args) => list::show(args, catalogue, out),
        Command::Check(args) => check::run(args, catalogue, out),
        Command::Audit(args) => audit::run(args, catalogue, out),
        Command::Eval(args) => eval::run(args, catalogue, out),
        Command::Run(args) => experiment::run(args, catalogue, out),
        Command::Train(args) => train::run(args, catalogue, out),
        Command::Figure(args) => experiment::figure(args, catalogue, out),
        Command::Sweep(args) => sweep::run(args, catalogue, out),
        Command::Merge(args) => merge::run(args, catalogue, out),
        Command::Export(args) => export::run(args, catalogue, out),
        Command::Repair(args) => repair::run(args, catalogue, out),
        Command::Report(args) => report::run(args, catalogue, out),
        Command::Diff(args) => diff::run(args, catalogue, out),
        Command::New(args) => new::run(args, out),
        Command::Glossary(args) => glossary::run(args, catalogue, out),
        Command::Doctor(args) => doctor::run(args, out),
        Command::Completions(args) => completions::run(args, grammar(catalogue), out),
    }
}

/// Returns the error for arguments that the grammar has accepted and that cannot be read all the same.
fn unread(problem: clap::Error) -> Error {
    Error::invalid("argument", "", format!("could not be read ({problem})"))
}

/// Prints the error of a finished command as one message and returns the exit status.
fn finish(result: Result<Status>) -> u8 {
    match result {
        Ok(Status::Expected) => 0,
        Ok(Status::Unexpected) => 1,
        Ok(Status::Failed) => NUMERICAL,
        Err(error) if pipe_closed(&error) => PIPE_CLOSED,
        Err(error @ Error::Stopped { .. }) => {
            note(&error.to_string());
            STOPPED
        }
        Err(error) => {
            note(&format!("error: {error}"));
            if error.is_numerical() { NUMERICAL } else { 2 }
        }
    }
}

/// Prints the messages of clap: help and version on standard output, errors on standard error, refused values
/// in the form of [`Error::Invalid`].
fn usage(error: &clap::Error) -> u8 {
    if let Some(refused) = refusal(error) {
        return finish(Err(refused));
    }
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    // Help and the version are results; a closed standard error is ignored.
    if let Err(e) = printed
        && !error.use_stderr()
    {
        return finish(Err(unwritten(e)));
    }
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// Converts clap's refusal of a value to our own error; None for messages of clap that are kept.
fn refusal(error: &clap::Error) -> Option<Error> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let refused = |allowed: String| {
        let (option, value) = (text(ContextKind::InvalidArg)?, text(ContextKind::InvalidValue)?);
        Some(Error::invalid(option_name(option), value, allowed))
    };
    match (error.kind(), error.get(ContextKind::ValidValue)) {
        (ErrorKind::ValueValidation, _) => refused(error.source()?.to_string()),
        (ErrorKind::InvalidValue, Some(ContextValue::Strings(words))) if !words.is_empty() => {
            refused(format!("must be one of {}", words.join(", ")))
        }
        (ErrorKind::InvalidUtf8, _) => Some(not_text(std::env::args_os())),
        _ => None,
    }
}

/// Strips an option as clap shows it: `--phi <PHI>` to `phi`, `--follow[=<SECONDS>]` to `follow`, `<SHELL>` to `shell`.
fn option_name(option: &str) -> String {
    let name = option.split_whitespace().next().unwrap_or(option);
    match name.strip_prefix("--") {
        Some(name) => name.split('[').next().unwrap_or(name).to_string(),
        None => name.trim_matches(['<', '>', '[', ']', '.']).to_lowercase(),
    }
}

/// Returns the error for arguments that are not UTF-8. Only names of files may have other bytes. clap
/// does not say which argument it refused, so all that are not UTF-8 are named.
fn not_text(args: impl Iterator<Item = OsString>) -> Error {
    let broken: Vec<String> = args.filter(|a| a.to_str().is_none()).map(|a| a.to_string_lossy().into_owned()).collect();
    Error::invalid("argument", broken.join(", "), "must be UTF-8; only names of files and folders may have other bytes")
}

/// Starts the threads, all of the machine if none are given: later, where the first work would start them, a system that
/// refuses them ends the program.
fn start_threads(threads: Option<usize>) -> Result<()> {
    match (rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build_global(), threads) {
        (Err(e), Some(threads)) => Err(no_thread(threads, &e)),
        // Without a source the error is that an earlier call in this process has started them.
        (Err(e), None) if e.source().is_some() => Err(no_thread("all", &e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_of_the_command_line_is_sound() {
        grammar(&crate::catalogue()).debug_assert();
    }

    #[test]
    fn every_command_has_a_description_and_examples() {
        for command in grammar(&crate::catalogue()).get_subcommands() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let name = command.get_name();
            assert!(help.contains(&format!("attnlab {name}")), "{name}: {help}");
        }
    }

    /// Splits an example of a help text into words, as a shell does, without its comment and redirections.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quoted) = (vec![], String::new(), false);
        for c in line.trim().split("  ").next().unwrap_or_default().chars().chain([' ']) {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(std::mem::take(&mut word)),
                c => word.push(c),
            }
        }
        let end = words.iter().position(|w| ["|", ">", "..."].contains(&w.as_str()));
        words.truncate(end.unwrap_or(words.len()));
        words
    }

    /// Joins the lines that a backslash continues.
    fn joined(text: &str) -> String {
        text.split("\\\n").map(str::trim_start).collect()
    }

    #[test]
    fn every_example_of_a_help_text_is_understood() {
        let grammar = grammar(&crate::catalogue());
        let mut texts = vec![grammar.get_after_help()];
        texts.extend(grammar.get_subcommands().map(|c| c.get_after_help()));
        let texts: Vec<String> = texts.into_iter().flatten().map(|text| joined(&text.to_string())).collect();
        let lines = texts.iter().flat_map(|text| text.lines());
        let examples: Vec<&str> = lines.filter(|l| l.starts_with("  attnlab ")).collect();
        assert!(examples.len() > 60, "{}", examples.len());
        for example in examples {
            let parsed = grammar.clone().try_get_matches_from(words(example));
            assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
        }
    }
}
