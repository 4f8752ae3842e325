//! Summary of a sweep over a claim: one judgement per cell, computed from rows alone.

use super::{Beyond, Plan, Sweep, outcome_of};
use crate::claim::verdict::judge_events;
use crate::claim::{Claim, Hypothesis, Kind, Outcome, Params, VerdictKind, Witness, evidence};
use crate::run::Row;
use crate::run::check::{Assessment, assess};
use crate::run::files;
use crate::run::store::{SUMMARY, Store, Stored, cell_name};
use attnlab_core::error::{Error, Result};
use attnlab_core::format::csv_cell;
use attnlab_core::stats::{Estimate, Sequence};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

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
    /// Estimate; None without informative trials.
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
    /// Version of attnlab that judged the cell.
    pub version: &'static str,
    /// Builds that computed the rows.
    pub build: String,
}

impl CellSummary {
    /// Returns what the tables and maps of a sweep need of the cell.
    pub fn mark(&self) -> CellMark {
        let CellSummary { trials, estimate, verdict, .. } = *self;
        let margin = self.hypotheses.iter().map(|h| h.margin).fold(f64::NAN, f64::min);
        CellMark { trials, estimate, verdict, margin }
    }
}

/// Part of a [`CellSummary`] that a map shows: small, so that a million of them fit into memory.
#[derive(Clone, Copy, Debug)]
pub struct CellMark {
    /// Number of trials.
    pub trials: u64,
    /// Estimate; None without informative trials.
    pub estimate: Option<Estimate>,
    /// The verdict.
    pub verdict: VerdictKind,
    /// Smallest margin of the hypotheses; NaN for a claim without any.
    pub margin: f64,
}

/// Judges every cell of a sweep over a claim from its rows, in the order of the cells. Returns nothing for another
/// plan.
///
/// # Errors
/// As [`for_each_summary`].
pub fn summarise(plan: &Plan, stored: &Stored) -> Result<Vec<CellSummary>> {
    let mut summaries = vec![];
    for_each_summary(plan, stored, |summary| {
        summaries.push(summary);
        Ok(())
    })?;
    Ok(summaries)
}

/// Number of cells that are judged at a time, on all threads.
const BLOCK: usize = 1 << 12;

/// Judges every cell of a sweep over a claim from its rows and calls `then` for each, in the order of the cells. It
/// holds a few thousand cells in memory. For another plan it calls nothing.
///
/// # Errors
/// Rows that cannot be read, are not of this sweep, or are too few for an interval; those of `then`.
pub fn for_each_summary(plan: &Plan, stored: &Stored, mut then: impl FnMut(CellSummary) -> Result<()>) -> Result<()> {
    let Some((claim, sweep)) = plan.claim() else { return Ok(()) };
    let mut block: Vec<(usize, Vec<Row>)> = vec![];
    let cells = plan.cells.len();
    stored.for_each_cell(cells, |place, rows| {
        block.push((place, rows.to_vec()));
        if block.len() < BLOCK && place + 1 < cells {
            return Ok(());
        }
        let judged: Vec<Result<CellSummary>> =
            block.par_drain(..).map(|(place, rows)| summary(plan, claim, sweep, place, &rows)).collect();
        judged.into_iter().try_for_each(|cell| then(cell?))
    })
}

