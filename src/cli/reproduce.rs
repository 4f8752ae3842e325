//! `attnlab reproduce`: the main job. Checks the claims with their mutants, regenerates the quick
//! figures, and writes a report.
//!
//! Each verdict is kept as a row ([`crate::run::store`]), so that a run that was stopped goes on
//! where it was. Rows, not reports, are what is stored: pictures and report are made from them.

use super::Status;
use super::bar::Bar;
use super::check::Tally;
use super::experiment::{noted, pictures};
use super::input;
use super::out::{Out, note};
use crate::claim::{Claim, Mutant, Params, registry};
use crate::error::{Error, Result};
use crate::experiment::{self, Entry, RunOptions, registry::EXPERIMENTS};
use crate::figure;
use crate::format::{number, table};
use crate::report::{self, Checked, Found, MutantResult, Picture, Report};
use crate::run::store::{self, Manifest, Row, Shard, Store};
use crate::run::{self, CheckOptions, CheckReport, check};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  attnlab reproduce
  attnlab reproduce --seed 1 --out runs/seed1
  attnlab reproduce --only aot.mssa_is_mhsa snr_per_layer
  attnlab reproduce --force                     anew, instead of going on with the rows in the folder

Writes report.html, plots/ and the rows behind them into the folder. A run that was stopped goes on
where it was: give the same command again. Exit status 0: every verdict is the expected one; 1: some
are not; 2: bad usage or input.";

/// Check the claims, regenerate the quick figures, write report.html and plots/
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Folder for the report, the pictures and the rows
    #[arg(long, value_name = "DIR", default_value = "runs/reproduce")]
    out: PathBuf,
    /// Only these claims and experiments
    #[arg(long, value_name = "ID", num_args = 1..)]
    only: Vec<String>,
    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = input::whole)]
    #[arg(allow_negative_numbers = true)]
    seed: u64,
    /// Seeds under which each mutant is checked: their share that refutes it is the check's power
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = input::mutant_seeds)]
    #[arg(allow_negative_numbers = true)]
    mutant_seeds: u64,
    /// Start anew: delete the rows that the folder holds
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(args: &Args, out: &mut Out) -> Result<Status> {
    let (claims, experiments) = select(&args.only)?;
    let bar = Bar::new();
    let options = CheckOptions {
        seed: args.seed,
        ..CheckOptions::default()
    };
    let mut checks = Checks::open(args, &options)?;
    let (mut reports, mut mutants, mut tally) = (vec![], vec![], Tally::default());
    for claim in &claims {
        let checked = checks.claim(&**claim, &bar)?;
        tally.add(&checked.report);
        let own = claim.mutants();
        let mut refuted = 0;
        for mutant in &own {
            let found = checks.mutant(claim.card().id, mutant, &bar)?;
            tally.add(&found.first.report);
            refuted += usize::from(found.refuted == found.seeds);
            mutants.push(found);
        }
        out.line(&summary(&checked.report, refuted, own.len()))?;
        reports.push(checked);
    }
    let mut figures = vec![];
    for entry in experiments {
        figures.extend(draw(entry, args, &bar, out)?);
    }
    write_report(args, &reports, &mutants, &figures, out)?;
    out.line(&tally.text())?;
    Ok(tally.status())
}

type Selection = (Vec<Box<dyn Claim>>, Vec<&'static Entry>);

/// The claims and experiments to do: all, or the named ones.
fn select(only: &[String]) -> Result<Selection> {
    let (claims, experiments) = (registry::claims(), EXPERIMENTS.iter());
    if only.is_empty() {
        // Training takes minutes even at its quick size; it is done when it is named.
        return Ok((claims, experiments.filter(|e| !e.trains).collect()));
    }
    let ids = claims.iter().map(|c| c.card().id);
    let known: Vec<&str> = ids.chain(EXPERIMENTS.iter().map(|e| e.id)).collect();
    if let Some(unknown) = only.iter().find(|id| !known.contains(&id.as_str())) {
        let error = Error::unknown("claim or experiment", unknown, known);
        return Err(error.listed_by("`attnlab list` and `attnlab list experiments`"));
    }
    let wanted = |id: &str| only.iter().any(|o| o == id);
    let claims = claims.into_iter().filter(|c| wanted(c.card().id));
    Ok((
        claims.collect(),
        experiments.filter(|e| wanted(e.id)).collect(),
    ))
}

/// The verdicts so far, as rows in a folder.
struct Checks<'a> {
    options: &'a CheckOptions,
    mutant_seeds: u64,
    manifest: Manifest,
    store: Store,
}

impl<'a> Checks<'a> {
    fn open(args: &Args, options: &'a CheckOptions) -> Result<Self> {
        let manifest = Manifest::new(report::VERDICTS, args.seed, settings(args));
        let store = Store::open(&args.out, &manifest, Shard::WHOLE, args.force)?;
        for dropped in store.dropped() {
            note(&format!("warning: {dropped}"));
        }
        Ok(Checks {
            options,
            mutant_seeds: args.mutant_seeds,
            manifest,
            store,
        })
    }

