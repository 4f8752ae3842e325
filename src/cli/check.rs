//! `attnlab check`: verdicts on claims.

use super::card::table_under;
use super::on_arrays;
use attnlab_core::error::{Error, Result};
use attnlab_core::format::{number, pairs, wrapped};
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::claim::{Claim, Hypothesis, Params, VerdictKind};
use attnlab_lab::command::{Bar, Out, Parameters, Status, input};
use attnlab_lab::run::{CheckOptions, CheckReport, MutantReport, Progress, check, mutants};
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  attnlab check aot.mssa_is_mhsa
  attnlab check aot.mssa_is_mhsa --set tokens=240 --set phi=hardmax --trials 100
  attnlab check aot.mssa_is_mhsa --mutants       false variants, which must be refuted
  attnlab check aot.lemma1 --mutants --mutant-seeds 20     and how often they are: the power
  attnlab check 'aot.*' --json | jq .verdict     every claim whose id begins with aot.
  attnlab check --all
  attnlab check denoise.a23 --trials 20 --until-decided     20 trials, 40, 80, .. until they decide
  attnlab check memory.theorem5 --array patterns=keys.npy --array queries=q.npy --set beta=0.125
                                                 a claim about a layer on arrays of yours

A verdict is supported, refuted, inconclusive (more trials are needed), out-of-scope (a hypothesis
fails at these parameters), vacuous (nothing is promised) or failed (computations failed).
`attnlab glossary` defines every word. On arrays a statement holds, fails or says nothing; where it
holds, it may fail on others. Exit status 0: every verdict is the expected one, on arrays: none fails;
1: some are not; 2: bad usage or input; 3: a check failed numerically; 130: stopped.";

/// Check claims by simulation and give verdicts
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Claims by id, as `attnlab list` shows them
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,
    /// Check every claim
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    #[command(flatten)]
    parameters: Parameters,
    /// Number of trials [default: the claim's own number]
    #[arg(long, value_name = "N", value_parser = input::positive, allow_negative_numbers = true)]
    trials: Option<u64>,
    /// Go on with twice the trials, up to 128 times, until they decide; the levels of the looks share the error
    #[arg(long)]
    until_decided: bool,
    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = input::whole, allow_negative_numbers = true)]
    seed: u64,
    /// Confidence level of the intervals
    #[arg(long, value_name = "P", default_value_t = 0.95, value_parser = input::level, allow_negative_numbers = true)]
    level: f64,
    /// Judge even where a hypothesis of the claim fails
    #[arg(long)]
    beyond_hypotheses: bool,
    /// Also check the claims' mutants, each at its own parameters; they must be refuted
    #[arg(long)]
    pub(super) mutants: bool,
    /// Number of seeds under which each mutant is checked; the share that refutes it is the power
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = input::mutant_seeds)]
    #[arg(allow_negative_numbers = true, requires = "mutants")]
    mutant_seeds: u64,
    /// Judge a claim about a layer on a NumPy or safetensors file in place of draws; `attnlab show ID` lists what it takes
    #[arg(long = "array", value_name = "NAME=FILE[:TENSOR]")]
    #[arg(conflicts_with_all = ["all", "trials", "until_decided", "seed", "level", "beyond_hypotheses", "mutant_seeds"])]
    arrays: Vec<String>,
    /// Write every case on the arrays to a new file, one JSON object per case and line
    #[arg(long, value_name = "FILE", requires = "arrays")]
    pub(super) cases: Option<PathBuf>,
    /// Replace an existing file of cases
    #[arg(long, requires = "cases")]
    pub(super) force: bool,
    /// Print one JSON object per claim and line
    #[arg(long)]
    pub(super) json: bool,
}

/// Line of `check --json`: the report, and the name of the mutant, if it is of one.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    report: &'a CheckReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    mutant: Option<&'static str>,
    /// Numbers of seeds under which the mutant ran, and under which it was refuted.
    #[serde(skip_serializing_if = "Option::is_none")]
    seeds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refuted: Option<u64>,
}

