//! Summary of a sweep over a claim: one judgement per cell, computed from rows alone.

use super::{Beyond, Plan, Sweep, outcome_of};
use crate::claim::evidence;
use crate::claim::verdict::judge_events;
use crate::claim::{Claim, Hypothesis, Kind, Outcome, Params, VerdictKind, Witness};
use crate::run::Row;
use crate::run::check::{Assessment, assess};
use crate::run::grid::Cell;
use crate::run::store;
use crate::run::store::{by_cell, cell_name};
use attnlab_core::error::{Error, Result};
use attnlab_core::stats::{Estimate, Sequence};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Summary of one cell: a line of `cells.jsonl`, with the field names of `attnlab check --json`.
#[derive(Clone, Debug, Serialize)]
pub struct CellSummary {
    /// Identifier of the claim.
    pub claim: String,
    /// Id of the cell in its rows.
    pub cell: String,
    /// Every parameter, and the axes that only expressions use.
    pub parameters: Map<String, Value>,
    /// The printed hypotheses with their margins.
    pub hypotheses: Vec<Hypothesis>,
    /// Treatment of a cell where one of them fails: `mark`, `judge` or `skip`.
    pub beyond_hypotheses: &'static str,
    /// Kind of statement.
    pub kind: Kind,
    /// Number of trials.
    pub trials: u64,
    /// Rule for the number of trials.
    pub budget: String,
    /// Number of failed trials.
    pub failures: u64,
    /// Estimate; None without trials.
    pub estimate: Option<Estimate>,
    /// The verdict.
    pub verdict: VerdictKind,
    /// The verdict that we expected.
    pub expected: VerdictKind,
    /// Evidence, by verdict: counter-example, failed hypotheses, trials needed or reason.
    pub witness: Witness,
    /// p-value of the verdict; see [`CheckReport::p_value`](crate::run::CheckReport::p_value).
    pub p_value: Option<f64>,
    /// Number of informative trials.
    pub informative: u64,
    /// Numbers of the other trials, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub uninformative: BTreeMap<String, u64>,
    /// Seed of every stream.
    pub seed: u64,
    /// Version of attnlab.
    pub version: String,
}

/// Judges every cell of a sweep over a claim from its rows, which must be in canonical order. Returns nothing
/// for another plan.
///
/// # Errors
/// Rows that are not of this sweep, or too few for an interval.
pub fn summarise(plan: &Plan, rows: &[Row]) -> Result<Vec<CellSummary>> {
    let Some((claim, sweep)) = plan.claim() else {
        return Ok(vec![]);
    };
    let of: HashMap<&str, &[Row]> =
        by_cell(rows).into_iter().filter_map(|rows| Some((rows.first()?.cell.as_str(), rows))).collect();
    let summary = |cell: &Cell| {
        let name = cell_name(cell.params.cell());
        let rows = of.get(name.as_str()).copied().unwrap_or_default();
        let outcomes = rows.iter().map(outcome_of).collect::<Result<Vec<_>>>()?;
        let judged_cell = judged(claim, sweep, &cell.params, &outcomes)?;
        let sheet = claim.sheet();
        Ok(CellSummary {
            claim: sheet.id.clone(),
            cell: name,
            parameters: cell.shown.clone(),
            hypotheses: judged_cell.assessment.hypotheses,
            beyond_hypotheses: sweep.beyond.name(),
            kind: sheet.kind,
            trials: outcomes.len() as u64,
            budget: sweep.budget(),
            failures: judged_cell.assessment.failures,
            estimate: Some(judged_cell.assessment.estimate).filter(|_| judged_cell.seen),
            verdict: judged_cell.assessment.verdict,
            expected: judged_cell.assessment.expected,
            witness: judged_cell.assessment.witness,
            p_value: judged_cell.assessment.p_value,
            informative: judged_cell.assessment.informative,
            uninformative: judged_cell.assessment.uninformative,
            seed: plan.manifest.seed,
            version: plan.manifest.build.clone(),
        })
    };
    plan.cells.iter().map(summary).collect()
}

struct Judged {
    assessment: Assessment,
    /// Flag: the cell has trials.
    seen: bool,
}