    fn claim(&mut self, claim: &dyn Claim, bar: &Bar) -> Result<Checked> {
        let set = Map::new();
        let found = self.once(claim, claim.card().id, None, &set, |options| {
            Ok(Found::Claim(Checked::here(check(
                claim, &set, options, bar,
            )?)))
        })?;
        match found {
            Found::Claim(checked) => Ok(checked),
            Found::Mutant(mutant) => Ok(mutant.first),
        }
    }

    fn mutant(&mut self, id: &str, mutant: &Mutant, bar: &Bar) -> Result<MutantResult> {
        let set = mutant.set.iter().cloned();
        let set = set.map(|(name, v)| (name.to_string(), v)).collect();
        let seeds = self.mutant_seeds;
        let compute = |options: &CheckOptions| -> Result<MutantResult> {
            let found = run::mutant(id, mutant, options, seeds, bar)?;
            Ok(MutantResult::here(mutant, found))
        };
        let found = self.once(&*mutant.claim, id, Some(mutant.name), &set, |options| {
            compute(options).map(Found::Mutant)
        })?;
        match found {
            Found::Mutant(found) => Ok(found),
            // A row of a claim under the name of a mutant: not of this version.
            Found::Claim(_) => compute(self.options),
        }
    }

    /// The verdict from its row, or from `compute`, which leaves a row. A verdict whose interval is not
    /// finite has no JSON form: its row cannot be read, and it is computed again.
    fn once(
        &mut self,
        claim: &dyn Claim,
        id: &str,
        mutant: Option<&str>,
        set: &Map<String, Value>,
        compute: impl Fn(&CheckOptions) -> Result<Found>,
    ) -> Result<Found> {
        let params = Params::resolve(&claim.schema(), set)?;
        let name = report::row_name(id, mutant);
        let cell = crate::rng::hash(format!("{name}/{}", params.cell()).as_bytes());
        let rows = self.store.existing();
        let stored = rows.iter().find(|r| r.cell == store::cell_name(cell));
        if let Some(Ok(found)) = stored.map(report::restore) {
            return Ok(found);
        }
        let found = compute(self.options)?;
        let (parameters, data) = report::keep(&found);
        if stored.is_none() {
            let row = Row::new(&self.manifest, cell, 0, parameters, data);
            self.store.append(&row)?;
        }
        Ok(found)
    }
}

/// What decides the rows besides the seed.
fn settings(args: &Args) -> Map<String, Value> {
    Map::from_iter([("mutant_seeds".to_string(), args.mutant_seeds.into())])
}

fn summary(report: &CheckReport, refuted: usize, mutants: usize) -> String {
    let verdict = if report.as_expected() {
        report.verdict.name().to_string()
    } else {
        format!(
            "{} (UNEXPECTED, not {})",
            report.verdict.name(),
            report.expected.name()
        )
    };
    let e = &report.estimate;
    let row = vec![
        format!("{:<28}", report.claim),
        format!("{verdict:<13}"),
        format!(
            "{:<30}",
            format!(
                "{} [{}, {}]",
                number(e.value),
                number(e.low),
                number(e.high)
            )
        ),
        format!("{refuted} of {mutants} mutants refuted"),
    ];
    table(&[row]).concat()
}

/// Runs one experiment at its quick size and draws it; its rows go to a folder of their own.
fn draw(entry: &Entry, args: &Args, bar: &Bar, out: &mut Out) -> Result<Vec<Picture>> {
    let experiment = entry.configure(true, None, &toml::Table::new())?;
    let options = RunOptions {
        seed: args.seed,
        force: args.force,
        ..RunOptions::default()
    };
    let folder = args.out.join("rows").join(entry.id);
    let found = experiment::run(&*experiment, &folder, &options, bar)?;
    for dropped in &found.dropped {
        note(&format!("warning: {dropped}"));
    }
    noted(entry, &*experiment, args.seed, found.computed, &folder)?;
    let figures = experiment.figures(&found.rows)?;
    for path in figure::write_all(&figures, &args.out.join("plots"))? {
        out.line(&path.display().to_string())?;
    }
    pictures(figures, &*experiment, &found.rows, &folder)
}

fn write_report(
    args: &Args,
    checks: &[Checked],
    mutants: &[MutantResult],
    pictures: &[Picture],
    out: &mut Out,
) -> Result<()> {
    let html = report::html(&Report {
        command: &command(args),
        checks,
        mutants,
        pictures,
    })?;
    let path = args.out.join("report.html");
    let advice = "Choose a folder that you may write with --out";
    store::replace(&path, &html).map_err(|e| Error::io(&path, e, advice))?;
    out.line(&path.display().to_string())
}

/// The command that makes the same report.
fn command(args: &Args) -> String {
    let mut command = format!("cargo run --release -- reproduce --seed {}", args.seed);
    if args.mutant_seeds != 1 {
        command.push_str(&format!(" --mutant-seeds {}", args.mutant_seeds));
    }
    if args.out != Path::new("runs/reproduce") {
        command.push_str(&format!(" --out {}", args.out.display()));
    }
    if !args.only.is_empty() {
        command.push_str(&format!(" --only {}", args.only.join(" ")));
    }
    command
}