fn summary(plan: &Plan, claim: &dyn Claim, sweep: &Sweep, place: usize, rows: &[Row]) -> Result<CellSummary> {
    let cell = plan.cells.get(place)?;
    let outcomes = rows.iter().map(outcome_of).collect::<Result<Vec<_>>>()?;
    let assessment = judged(claim, sweep, &cell.params, &outcomes)?;
    let sheet = claim.sheet();
    Ok(CellSummary {
        claim: sheet.id.clone(),
        cell: cell_name(plan.cells.keys()[place].hash),
        parameters: cell.shown,
        hypotheses: assessment.hypotheses,
        beyond_hypotheses: sweep.beyond.name(),
        kind: sheet.kind,
        trials: outcomes.len() as u64,
        budget: sweep.budget(),
        failures: assessment.failures,
        estimate: Some(assessment.estimate).filter(|_| assessment.informative > 0),
        verdict: assessment.verdict,
        expected: assessment.expected,
        witness: assessment.witness,
        p_value: assessment.p_value,
        informative: assessment.informative,
        uninformative: assessment.uninformative,
        seed: plan.manifest.seed,
        version: env!("CARGO_PKG_VERSION"),
        build: plan.manifest.builds().collect::<Vec<_>>().join(", "),
    })
}

/// Judges the outcomes of a cell.
fn judged(claim: &dyn Claim, sweep: &Sweep, params: &Params, outcomes: &[Outcome]) -> Result<Assessment> {
    let weighed = match sweep.stop {
        // The interval of a fixed number of trials is not valid after such stopping. A cell outside the hypotheses has no
        // trials under `beyond_hypotheses = "skip"`.
        Some(_) if !outcomes.is_empty() => {
            let sequence = Sequence::new(sweep.level)?;
            let interval = |held, trials| sequence.interval(held, trials);
            let judge = |outcomes: &[Outcome]| judge_events(claim, params, outcomes, &interval);
            evidence::weigh_with(claim, params, outcomes, &judge)?
        }
        _ => evidence::weigh(claim, params, outcomes, sweep.level)?,
    };
    Ok(assess(claim, params, outcomes, weighed, sweep.beyond == Beyond::Judge))
}

/// Writes `cells.jsonl` and `cells.csv` into `folder` and returns what maps show of the cells. For a plan that is
/// not a sweep over a claim it writes and returns nothing.
///
/// # Errors
/// As [`for_each_summary`], and when the files cannot be written; the rows are kept.
pub fn write_summary(plan: &Plan, stored: &Stored, folder: &Path) -> Result<Vec<CellMark>> {
    let mut marks = vec![];
    if plan.claim().is_none() {
        return Ok(marks);
    }
    let _owner = Store::share(folder, &plan.manifest)?;
    let [json, table] = SUMMARY.map(|name| folder.join(name));
    files::write_together([&json, &table], |[json, table]| {
        let mut table = csv::Writer::from_writer(table);
        for_each_summary(plan, stored, |cell| {
            serde_json::to_writer(&mut *json, &cell).map_err(|e| failed(SUMMARY[0], e.into()))?;
            json.write_all(b"\n").map_err(|e| failed(SUMMARY[0], e))?;
            let written = if marks.is_empty() { table.write_record(header(&cell)) } else { Ok(()) };
            written.and_then(|()| table.write_record(record(&cell))).map_err(|e| failed(SUMMARY[1], e.into()))?;
            marks.push(cell.mark());
            Ok(())
        })?;
        table.flush().map_err(|e| failed(SUMMARY[1], e))
    })?;
    Ok(marks)
}

fn failed(name: &str, e: io::Error) -> Error {
    Error::io(Path::new(name), e, "The rows are kept: make room and give the same command again")
}

fn header(cell: &CellSummary) -> Vec<String> {
    let results = "cell trials failures estimate low high level verdict expected budget informative p_value";
    cell.parameters.keys().map(|name| csv_cell(name)).chain(results.split(' ').map(String::from)).collect()
}

/// Returns the parameters of a cell, then its results.
fn record(cell: &CellSummary) -> Vec<String> {
    let number = |of: fn(&Estimate) -> f64| {
        cell.estimate.as_ref().map(of).filter(|x| !x.is_nan()).map_or(String::new(), |x| x.to_string())
    };
    let parameter = |value: &Value| match value {
        Value::String(text) => csv_cell(text),
        value => value.to_string(),
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
    cell.parameters.values().map(parameter).chain(results).collect()
}
