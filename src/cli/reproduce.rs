//! `attnlab reproduce`: checks the claims with their mutants, draws the quick figures, and writes a report.

use attnlab_core::error::Result;
use attnlab_core::format::{number, table};
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::command::{Bar, Out, Status, input, note};
use attnlab_lab::reproduce::{Event, Options, reproduce};
use attnlab_lab::run::CheckReport;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  attnlab reproduce
  attnlab reproduce --seed 1 --out runs/seed1
  attnlab reproduce --only aot.mssa_is_mhsa snr_per_layer
  attnlab reproduce --times 10                  ten times the trials of every claim, beside the verdicts that are there
  attnlab reproduce --open                      opens the report in the browser when it is written
  attnlab reproduce --force                     deletes the rows of another run in the folder

Writes report.html, plots/ and the rows behind them into the folder. A run that was stopped goes on
where it was: give the same command again. Exit status 0: every verdict is the expected one; 1: some
are not; 2: bad usage or input; 3: a computation failed; 130: stopped.";

/// Check the claims, regenerate the quick figures, write report.html and plots/
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Folder for the report, the pictures and the rows
    #[arg(long, value_name = "DIR", default_value = Options::FOLDER)]
    out: PathBuf,
    /// Run only these claims and experiments
    #[arg(long, value_name = "ID", num_args = 1..)]
    only: Vec<String>,
    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = input::whole)]
    #[arg(allow_negative_numbers = true)]
    seed: u64,
    /// Number of seeds under which each mutant is checked; the share that refutes it is the power
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = input::mutant_seeds)]
    #[arg(allow_negative_numbers = true)]
    mutant_seeds: u64,
    /// Take N times each claim's own number of trials; verdicts of other numbers stay among the rows
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = input::positive)]
    #[arg(allow_negative_numbers = true)]
    times: u64,
    /// Delete the rows of another run that the folder holds
    #[arg(long)]
    force: bool,
    /// Keep the rows that another build of attnlab has computed; rows and report then name every build
    #[arg(long)]
    mix_builds: bool,
    /// Open the report in the browser when it is written
    #[arg(long)]
    open: bool,
}

/// Runs the command.
pub fn run(args: &Args, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    let options = Options {
        out: args.out.clone(),
        only: args.only.clone(),
        seed: args.seed,
        mutant_seeds: args.mutant_seeds,
        times: args.times,
        force: args.force,
        mix_builds: args.mix_builds,
    };
    let summary = reproduce(catalogue, &options, &Bar::new(), &mut |event| match event {
        Event::Checked { check, refuted, mutants } => out.line(&line(&check.report, refuted, mutants)),
        Event::Written(path) => out.line(&path.display().to_string()),
        Event::Note(text) => {
            note(&text);
            Ok(())
        }
    })?;
    let (expected, all) = (summary.expected, summary.verdicts);
    out.line(&super::check::tally(expected, all))?;
    if args.open {
        show(&args.out.join("report.html"));
    }
    Ok(if expected == all { Status::Expected } else { Status::Unexpected })
}

/// Programs of the systems that open a file as a click would, with their first arguments.
const OPENERS: &[&[&str]] = if cfg!(target_os = "macos") {
    &[&["open"]]
} else if cfg!(windows) {
    &[&["cmd", "/C", "start", ""]]
} else {
    &[&["xdg-open"], &["gio", "open"], &["wslview"]]
};

/// Opens a file in the browser. Where that fails, a note says so: the report is written all the same.
fn show(path: &Path) {
    let opened = OPENERS.iter().any(|opener| {
        let mut program = Command::new(opener[0]);
        // The output of the command has its results and nothing else.
        program.args(&opener[1..]).arg(path);
        program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        program.spawn().is_ok_and(starts)
    });
    if !opened {
        let path = path.display();
        note(&format!("note: no program here opens {path}. Open it in a browser"));
    }
}

/// Time within which an opener that fails has ended; one that goes on may be the browser itself.
const OPENER_FAILS_WITHIN: Duration = Duration::from_secs(3);

/// Returns `true` if the program succeeds or goes on.
fn starts(mut child: Child) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < OPENER_FAILS_WITHIN {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(Duration::from_millis(50)),
            Err(_) => return false,
        }
    }
    true
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
