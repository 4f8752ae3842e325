//! Summary of an audit, from its rows alone.

use super::{CLAIM, Finding, ID, SETTING};
use crate::run::Row;
use crate::words::counted;
use attnlab_core::error::Result;
use attnlab_core::format::{number, quoted};
use attnlab_core::stats::{Estimate, binomial, holm};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Family-wise level at which a surprise of sampled trials stands.
const FAMILY_LEVEL: f64 = 0.05;

/// Largest rate of false alarms that the level of one check allows: half of 1 - .95, as an interval errs on either
/// side with at most so much.
const ALLOWED_RATE: f64 = 0.025;

/// Numbers of settings by finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count(BTreeMap<Finding, u64>);

impl Count {
    /// Returns the number of settings with this finding.
    pub fn number(&self, finding: Finding) -> u64 {
        self.0.get(&finding).copied().unwrap_or(0)
    }

    /// Returns the number of settings.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    fn add(&mut self, finding: Finding) {
        *self.0.entry(finding).or_default() += 1;
    }
}

/// Setting with a finding that must not be.
#[derive(Clone, Debug, PartialEq)]
pub struct Surprise {
    /// Id of the claim.
    pub claim: String,
    /// Result of its check.
    pub finding: Finding,
    /// Command that shows it.
    pub command: String,
    /// Message of a refusal or a crash, or the values that were seen.
    pub message: String,
    /// p-value of the verdict; None where it rests on no level.
    pub p_value: Option<f64>,
    /// The same, adjusted by Holm for all settings of the audit whose verdict rests on a level.
    pub adjusted: Option<f64>,
}

impl Surprise {
    /// Returns `true` unless the level of the trials allows for it: its adjusted p-value is above 0.05.
    pub fn stands(&self) -> bool {
        self.adjusted.is_none_or(|p| p <= FAMILY_LEVEL)
    }
}

/// Numbers of findings, and every surprise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Number of settings.
    pub settings: u64,
    /// Numbers of findings, all claims together.
    pub all: Count,
    /// Numbers of findings by claim.
    pub claims: BTreeMap<String, Count>,
    /// Seeds of the settings.
    pub seeds: BTreeSet<u64>,
    /// Number of settings at which supported was expected and the verdict rests on a level.
    pub levelled: u64,
    /// Number of those at which the verdict was refuted.
    pub false_alarms: u64,
    /// Settings that came out otherwise than they must.
    pub surprises: Vec<Surprise>,
}

impl Summary {
    /// Counts the rows of an audit.
    ///
    /// # Errors
    /// A row that is not of an audit.
    pub fn of_rows(rows: &[Row]) -> Result<Summary> {
        let mut summary = Summary::default();
        let (mut levels, mut places) = (vec![], vec![]);
        for row in rows {
            let finding = finding(row).ok_or_else(|| row.wrong("it is not of an audit"))?;
            let claim = row.word(CLAIM)?.to_string();
            summary.settings += 1;
            summary.all.add(finding);
            summary.claims.entry(claim.clone()).or_default().add(finding);
            summary.seeds.insert(row.seed);
            let p_value = row.data.get("p_value").and_then(Value::as_f64);
            if p_value.is_some() && row.data.get("expected").and_then(Value::as_str) == Some("supported") {
                summary.levelled += 1;
                summary.false_alarms += u64::from(finding == Finding::FalseAlarm);
            }
            levels.extend(p_value);
            if surprises(finding) {
                places.push(p_value.map(|_| levels.len() - 1));
                summary.surprises.push(surprise(row, claim, finding, p_value));
            }
        }
        let adjusted = holm(&levels);
        for (surprise, place) in summary.surprises.iter_mut().zip(places) {
            surprise.adjusted = place.map(|i| adjusted[i]);
        }
        Ok(summary)
    }

    /// Returns `true` if no surprise stands.
    pub fn clean(&self) -> bool {
        !self.surprises.iter().any(Surprise::stands)
    }

    /// Returns the rate of false alarms among the verdicts that rest on a level, with its 95 % interval; None
    /// where there are none.
    pub fn false_alarm_rate(&self) -> Option<Estimate> {
        binomial(self.false_alarms, self.levelled, 0.95).ok()
    }

    /// Returns the findings that occur, in the order of tables.
    pub fn findings(&self) -> Vec<Finding> {
        Finding::ALL.into_iter().filter(|finding| self.all.number(*finding) > 0).collect()
    }

