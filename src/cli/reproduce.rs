//! `attnlab reproduce`: the main job. Checks the claims with their mutants, regenerates the quick
//! figures, and writes a report.
//!
//! Each verdict is kept as a row ([`crate::run::store`]), so that a run that was stopped goes on
//! where it was. Rows, not reports, are what is stored: pictures and report are made from them.

use super::Status;
use super::bar::Bar;
use super::check::Tally;
use super::input;
use super::out::{Out, note};
use crate::claim::{Claim, Kind, Mutant, Params, VerdictKind, Witness, registry};
use crate::error::{Error, Result};
use crate::experiment::{self, Entry, RunOptions, registry::EXPERIMENTS};
use crate::figure::{self, Figure};
use crate::format::{number, table};
use crate::report::{self, MutantResult, Report};
use crate::run::store::{self, Manifest, Row, Shard, Store};
use crate::run::{self, CheckOptions, CheckReport, check};
use crate::stats::Estimate;
use serde::{Deserialize, Serialize};
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
    /// Start anew: delete the rows that the folder holds
    #[arg(long)]
    force: bool,
}

/// Name of the run in its rows.
const ID: &str = "reproduce";

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
        let report = checks.claim(&**claim, &bar)?;
        tally.add(&report);
        let own = claim.mutants();
        let mut refuted = 0;
        for mutant in &own {
            let found = checks.mutant(claim.card().id, mutant, &bar)?;
            tally.add(&found);
            refuted += usize::from(found.verdict == VerdictKind::Refuted);
            mutants.push(result_of(mutant, &found));
        }
        out.line(&summary(&report, refuted, own.len()))?;
        reports.push(report);
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
        return Ok((claims, experiments.collect()));
    }
    let ids = claims.iter().map(|c| c.card().id);
    let known: Vec<&str> = ids.chain(EXPERIMENTS.iter().map(|e| e.id)).collect();
    if let Some(unknown) = only.iter().find(|id| !known.contains(&id.as_str())) {
        return Err(Error::unknown("claim or experiment", unknown, known));
    }
    let wanted = |id: &str| only.iter().any(|o| o == id);
    let claims = claims.into_iter().filter(|c| wanted(c.card().id));
    Ok((
        claims.collect(),
        experiments.filter(|e| wanted(e.id)).collect(),
    ))
}

/// What a row keeps of a [`CheckReport`]; the rest follows from the claim and its parameters.
#[derive(Serialize, Deserialize)]
struct Kept {
    trials: u64,
    failures: u64,
    estimate: Estimate,
    verdict: VerdictKind,
    expected: VerdictKind,
    witness: Witness,
    wall_s: f64,
}

/// The verdicts so far, as rows in a folder.
struct Checks<'a> {
    options: &'a CheckOptions,
    manifest: Manifest,
    store: Store,
}

impl<'a> Checks<'a> {
    fn open(args: &Args, options: &'a CheckOptions) -> Result<Self> {
        let manifest = Manifest::new(ID, args.seed, Map::new());
        let store = Store::open(&args.out, &manifest, Shard::WHOLE, args.force)?;
        for dropped in store.dropped() {
            note(&format!("warning: {dropped}"));
        }
        Ok(Checks {
            options,
            manifest,
            store,
        })
    }

    fn claim(&mut self, claim: &dyn Claim, bar: &Bar) -> Result<CheckReport> {
        let set = Map::new();
        self.once(claim, None, &set, |options| {
            check(claim, &set, options, bar)
        })
    }

    fn mutant(&mut self, id: &str, mutant: &Mutant, bar: &Bar) -> Result<CheckReport> {
        let set = mutant.set.iter().cloned();
        let set = set.map(|(name, v)| (name.to_string(), v)).collect();
        let name = Some(mutant.name);
        self.once(&*mutant.claim, name, &set, |options| {
            Ok(run::mutant(id, mutant, options, 1, bar)?.first)
        })
    }

