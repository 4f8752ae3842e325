//! `attnlab diff`: two runs side by side, with a test for each difference.

use attnlab_core::error::{Error, Result};
use attnlab_core::format::{number, quoted, significant};
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::command::{Out, Status, input, note};
use attnlab_lab::compare::{Change, Item, Pair, Side, compare, html};
use attnlab_lab::run::store;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  attnlab diff runs/main runs/branch                         two folders of run, reproduce or sweep
  attnlab check --all --json > before.jsonl                  verdicts in a file ...
  attnlab diff before.jsonl after.jsonl                      ... and later ones against them
  attnlab diff runs/seed0 runs/seed1 --out diff.html         a page with both intervals of each difference
  attnlab diff runs/main runs/branch --json | jq '.items[] | select(.change == \"verdict\")'

Items of the same name and parameters are compared: verdicts by their words, shares of trials by Fisher's
exact test, means by Welch's test, other estimates by the normal law with the width of their intervals.
The p-values are adjusted by Holm for all tests of the comparison. Runs with the same rows are equal to
the byte; builds, machines and the times of verdicts do not count.

Exit status 0: no verdict changed and no estimate changed significantly; 1: some did; 2: bad usage or
input. What only one side has is listed and does not change the status.";

/// Compare two runs: verdicts and estimates that changed, with a test for each
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Folder of runs, or file that `attnlab check --json` wrote
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The same, to compare with the first
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Level of significance of the whole comparison
    #[arg(long, value_name = "P", default_value_t = 0.05, value_parser = input::level)]
    #[arg(allow_negative_numbers = true)]
    level: f64,
    /// Print the comparison as one JSON object
    #[arg(long)]
    json: bool,
    /// Write an HTML file with every item
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Longest list of differences of one kind on the terminal.
const LONGEST_LIST: usize = 40;

/// Runs the command.
pub fn run(args: &Args, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    if let Some(path) = &args.out {
        super::report::spare(path)?;
    }
    let (a, b) = (Side::read(&args.a, catalogue)?, Side::read(&args.b, catalogue)?);
    a.notes.iter().chain(&b.notes).for_each(|text| note(text));
    let found = compare(a, b, args.level)?;
    if let Some(path) = &args.out {
        let advice = "Choose a file that you may write with --out";
        store::replace(path, &html(&found, &command(args))).map_err(|e| Error::io(path, e, advice))?;
        note(&format!("written: {}", path.display()));
    }
    if args.json {
        out.json(&found)?;
    } else {
        for line in lines(&found.items) {
            out.line(&line)?;
        }
        out.line(&found.sentence())?;
        out.line(&found.method())?;
    }
    Ok(match found.changed() {
        true => Status::Unexpected,
        false => Status::Expected,
    })
}

/// Returns the differences by kind, with a blank line after each kind.
fn lines(items: &[Pair]) -> Vec<String> {
    let mut lines = vec![];
    for change in Change::ALL.into_iter().filter(|c| *c != Change::Same) {
        let of_kind: Vec<&Pair> = items.iter().filter(|p| p.change == change).collect();
        if of_kind.is_empty() {
            continue;
        }
        lines.push(format!("{}: {}", change.heading(), of_kind.len()));
        for pair in of_kind.iter().take(LONGEST_LIST) {
            lines.extend(entry(pair));
        }
        if of_kind.len() > LONGEST_LIST {
            let rest = of_kind.len() - LONGEST_LIST;
            lines.push(format!("  and {rest} more, which --json and --out list"));
        }
        lines.push(String::new());
    }
    lines
}

fn entry(pair: &Pair) -> Vec<String> {
    let own = match pair.settings.as_str() {
        "" => String::new(),
        settings => format!(" (settings differ: {settings})"),
    };
    let cell = pair.a.as_ref().or(pair.b.as_ref()).is_some_and(|i| !i.single);
    let parameters = match cell {
        true => format!(" ({})", attnlab_core::format::pairs(&pair.parameters)),
        false => String::new(),
    };
    let mut lines = vec![format!("  {}{parameters}{own}", pair.name)];
    match (&pair.a, &pair.b) {
        (Some(a), Some(b)) => lines.push(format!("    {} → {}", shown(a), shown(b))),
        (Some(one), None) | (None, Some(one)) => lines.push(format!("    {}", shown(one))),
        (None, None) => {}
    }
    if let Some(test) = &pair.test {
        lines.push(format!(
            "    {}: p = {}, adjusted {}",
            test.method.name(),
            significant(test.p_value, 2),
            significant(test.adjusted, 2)
        ));
    }
    lines
}

fn shown(item: &Item) -> String {
    let mut parts = vec![];
    if let Some(verdict) = item.verdict {
        parts.push(verdict.name().to_string());
    }
    if let Some(e) = &item.estimate {
        parts.push(match e.low < e.high {
            true => format!("{} [{}, {}]", number(e.value), number(e.low), number(e.high)),
            false => number(e.value),
        });
    }
    parts.join(" ")
}

/// Returns the command that writes the same page.
fn command(args: &Args) -> String {
    let word = |path: &PathBuf| quoted(&path.display().to_string());
    let mut command = format!("attnlab diff {} {}", word(&args.a), word(&args.b));
    if args.level != 0.05 {
        command.push_str(&format!(" --level {}", args.level));
    }
    if let Some(path) = &args.out {
        command.push_str(&format!(" --out {}", word(path)));
    }
    command
}
