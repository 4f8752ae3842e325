//! Audit of claims: each at settings drawn at random inside its domain, where the expected verdict must come out.
//!
//! A claim is right at its defaults because somebody looked there. [`audit`] draws settings from all of its
//! domain, every choice and corner included, checks each in a process of its own under a time limit, and
//! keeps a row per setting. [`Summary`] counts what came out and lists every unexpected verdict with the
//! command that shows it.

mod child;
mod draw;
mod summary;

pub use draw::setting;
pub use summary::{Count, Summary, Surprise};

use crate::catalogue::Catalogue;
use crate::claim::{Claim, VerdictKind};
use crate::run::grid::{Cell, Cells, Grid, GridOptions, RunReport};
use crate::run::store::Manifest;
use crate::run::{CheckOptions, Progress, Silent, check};
use attnlab_core::error::{Error, Result};
use attnlab_core::format::quoted;
use attnlab_core::params::Params;
use child::Ended;
use itertools::iproduct;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Id of the runs of an audit.
pub const ID: &str = "audit";
/// Parameters of its rows: the id of the claim, and the number of the setting.
const CLAIM: &str = "claim";
const SETTING: &str = "setting";

/// Options of [`audit`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder for the rows.
    pub out: PathBuf,
    /// Claims, as [`Catalogue::named`] knows them; all if empty.
    pub only: Vec<String>,
    /// Seed of the settings and of the checks.
    pub seed: u64,
    /// Number of settings per claim; fewer of one whose checks are [long](Claim::seconds) at all settings.
    pub settings: u64,
    /// Time limit of one check: of processor time where the system tells it (Linux), otherwise by the clock.
    pub limit: Duration,
    /// The `attnlab` program that runs each check, so that a check can neither hang nor crash the audit. None:
    /// checks run in this process, without a time limit.
    pub program: Option<PathBuf>,
    /// Part of the settings that is checked, and whether rows of another run are deleted.
    pub grid: GridOptions<'static>,
}

/// Result of the check at one setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// The expected verdict.
    Expected,
    /// A hypothesis fails there.
    OutOfScope,
    /// Too few trials to decide.
    Inconclusive,
    /// Computations failed.
    Failed,
    /// Refuted, where supported was expected.
    FalseAlarm,
    /// Supported, where refuted was expected.
    Missed,
    /// Another verdict than the expected one.
    Other,
    /// No setting inside the domain was accepted, or the check refused one that was.
    Refused,
    /// A panic, or a signal.
    Crashed,
    /// Longer than the time limit.
    Slow,
}

// The names in rows and tables, in the order of the latter.
attnlab_core::named!(Finding, "finding":
    Expected = "expected", OutOfScope = "out-of-scope", Inconclusive = "inconclusive", Failed = "failed",
    FalseAlarm = "false-alarm", Missed = "missed", Other = "other", Refused = "refused", Crashed = "crashed",
    Slow = "slow");

impl Finding {
    /// Returns the definition, for the page.
    pub fn definition(self) -> &'static str {
        match self {
            Finding::Expected => "the expected verdict",
            Finding::OutOfScope => "a hypothesis of the statement fails there",
            Finding::Inconclusive => "too few trials to decide",
            Finding::Failed => "computations failed, which says nothing about the statement",
            Finding::FalseAlarm => "refuted, where supported was expected",
            Finding::Missed => "supported, where refuted was expected",
            Finding::Other => "another verdict than the expected one",
            Finding::Refused => "the schema allows the setting, the check refuses it",
            Finding::Crashed => "a panic, or a signal",
            Finding::Slow => "longer than the time limit",
        }
    }

    fn from_verdict(verdict: VerdictKind, expected: VerdictKind) -> Finding {
        use VerdictKind::{Failed, Inconclusive, OutOfScope, Refuted, Supported};
        match (verdict, expected) {
            (OutOfScope, _) => Finding::OutOfScope,
            (verdict, expected) if verdict == expected => Finding::Expected,
            (Inconclusive, _) => Finding::Inconclusive,
            (Failed, _) => Finding::Failed,
            (Refuted, _) => Finding::FalseAlarm,
            (Supported, Refuted) => Finding::Missed,
            _ => Finding::Other,
        }
    }
}

