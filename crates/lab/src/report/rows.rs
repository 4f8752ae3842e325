//! Conversion of verdicts to rows and back.

use super::{Checked, MutantResult};
use crate::catalogue::Catalogue;
use crate::claim::{Claim, Hypothesis, Kind, Mutant, Params, VerdictKind, Witness};
use crate::run::{CheckReport, Origin, Row};
use attnlab_core::error::{Error, Result};
use attnlab_core::format::quoted;
use attnlab_core::stats::Estimate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::Arc;

/// Name of the run whose rows are verdicts.
pub const ID: &str = "reproduce";
/// The parameter of such a row that names claim and mutant: "aot.theorem1/" or "aot.theorem1/rate".
const NAME: &str = "claim";

/// The part of a [`CheckReport`] that a row keeps; what is skipped follows from the claim and its parameters.
#[derive(Serialize, Deserialize)]
#[serde(remote = "CheckReport")]
struct Kept {
    trials: u64,
    failures: u64,
    estimate: Estimate,
    verdict: VerdictKind,
    expected: VerdictKind,
    witness: Witness,
    promise: String,
    tolerance: Option<String>,
    p_value: Option<f64>,
    informative: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    uninformative: BTreeMap<String, u64>,
    reach: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    looks: Vec<u64>,
    beyond_hypotheses: bool,
    wall_s: f64,
    #[serde(skip)]
    claim: String,
    #[serde(skip)]
    source: String,
    #[serde(skip)]
    parameters: Map<String, Value>,
    #[serde(skip)]
    hypotheses: Vec<Hypothesis>,
    #[serde(skip, default = "no_kind")]
    kind: Kind,
    #[serde(skip)]
    seed: u64,
    #[serde(skip)]
    version: &'static str,
}

/// Kind of a statement until that of the claim takes its place.
fn no_kind() -> Kind {
    Kind::Law
}

/// Data of a row.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(flatten, with = "Kept")]
    report: CheckReport,
    machine: String,
    /// Number of seeds under which a mutant ran.
    seeds: u64,
    refuted: u64,
}

/// Verdict in a row.
#[derive(Clone)]
pub enum Found {
    /// The verdict on a claim.
    Claim(Checked),
    /// The verdict on one of its mutants.
    Mutant(MutantResult),
}

impl Found {
    /// Returns the check of the claim, or that of the mutant under its first seed.
    pub fn report(&self) -> &CheckReport {
        match self {
            Found::Claim(checked) => &checked.report,
            Found::Mutant(mutant) => &mutant.first.report,
        }
    }
}

/// Returns the name of a claim, or of its mutant, in rows.
pub fn row_name(claim: &str, mutant: Option<&str>) -> String {
    format!("{claim}/{}", mutant.unwrap_or_default())
}

/// Returns the verdicts that are reported: of several numbers of trials of one check the largest.
pub fn latest(rows: &[Row]) -> Vec<&Row> {
    let mut largest: HashMap<&str, u64> = HashMap::new();
    for row in rows {
        let number = largest.entry(&row.cell).or_default();
        *number = row.trial.max(*number);
    }
    rows.iter().filter(|row| largest.get(row.cell.as_str()) == Some(&row.trial)).collect()
}

/// Converts a verdict to the parameters and data of a row.
pub fn keep(verdict: &Found) -> (Map<String, Value>, Map<String, Value>) {
    let (name, checked, seeds, refuted) = match verdict {
        Found::Claim(c) => (row_name(&c.report.claim, None), c, 1, 0),
        Found::Mutant(m) => (row_name(&m.claim, Some(&m.name)), &m.first, m.seeds, m.refuted),
    };
    let Checked { report, origin, .. } = checked.clone();
    let mut parameters = report.parameters.clone();
    parameters.insert(NAME.into(), name.into());
    let stored = Stored { report, machine: origin.machine, seeds, refuted };
    let data = match serde_json::to_value(stored) {
        Ok(Value::Object(data)) => data,
        // A struct of plain fields is always an object.
        _ => Map::new(),
    };
    (parameters, data)
}

/// Restores the verdict of a row.
///
/// # Errors
/// When the row does not hold a verdict, is of another version, or names an unknown claim.
pub fn restore(row: &Row, catalogue: &Catalogue) -> Result<Found> {
    let problem =
        |problem: String| Error::Content { path: format!("row of {} (cell {})", row.id, row.cell).into(), problem };
    let (id, mutant) = row.word(NAME)?.split_once('/').ok_or_else(|| problem("it names no claim".into()))?;
    let claim = catalogue.claim(id)?;
    let stored: Stored = serde_json::from_value(Value::Object(row.data.clone()))
        .map_err(|e| problem(format!("not a verdict of this version ({e})")))?;
    if mutant.is_empty() {
        return Ok(Found::Claim(restored(claim, row, stored)?));
    }
    let Stored { seeds, refuted, .. } = stored;
    let variants = claim.mutants();
    let variant = variants.iter().find(|m| m.name == mutant);
    let variant = variant.ok_or_else(|| problem(format!("{id} has no mutant '{mutant}'")))?;
    let mut first = restored(&variant.claim, row, stored)?;
    first.origin.command = format!("attnlab check {id} --mutants --seed {}", row.seed);
    Ok(Found::Mutant(MutantResult {
        claim: id.to_string(),
        name: variant.name.to_string(),
        says: variant.says().to_string(),
        seeds,
        refuted,
        first,
    }))
}