fn judged(claim: &dyn Claim, sweep: &Sweep, params: &Params, outcomes: &[Outcome]) -> Result<Judged> {
    let beyond = sweep.beyond == Beyond::Judge;
    let of = |weighed, seen| Judged { assessment: assess(claim, params, outcomes, weighed, beyond), seen };
    if outcomes.is_empty() {
        // A cell outside the hypotheses under `beyond_hypotheses = "skip"`, which has no trials.
        let nothing = evidence::weigh(claim, params, &[], sweep.level)?;
        return Ok(of(nothing, false));
    }
    let weighed = match sweep.stop {
        None => evidence::weigh(claim, params, outcomes, sweep.level)?,
        // The interval of a fixed number of trials is not valid after such stopping.
        Some(_) => {
            let sequence = Sequence::new(sweep.level)?;
            let interval = |held, trials| sequence.interval(held, trials);
            let judge = |outcomes: &[Outcome]| judge_events(claim, params, outcomes, &interval);
            evidence::weigh_with(claim, params, outcomes, &judge)?
        }
    };
    let seen = weighed.informative > 0;
    Ok(of(weighed, seen))
}

/// Names of the files beside the rows.
const FILES: [&str; 2] = ["cells.jsonl", "cells.csv"];

/// Writes `cells.jsonl` and `cells.csv` into `folder` and returns the summaries. For a plan that is not a
/// sweep over a claim it writes and returns nothing.
///
/// # Errors
/// As [`summarise`], and when the files cannot be written; the rows are kept.
pub fn write_summary(plan: &Plan, rows: &[Row], folder: &Path) -> Result<Vec<CellSummary>> {
    let cells = summarise(plan, rows)?;
    if cells.is_empty() {
        return Ok(cells);
    }
    let lines = cells.iter().map(serde_json::to_string);
    let lines = lines.collect::<Result<Vec<String>, _>>();
    let json = lines.map_err(|e| Error::unwritable("the summary (JSON)", e))?;
    write(&folder.join(FILES[0]), &(json.join("\n") + "\n"))?;
    write(&folder.join(FILES[1]), &to_csv(&cells)?)?;
    Ok(cells)
}

fn write(path: &Path, text: &str) -> Result<()> {
    let advice = "The rows are kept: make room and give the same command again";
    store::replace(path, text).map_err(|e| Error::io(path, e, advice))
}

/// Writes one line per cell: the parameters, then the results.
fn to_csv(cells: &[CellSummary]) -> Result<String> {
    let failed = |e: csv::Error| Error::Content { path: PathBuf::from(FILES[1]), problem: e.to_string() };
    let mut table = csv::Writer::from_writer(vec![]);
    let names: Vec<&String> = cells.iter().take(1).flat_map(|c| c.parameters.keys()).collect();
    let results = [
        "cell",
        "trials",
        "failures",
        "estimate",
        "low",
        "high",
        "level",
        "verdict",
        "expected",
        "budget",
        "informative",
        "p_value",
    ];
    let header = names.iter().map(|n| n.as_str()).chain(results);
    table.write_record(header).map_err(failed)?;
    for cell in cells {
        let number = |of: fn(&Estimate) -> f64| {
            let finite = cell.estimate.as_ref().map(of).filter(|x| !x.is_nan());
            finite.map_or(String::new(), |x| x.to_string())
        };
        let parameter = |name: &&String| match cell.parameters.get(*name) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        };
        let results = [
            cell.cell.clone(),
            cell.trials.to_string(),
            cell.failures.to_string(),
            number(|e| e.value),
            number(|e| e.low),
            number(|e| e.high),
            number(|e| e.level),
            cell.verdict.name().into(),
            cell.expected.name().into(),
            cell.budget.clone(),
            cell.informative.to_string(),
            cell.p_value.map_or(String::new(), |p| p.to_string()),
        ];
        let record = names.iter().map(parameter).chain(results);
        table.write_record(record).map_err(failed)?;
    }
    let bytes = table.into_inner().map_err(|e| failed(e.into_error().into()))?;
    String::from_utf8(bytes).map_err(|e| Error::unwritable("the summary (CSV)", e))
}