/// Checks every claim of the catalogue at random settings and keeps a row of each. After a kill the same call
/// continues the audit.
///
/// # Errors
/// An unknown id in `only`; a folder with rows of another run, a disk that is full; [`Error::Stopped`] when
/// the user has asked to stop. Rows so far are kept.
///
/// ```
/// use attnlab_lab::audit::{Options, Summary, audit};
/// use attnlab_lab::catalogue::{Catalogue, Room};
/// use attnlab_lab::{run::Silent, toy};
/// let catalogue = Catalogue::new().with(Room::new("toy", toy::PAPERS).claims(vec![toy::fair_coin()]));
/// let folder = tempfile::tempdir().unwrap();
/// let options = Options { out: folder.path().into(), settings: 12, ..Options::default() };
/// let rows = audit(&catalogue, &options, &Silent)?.rows;
/// // A coin whose probability of heads is set to another value than 1/2 is not fair.
/// let summary = Summary::of_rows(&rows)?;
/// assert_eq!(summary.settings, 12);
/// assert!(!summary.surprises.is_empty());
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn audit(catalogue: &Catalogue, options: &Options, progress: &dyn Progress) -> Result<RunReport> {
    let claims = select(catalogue, &options.only)?;
    let number = |claim: &Arc<dyn Claim>| draw::affordable(&**claim, options.seed, options.settings);
    let numbers: Vec<u64> = claims.iter().map(number).collect();
    // One setting of every claim after the other, so that an audit that is stopped has seen all claims.
    let pairs: Vec<(&dyn Claim, u64)> = iproduct!(0..options.settings, claims.iter().zip(&numbers))
        .filter(|(index, (_, number))| index < *number)
        .map(|(index, (claim, _))| (&**claim, index))
        .collect();
    let grid = Grid {
        manifest: Manifest::new(ID, options.seed, described(options)),
        cells: Cells::listed(pairs.iter().map(|(claim, index)| cell(*claim, *index)).collect())?,
        trial: &|c, _, _, context| check_setting(pairs[c].0, options, pairs[c].1, context.progress),
        stopping: None,
    };
    grid.run(&options.out, options.grid, progress)?.into_report()
}

impl Default for Options {
    /// Returns 200 settings per claim under a limit of 120 s, seed 0, into `runs/audit`, in this process.
    fn default() -> Self {
        Options {
            out: "runs/audit".into(),
            only: vec![],
            seed: 0,
            settings: 200,
            limit: Duration::from_secs(120),
            program: None,
            grid: GridOptions::default(),
        }
    }
}

fn select(catalogue: &Catalogue, only: &[String]) -> Result<Vec<Arc<dyn Claim>>> {
    match only {
        [] => Ok(catalogue.claims().cloned().collect()),
        names => catalogue.claims_named("only", names),
    }
}

/// The cell of one setting: its claim and number.
fn cell(claim: &dyn Claim, index: u64) -> Cell {
    let named = [(CLAIM, json!(claim.sheet().id)), (SETTING, json!(index))];
    let shown: Map<String, Value> = named.map(|(name, value)| (name.to_string(), value)).into_iter().collect();
    Cell { params: Params::from_iter(shown.clone()), shown, trials: 1, memory: 0 }
}

/// The options that the rows depend on; more settings per claim add rows and change none.
fn described(options: &Options) -> Map<String, Value> {
    let named = [("limit_s", json!(options.limit.as_secs_f64())), ("only", json!(options.only))];
    named.map(|(name, value)| (name.to_string(), value)).into_iter().collect()
}