    /// The report from its row, or from `compute`, which leaves a row.
    fn once(
        &mut self,
        claim: &dyn Claim,
        mutant: Option<&str>,
        set: &Map<String, Value>,
        compute: impl Fn(&CheckOptions) -> Result<CheckReport>,
    ) -> Result<CheckReport> {
        let params = Params::resolve(&claim.schema(), set)?;
        let name = format!("{}/{}", claim.card().id, mutant.unwrap_or_default());
        let cell = crate::rng::hash(format!("{name}/{}", params.cell()).as_bytes());
        let stored = self
            .store
            .existing()
            .iter()
            .find(|r| r.cell == store::cell_name(cell));
        if let Some(report) = stored.and_then(|row| self.restore(claim, &params, row)) {
            return Ok(report);
        }
        let report = compute(self.options)?;
        let mut parameters = params.as_json().clone();
        parameters.insert("claim".into(), name.into());
        let row = Row::new(&self.manifest, cell, 0, parameters, keep(&report));
        if stored.is_none() {
            self.store.append(&row)?;
        }
        Ok(report)
    }

    /// The report that a row was made from; None when the row cannot be read (a verdict whose
    /// interval is not finite has no JSON form), so that it is computed again.
    fn restore(&self, claim: &dyn Claim, params: &Params, row: &Row) -> Option<CheckReport> {
        let kept: Kept = serde_json::from_value(Value::Object(row.data.clone())).ok()?;
        let card = claim.card();
        let kind: Kind = card.kind;
        Some(CheckReport {
            claim: card.id.to_string(),
            source: card.source(),
            parameters: params.as_json().clone(),
            hypotheses: claim.hypotheses(params),
            beyond_hypotheses: self.options.beyond_hypotheses,
            kind,
            trials: kept.trials,
            failures: kept.failures,
            estimate: kept.estimate,
            verdict: kept.verdict,
            expected: kept.expected,
            witness: kept.witness,
            seed: self.options.seed,
            wall_s: kept.wall_s,
            version: env!("CARGO_PKG_VERSION"),
        })
    }
}

fn keep(report: &CheckReport) -> Map<String, Value> {
    let kept = Kept {
        trials: report.trials,
        failures: report.failures,
        estimate: report.estimate,
        verdict: report.verdict,
        expected: report.expected,
        witness: report.witness.clone(),
        wall_s: report.wall_s,
    };
    match serde_json::to_value(kept) {
        Ok(Value::Object(data)) => data,
        // A struct of plain fields is always an object.
        _ => Map::new(),
    }
}

fn result_of(mutant: &Mutant, found: &CheckReport) -> MutantResult {
    MutantResult {
        claim: found.claim.clone(),
        name: mutant.name.to_string(),
        says: mutant.says.to_string(),
        verdict: found.verdict,
    }
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
fn draw(entry: &Entry, args: &Args, bar: &Bar, out: &mut Out) -> Result<Vec<Figure>> {
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
    let figures = experiment.figures(&found.rows)?;
    for path in figure::write_all(&figures, &args.out.join("plots"))? {
        out.line(&path.display().to_string())?;
    }
    Ok(figures)
}

fn write_report(
    args: &Args,
    checks: &[CheckReport],
    mutants: &[MutantResult],
    figures: &[Figure],
    out: &mut Out,
) -> Result<()> {
    let html = report::html(&Report {
        command: &command(args),
        seed: args.seed,
        checks,
        mutants,
        figures,
    })?;
    let path = args.out.join("report.html");
    let advice = "Choose a folder that you may write with --out";
    store::replace(&path, &html).map_err(|e| Error::io(&path, e, advice))?;
    out.line(&path.display().to_string())
}

/// The command that makes the same report.
fn command(args: &Args) -> String {
    let mut command = format!("cargo run --release -- reproduce --seed {}", args.seed);
    if args.out != Path::new("runs/reproduce") {
        command.push_str(&format!(" --out {}", args.out.display()));
    }
    if !args.only.is_empty() {
        command.push_str(&format!(" --only {}", args.only.join(" ")));
    }
    command
}
