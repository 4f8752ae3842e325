//! `attnlab diff`: two runs side by side, with a test for each difference.

use attnlab_core::error::Result;
use attnlab_core::format::{pairs, quoted};
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::command::{Out, Status, input, note};
use attnlab_lab::compare::{Change, Comparison, Difference, JudgedItem, JudgedRun};
use attnlab_lab::report::{self, Report};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  attnlab diff runs/main runs/branch                    two folders of attnlab reproduce, or two sweeps
  attnlab diff runs/seed0 runs/seed1 --page diff.html   every verdict of both on one page
  attnlab diff runs/main runs/branch --json | jq '.items[] | select(.change == \"verdict\")'

Verdicts of the same claim or mutant at the same parameters are compared, those of a sweep cell by cell:
shares of trials by Fisher's exact test, means by Welch's test, other estimates by the normal law, computed
values exactly. The p-values are adjusted by Holm for all tests. Verdicts of equal build, seed and trials
must be equal to the bit.

Exit status 0: no verdict changed; 1: some did; 2: bad usage or input. What only one side has is listed
and does not change the status.";

/// Compare two runs: verdicts and estimates that changed, with a test for each difference
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Folder of verdicts, or of a sweep over a claim
    #[arg(value_name = "A")]
    a: PathBuf,
    /// Folder of the same kind to compare with the first
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Confidence level of all tests together
    #[arg(long, value_name = "P", default_value_t = 0.95, value_parser = input::level, allow_negative_numbers = true)]
    level: f64,
    /// Print the comparison as one JSON object
    #[arg(long)]
    json: bool,
    /// Write an HTML file with every verdict of both
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// Longest list of differences of one kind on the terminal.
const LONGEST_LIST: usize = 40;

pub fn run(args: &Args, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    if let Some(path) = &args.page {
        super::report::spare(path, "file with --page")?;
    }
    let read = |name, path: &Path| JudgedRun::read(name, path, catalogue);
    let (a, b) = (read("A", &args.a)?, read("B", &args.b)?);
    a.notes.iter().chain(&b.notes).for_each(|text| note(text));
    let comparison = Comparison::new(a, b, args.level)?;
    if let Some(path) = &args.page {
        let (command, tables) = (command(args, path), comparison.tables());
        let (command, tables) = (command.as_str(), tables.as_slice());
        let (checks, mutants, pictures, audit) = (&[], &[], &[], None);
        let page = Report { command, checks, mutants, tables, pictures, audit, catalogue };
        super::report::write(path, "--page", &report::html(&page)?)?;
        note(&format!("written: {}", path.display()));
    }
    if args.json {
        out.json(&comparison)?;
    } else {
        for line in lines(&comparison) {
            out.line(&line)?;
        }
    }
    Ok(if comparison.changed() { Status::Unexpected } else { Status::Expected })
}

/// Returns the differences by kind, with a blank line after each kind, and the sentences about all.
fn lines(comparison: &Comparison) -> Vec<String> {
    let mut lines = vec![];
    for change in Change::ALL.into_iter().filter(|c| ![Change::Same, Change::Equal].contains(c)) {
        let items: Vec<&Difference> = comparison.of_kind(change).collect();
        if items.is_empty() {
            continue;
        }
        lines.push(format!("{}: {}", change.heading(), items.len()));
        lines.extend(items.iter().take(LONGEST_LIST).flat_map(|item| entry(item)));
        if items.len() > LONGEST_LIST {
            lines.push(format!("  and {} more, which --json and --page list", items.len() - LONGEST_LIST));
        }
        lines.push(String::new());
    }
    lines.extend(comparison.sentences());
    lines
}

fn entry(item: &Difference) -> Vec<String> {
    let side = |name: &str, item: &JudgedItem| format!("    {name}: {}", item.shown());
    let mut lines = vec![format!("  {} ({})", item.name, pairs(&item.parameters))];
    lines.extend(item.a.as_ref().map(|a| side("A", a)));
    lines.extend(item.b.as_ref().map(|b| side("B", b)));
    let tested = item.tested();
    lines.extend((!tested.is_empty()).then(|| format!("    {tested}")));
    lines
}

/// Returns the command that writes the same page.
fn command(args: &Args, page: &Path) -> String {
    let word = |path: &Path| quoted(&path.display().to_string());
    let level = if args.level == 0.95 { String::new() } else { format!(" --level {}", args.level) };
    format!("attnlab diff {} {}{level} --page {}", word(&args.a), word(&args.b), word(page))
}