pub fn run(args: &Args, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    let claims = select(catalogue, &args.ids, args.all)?;
    let set = args.parameters.collect()?;
    let strict = !args.all && !args.ids.iter().any(|id| id.ends_with('*'));
    let sets = settings(&claims, &set, strict)?;
    if !args.arrays.is_empty() {
        let arrays = on_arrays::read(&args.arrays)?;
        arrays.ensure_taken(claims.iter().map(|claim| &**claim))?;
        let given = |claim: &Arc<dyn Claim>| {
            strict || (!claim.takes().is_empty() && claim.takes().iter().all(|s| !arrays.several(s.name).is_empty()))
        };
        let fitting: Vec<_> = claims.into_iter().zip(sets).filter(|(claim, _)| given(claim)).collect();
        if fitting.is_empty() {
            let allowed = "must name a claim all of whose arrays are given; `attnlab show ID` lists them";
            return Err(Error::invalid("ID", args.ids.join(" "), allowed));
        }
        return on_arrays::run(&fitting, &arrays, args, out);
    }
    let options = CheckOptions {
        seed: args.seed,
        trials: args.trials,
        level: args.level,
        beyond_hypotheses: args.beyond_hypotheses,
        until_decided: args.until_decided,
        ..CheckOptions::default()
    };
    let bar = Bar::new();
    let mut tally = Tally::default();
    for (i, (claim, set)) in claims.iter().zip(&sets).enumerate() {
        let report = check(&**claim, set, &options, &bar)?;
        show(&report, Some(&**claim), None, args.json, out)?;
        tally.add(&report);
        if args.mutants {
            // A mutant must be refuted by the default number of trials, not by the user's.
            let options = CheckOptions { trials: None, ..options.clone() };
            for mutant in mutants(&**claim, &options, args.mutant_seeds, &bar)? {
                show(&mutant.first, None, Some(&mutant), args.json, out)?;
                tally.add(&mutant.first);
            }
        }
        bar.overall(i as u64 + 1, claims.len() as u64);
    }
    if !args.json && tally.total > 1 {
        out.line(&self::tally(tally.expected, tally.total))?;
    }
    Ok(tally.status())
}

/// Returns the claims that the user named; `prefix*` stands for all whose ids begin with the prefix.
fn select(catalogue: &Catalogue, ids: &[String], all: bool) -> Result<Vec<Arc<dyn Claim>>> {
    if all {
        return Ok(catalogue.claims().cloned().collect());
    }
    let named = ids.iter().map(|id| catalogue.named(id)).collect::<Result<Vec<_>>>()?;
    Ok(named.into_iter().flatten().cloned().collect())
}

/// Collects the settings of each claim and validates all of them before the first check. A claim named in
/// full must take every parameter that is set; of many claims, each uses those that it takes.
fn settings(claims: &[Arc<dyn Claim>], set: &Map<String, Value>, strict: bool) -> Result<Vec<Map<String, Value>>> {
    let schemas: Vec<_> = claims.iter().map(|c| c.schema()).collect();
    let known = |name: &&String| schemas.iter().flatten().any(|s| s.answers_to(name));
    if let Some(unknown) = set.keys().find(|name| !known(name)) {
        let names = schemas.iter().flatten().map(|s| s.name);
        return Err(Error::unknown("parameter", unknown, names).listed_by("`attnlab show ID`"));
    }
    let mut sets = vec![];
    for (claim, schema) in claims.iter().zip(&schemas) {
        let mut accepted = set.clone();
        if !strict {
            accepted.retain(|name, _| schema.iter().any(|s| s.answers_to(name)));
        }
        claim.validate(&Params::resolve(schema, &accepted)?)?;
        sets.push(accepted);
    }
    Ok(sets)
}

fn show(
    report: &CheckReport,
    claim: Option<&dyn Claim>,
    mutant: Option<&MutantReport>,
    json: bool,
    out: &mut Out,
) -> Result<()> {
    if json {
        return out.json(&Line {
            report,
            mutant: mutant.map(|m| m.mutant),
            seeds: mutant.map(|m| m.seeds),
            refuted: mutant.map(|m| m.refuted),
        });
    }
    let title = claim.map(|c| c.sheet().title.as_str()).or(mutant.map(|m| m.says));
    for line in block(report, title.unwrap_or_default(), mutant) {
        out.line(&line)?;
    }
    Ok(())
}