/// Returns the command that makes the rows of an audit with so many settings per claim.
pub fn command(manifest: &Manifest, settings: u64) -> String {
    let mut command = format!("attnlab audit --seed {} --settings {settings}", manifest.seed);
    if let Some(limit) = manifest.settings.get("limit_s").and_then(Value::as_f64) {
        command.push_str(&format!(" --check-limit {limit}"));
    }
    let only = manifest.settings.get("only").and_then(Value::as_array);
    let only: Vec<String> = only.into_iter().flatten().filter_map(Value::as_str).map(quoted).collect();
    if !only.is_empty() {
        command.push_str(&format!(" --only {}", only.join(" ")));
    }
    command
}

fn check_setting(
    claim: &dyn Claim,
    options: &Options,
    index: u64,
    progress: &dyn Progress,
) -> Result<Map<String, Value>> {
    let (id, seed) = (&claim.sheet().id, options.seed.wrapping_add(index));
    let set = match draw::setting(claim, options.seed, index) {
        Ok(set) => set,
        Err(e) => return Ok(data(Finding::Refused, Map::new(), e.to_string())),
    };
    let ended = match &options.program {
        Some(program) => child::check(program, id, &set, (seed, options.limit), progress)?,
        None => here(claim, &set, seed)?,
    };
    Ok(match ended {
        Ended::Limit => {
            data(Finding::Slow, set, format!("more than {} s of processor time", options.limit.as_secs_f64()))
        }
        Ended::Crash(message) => data(Finding::Crashed, set, message),
        Ended::Message(3, message) => data(Finding::Failed, set, message),
        Ended::Message(_, message) => data(Finding::Refused, set, message),
        Ended::Verdict(report) => of_report(set, report),
    })
}

/// Runs a check in this process.
fn here(claim: &dyn Claim, set: &Map<String, Value>, seed: u64) -> Result<Ended> {
    match check(claim, set, &CheckOptions { seed, ..CheckOptions::default() }, &Silent) {
        Ok(report) => match serde_json::to_value(report) {
            Ok(Value::Object(report)) => Ok(Ended::Verdict(report)),
            other => Err(Error::unwritable("a verdict (JSON)", format!("{other:?}"))),
        },
        Err(e @ Error::Stopped { .. }) => Err(e),
        Err(e) => Ok(Ended::Message(if e.is_numerical() { 3 } else { 2 }, e.to_string())),
    }
}

/// Entries of a verdict that a row keeps.
const KEPT: [&str; 7] = ["verdict", "expected", "p_value", "trials", "informative", "failures", "estimate"];

fn of_report(set: Map<String, Value>, report: Map<String, Value>) -> Map<String, Value> {
    let kind = |name: &str| -> Option<VerdictKind> { serde_json::from_value(report.get(name)?.clone()).ok() };
    let verdicts = kind("verdict").zip(kind("expected"));
    let finding = verdicts.map_or(Finding::Crashed, |(verdict, expected)| Finding::from_verdict(verdict, expected));
    let mut data = data(finding, set, String::new());
    data.extend(KEPT.iter().filter_map(|name| Some((name.to_string(), report.get(*name)?.clone()))));
    if finding != Finding::Expected && finding != Finding::OutOfScope {
        data.insert("witness".into(), report.get("witness").cloned().unwrap_or_default());
    }
    data
}

fn data(finding: Finding, set: Map<String, Value>, message: String) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("finding".into(), finding.name().into());
    data.insert("set".into(), Value::Object(set));
    if !message.is_empty() {
        data.insert("message".into(), message.into());
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Room;
    use crate::toy;

    #[test]
    fn a_star_stands_for_claims_whose_ids_begin_so() {
        let catalogue = Catalogue::new().with(Room::new("toy", toy::PAPERS).claims(vec![toy::fair_coin()]));
        let only = ["toy.*", "toy.fair"].map(String::from);
        assert_eq!(select(&catalogue, &only).unwrap().len(), 1);
        let options = Options { only: only.to_vec(), ..Options::default() };
        let command = command(&Manifest::new(ID, 0, described(&options)), 20);
        assert!(command.ends_with(" --only 'toy.*' toy.fair"), "{command}");
        assert!(select(&catalogue, &["tory.*".into()]).is_err());
    }
}
