//! `attnlab reproduce`: checks the claims with their mutants, draws the quick figures, and writes a report.

use super::open;
use attnlab_core::error::Result;
use attnlab_core::format::{number, table};
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::command::{Bar, Out, Status, note};
use attnlab_lab::reproduce::{Event, Options, Summary, reproduce};
use attnlab_lab::run::CheckReport;
use std::time::Duration;

/// Number of steps whose time is told at the end.
const SLOWEST: usize = 5;

const EXAMPLES: &str = "\
Examples:
  attnlab reproduce
  attnlab reproduce --seed 1 --out runs/seed1
  attnlab reproduce --only aot.mssa_is_mhsa snr_per_layer
  attnlab reproduce --only 'lsa.*'              every claim whose id begins with lsa.
  attnlab reproduce --times 10                  ten times the trials of every claim, beside the verdicts that are there
  attnlab reproduce --open                      opens the report in the browser
  attnlab reproduce --seed 2 --force            in the same folder: deletes the rows of the other seed

Writes report.html, plots/ and the rows behind them into the folder. A run that was stopped goes on
where it was: give the same command again. Exit status 0: every verdict is the expected one; 1: some
are not; 2: bad usage or input; 3: a computation failed; 130: stopped.";

/// Check the claims, regenerate the quick figures, write report.html and plots/
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    options: Options,
    /// Open the report in the browser when it is written
    #[arg(long)]
    open: bool,
}

pub fn run(args: &Args, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    let summary = reproduce(catalogue, &args.options, &Bar::new(), &mut |event| match event {
        Event::Checked { check, refuted, mutants } => out.line(&line(&check.report, refuted, mutants)),
        Event::Written(path) => out.line(&path.display().to_string()),
        Event::Note(text) => {
            note(&text);
            Ok(())
        }
    })?;
    note(&times(&summary));
    let (expected, total) = (summary.expected, summary.verdicts);
    out.line(&super::check::tally(expected, total))?;
    if args.open {
        open::in_browser(&args.options.out.join("report.html"));
    }
    Ok(if expected == total { Status::Expected } else { Status::Unexpected })
}

/// Says how long everything took, and what most of it.
fn times(summary: &Summary) -> String {
    let total: Duration = summary.times.iter().map(|(_, time)| *time).sum();
    let slowest = summary.slowest(SLOWEST).into_iter();
    let slowest = slowest.map(|(id, time)| format!("{id} {:.1} s", time.as_secs_f64())).collect::<Vec<_>>().join(", ");
    format!("took {:.0} s; the longest: {slowest}", total.as_secs_f64())
}

fn line(report: &CheckReport, refuted: usize, mutants: usize) -> String {
    let verdict = if report.as_expected() {
        report.verdict.name().to_string()
    } else {
        let expected = report.expected.name();
        format!("{} (UNEXPECTED, not {expected})", report.verdict.name())
    };
    let e = &report.estimate;
    let interval = format!("{} [{}, {}]", number(e.value), number(e.low), number(e.high));
    let row = vec![
        format!("{:<28}", report.claim),
        format!("{verdict:<13}"),
        format!("{interval:<30}"),
        format!("{refuted} of {mutants} mutants refuted"),
    ];
    table(&[row]).concat()
}