fn restored(claim: &Arc<dyn Claim>, row: &Row, stored: Stored) -> Result<Checked> {
    let mut set = row.parameters.clone();
    // shift_remove: the others keep their order.
    set.shift_remove(NAME);
    let params = Params::resolve(&claim.schema(), &set)?;
    let sheet = claim.sheet();
    let report = CheckReport {
        claim: sheet.id.clone(),
        source: sheet.source(),
        parameters: params.as_json().clone(),
        hypotheses: claim.hypotheses(&params),
        kind: sheet.kind,
        seed: row.seed,
        version: env!("CARGO_PKG_VERSION"),
        ..stored.report
    };
    let command = check_command(&**claim, &report);
    let origin = Origin { command, version: row.build.clone(), machine: stored.machine };
    Ok(Checked { report, claim: claim.clone(), origin })
}

impl Checked {
    /// Combines a check of `claim` in this process with its origin.
    pub fn here(claim: &Arc<dyn Claim>, report: CheckReport) -> Self {
        Checked { origin: Origin::of_verdict(check_command(&**claim, &report)), claim: claim.clone(), report }
    }
}

impl MutantResult {
    /// Combines the check of a mutant in this process with its origin.
    pub fn here(mutant: &Mutant, report: crate::run::MutantReport) -> Self {
        let command = format!("attnlab check {} --mutants --seed {}", report.claim, report.first.seed);
        MutantResult {
            claim: report.claim,
            name: mutant.name.to_string(),
            says: mutant.says().to_string(),
            seeds: report.seeds,
            refuted: report.refuted,
            first: Checked { report: report.first, claim: mutant.claim.clone(), origin: Origin::of_verdict(command) },
        }
    }
}

/// Returns the command that repeats the check; it sets the parameters that differ from the defaults.
fn check_command(claim: &dyn Claim, report: &CheckReport) -> String {
    let (set, trials) = given(claim, report);
    let mut parts = vec![format!("attnlab check {} --seed {}", report.claim, report.seed)];
    parts.extend(set.iter().map(|(name, value)| format!("--set {}", quoted(&format!("{name}={value}")))));
    parts.extend(trials.map(|trials| format!("--trials {trials}")));
    parts.extend((!report.looks.is_empty()).then(|| "--until-decided".to_string()));
    parts.extend(given_level(report).map(|level| format!("--level {level}")));
    parts.extend(report.beyond_hypotheses.then(|| "--beyond-hypotheses".to_string()));
    parts.join(" ")
}

/// Returns what follows the `#` of the page in a browser (docs/page.md) that repeats the check: a query, percent-encoded. A check
/// that was stopped when it was decided is repeated with all its trials.
pub(super) fn check_link(checked: &Checked) -> String {
    let report = &checked.report;
    let (mut set, trials) = given(&*checked.claim, report);
    let trials = if report.looks.is_empty() { trials } else { Some(report.trials) };
    set.extend(trials.map(|n| ("trials".to_string(), n.into())));
    set.extend(given_level(report).map(|level| ("level".to_string(), level.into())));
    set.extend(report.beyond_hypotheses.then(|| ("beyond".to_string(), 1.into())));
    let mut link = format!("check={}&seed={}", encoded(&report.claim), report.seed);
    for (name, value) in &set {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        let _ = write!(link, "&{}={}", encoded(name), encoded(&text));
    }
    link
}

/// Encodes what is no letter, digit or one of - . _ ~ by its bytes.
fn encoded(text: &str) -> String {
    let sign = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(sign).collect()
}

/// Returns the parameters of a check that differ from the defaults, and its number of trials where that does.
fn given(claim: &dyn Claim, report: &CheckReport) -> (Map<String, Value>, Option<u64>) {
    let (schema, mut set) = (claim.schema(), Map::new());
    for (name, value) in &report.parameters {
        // Derived defaults follow what has been set before them.
        let default = Params::resolve(&schema, &set).ok();
        if default.is_none_or(|d| d.as_json().get(name) != Some(value)) {
            set.insert(name.clone(), value.clone());
        }
    }
    let params = Params::resolve(&schema, &set);
    let trials = report.looks.first().copied().unwrap_or(report.trials);
    let differs = params.is_ok_and(|p| claim.default_trials(&p) != trials);
    (set, differs.then_some(trials))
}

/// Returns the level of a check that is not the default one.
fn given_level(report: &CheckReport) -> Option<f64> {
    let level = report.level();
    (level < 1.0 && level != 0.95).then_some(level)
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_encoded_as_rfc_3986_says() {
        // urllib.parse.quote("a b&c=ü~[1,2]", safe="")
        assert_eq!(super::encoded("a b&c=ü~[1,2]"), "a%20b%26c%3D%C3%BC~%5B1%2C2%5D");
    }
}