    /// Says in one sentence how many verdicts were false alarms, and how many the level allows.
    pub fn alarm_sentence(&self) -> String {
        let Some(rate) = self.false_alarm_rate() else { return "No verdict rests on a level.".into() };
        let percent = |share: f64| number((1e4 * share).round() / 100.0);
        let [share, low, high, allowed] = [rate.value, rate.low, rate.high, ALLOWED_RATE].map(percent);
        format!(
            "False alarms: {} of {} settings at which a true statement was judged by trials at the level .95, \
             {share} % [{low}, {high}]; the level allows {allowed} %.",
            self.false_alarms, self.levelled
        )
    }

    /// Writes the summary as a page in Markdown; `command` makes its rows.
    pub fn markdown(&self, command: &str) -> String {
        let claims = counted(self.claims.len() as u64, "claim");
        let mut page = format!("# Audit of {claims}\n\n{}\n\n", self.sentence());
        let _ = writeln!(page, "{}\n\nCommand: `{command}`\n\n## Findings\n", self.alarm_sentence());
        for finding in self.findings() {
            let _ = writeln!(page, "- {}: {}", finding.name(), finding.definition());
        }
        page.push('\n');
        let used = self.findings();
        let names: Vec<&str> = used.iter().map(|f| f.name()).collect();
        let _ = writeln!(page, "| claim | {} |\n|---{}|", names.join(" | "), "|---:".repeat(used.len()));
        for (claim, count) in &self.claims {
            let cells: Vec<String> = used.iter().map(|f| count.number(*f).to_string()).collect();
            let _ = writeln!(page, "| `{claim}` | {} |", cells.join(" | "));
        }
        if !self.surprises.is_empty() {
            page.push_str("\n## Surprises\n\n");
        }
        for s in &self.surprises {
            let p = match (s.p_value, s.adjusted) {
                (Some(p), Some(adjusted)) => format!(", p-value {p:.2e}, by Holm {adjusted:.2e}"),
                _ => String::new(),
            };
            let allowed = if s.stands() { "" } else { " (within the level's allowance)" };
            let _ = writeln!(page, "- {}{allowed}{p}: `{}`", s.finding.name(), s.command);
            if !s.message.is_empty() {
                let _ = writeln!(page, "  {}", s.message);
            }
        }
        page
    }

    /// Says in one paragraph what came out.
    pub fn sentence(&self) -> String {
        let stand = self.surprises.iter().filter(|s| s.stands()).count();
        let counts = self.findings().into_iter().map(|f| format!("{} {}", self.all.number(f), f.name()));
        let (least, most) = self.settings_per_claim();
        let each = if least == most { format!("{most} each") } else { format!("{least} to {most} each") };
        format!(
            "{} at {} ({each}): {}. {stand} of {} surprises stand at the family-wise level {FAMILY_LEVEL}.",
            counted(self.claims.len() as u64, "claim"),
            counted(self.settings, "random setting"),
            counts.collect::<Vec<_>>().join(", "),
            self.surprises.len(),
        )
    }

    /// Returns the least and the largest number of settings of a claim.
    pub fn settings_per_claim(&self) -> (u64, u64) {
        let totals = || self.claims.values().map(Count::total);
        (totals().min().unwrap_or(0), totals().max().unwrap_or(0))
    }
}

fn surprises(finding: Finding) -> bool {
    use Finding::{Crashed, FalseAlarm, Missed, Other, Refused, Slow};
    matches!(finding, FalseAlarm | Missed | Other | Refused | Crashed | Slow)
}

fn finding(row: &Row) -> Option<Finding> {
    let name = row.data.get("finding").filter(|_| row.id == ID)?;
    Finding::parse(name.as_str()?).ok()
}

fn surprise(row: &Row, claim: String, finding: Finding, p_value: Option<f64>) -> Surprise {
    let object = |name: &str| row.data.get(name).and_then(Value::as_object);
    let empty = Map::new();
    let mut command = format!("attnlab check {claim}");
    for (name, value) in object("set").unwrap_or(&empty) {
        let _ = write!(command, " --set {}", quoted(&format!("{name}={value}")));
    }
    let index = row.parameters.get(SETTING).and_then(Value::as_u64).unwrap_or(0);
    let _ = write!(command, " --seed {}", row.seed.wrapping_add(index));
    let message = row.data.get("message").and_then(Value::as_str);
    let seen = || attnlab_core::format::pairs(object("witness").unwrap_or(&empty));
    Surprise { claim, finding, command, message: message.map_or_else(seen, String::from), p_value, adjusted: None }
}