/// Returns the text of one claim's report, with a blank line at its end.
fn block(report: &CheckReport, title: &str, mutant: Option<&MutantReport>) -> Vec<String> {
    let name = mutant.map_or(report.claim.clone(), |m| format!("{} / mutant {}", report.claim, m.mutant));
    let mut lines = vec![format!("{name}: {}", verdict(report))];
    lines.extend(wrapped(title, 2, WIDTH));
    if mutant.is_none() {
        lines.extend(wrapped(&report.source, 2, WIDTH));
    }
    for (name, text) in [
        ("promise", report.promise.clone()),
        ("tolerance", report.tolerance.clone().unwrap_or_default()),
        ("estimate", estimate(report)),
        ("reach", report.reach.clone()),
        ("power", mutant.map(MutantReport::power).unwrap_or_default()),
        ("trials", report.counted()),
        ("stopping", report.stopping().unwrap_or_default()),
        ("parameters", pairs(&report.parameters)),
        ("witness", pairs(&report.witness)),
    ] {
        lines.extend(field(name, &text));
    }
    lines.extend(hypotheses(&report.hypotheses));
    lines.push(format!("  seed {}, {} s", report.seed, number((report.wall_s * 100.0).round() / 100.0)));
    lines.push(String::new());
    lines
}

/// Returns the estimate with its interval and p-value.
fn estimate(report: &CheckReport) -> String {
    let e = &report.estimate;
    if report.informative == 0 && e.level < 1.0 {
        return "none: no trial was informative".into();
    }
    let (value, low, high) = (number(e.value), number(e.low), number(e.high));
    let interval = match e.level {
        1.0 => format!("{value}, computed to lie in [{low}, {high}]"),
        level => format!("{value}, {} % interval [{low}, {high}]", number(100.0 * level)),
    };
    match report.p_value {
        Some(p) => format!("{interval}, p-value {}", number(rounded(p))),
        None => interval,
    }
}

/// Rounds to two significant digits.
fn rounded(x: f64) -> f64 {
    format!("{x:.1e}").parse().unwrap_or(x)
}

/// Width of the texts on the terminal (characters).
pub(super) const WIDTH: usize = 100;

/// Returns the lines of a field; none without text.
pub(super) fn field(name: &str, text: &str) -> Vec<String> {
    let mut lines = wrapped(text, 14, WIDTH);
    if let Some(first) = lines.first_mut() {
        *first = format!("  {name:<12}{}", first.trim_start());
    }
    lines
}

fn verdict(report: &CheckReport) -> String {
    let mut text = report.verdict.name().to_string();
    if report.as_expected() {
        text.push_str(" (as expected)");
    } else {
        text.push_str(&format!(" (UNEXPECTED: {} was expected)", report.expected.name()));
    }
    if report.beyond_hypotheses && report.hypotheses.iter().any(|h| !h.holds) {
        text.push_str(", judged beyond its hypotheses");
    }
    text
}

fn hypotheses(hypotheses: &[Hypothesis]) -> Vec<String> {
    let row = |h: &Hypothesis| {
        let holds = if h.holds { "holds" } else { "FAILS" };
        let margin = format!("margin {}", number(h.margin));
        [&format!("    {}", h.name), h.printed, holds, &margin].map(String::from).to_vec()
    };
    table_under("  hypotheses", hypotheses.iter().map(row))
}

/// Returns a sentence with the number of expected verdicts.
pub fn tally(expected: usize, total: usize) -> String {
    format!("{expected} of {total} verdicts are the expected ones.")
}

/// Numbers of verdicts and of expected ones among them.
#[derive(Default)]
struct Tally {
    total: usize,
    expected: usize,
    /// Number of checks that failed numerically.
    failed: usize,
}

impl Tally {
    fn add(&mut self, report: &CheckReport) {
        self.total += 1;
        self.expected += usize::from(report.as_expected());
        self.failed += usize::from(report.verdict == VerdictKind::Failed);
    }

    fn status(&self) -> Status {
        match (self.failed, self.total - self.expected) {
            (0, 0) => Status::Expected,
            (0, _) => Status::Unexpected,
            _ => Status::Failed,
        }
    }
}
