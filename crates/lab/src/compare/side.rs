//! One side of a comparison, from a folder of runs or a file of verdicts.

use super::item::{Item, Judged, Measure};
use crate::audit;
use crate::catalogue::Catalogue;
use crate::claim::VerdictKind;
use crate::folder::{RunFolder, has_rows, no_rows, runs_below};
use crate::report::{Found, VERDICTS, latest, restore};
use crate::run::Row;
use crate::run::store::{self, Manifest, as_number};
use crate::sweep;
use attnlab_core::error::{Error, Result};
use attnlab_core::rng;
use attnlab_core::stats::{Estimate, SampleMean, mean};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Largest file of verdicts (bytes) that is read.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Level of the intervals of numbers of experiments.
const LEVEL: f64 = 0.95;

/// One side of a comparison.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Side {
    /// The folder or file.
    pub path: String,
    /// Builds that computed the rows.
    pub builds: BTreeSet<String>,
    /// Seeds of the runs.
    pub seeds: BTreeSet<u64>,
    /// Messages about what was left out.
    pub notes: Vec<String>,
    /// Items of the comparison.
    #[serde(skip)]
    pub items: Vec<Item>,
    /// Hashes of the rows of each run.
    #[serde(skip)]
    pub(super) digests: BTreeSet<u64>,
}

impl Side {
    /// Reads a folder of runs, or a file of lines of `attnlab check --json`.
    ///
    /// # Errors
    /// A path that cannot be read, a folder without a run, a line that is no verdict, rows that are not of their run.
    pub fn read(path: &Path, catalogue: &Catalogue) -> Result<Side> {
        let mut side = Side { path: path.display().to_string(), ..Side::default() };
        let advice = "Give a folder of runs, or a file that `attnlab check --json` wrote";
        let found = std::fs::metadata(path).map_err(|e| Error::io(path, e, advice))?;
        if found.is_dir() {
            for (folder, manifest) in runs_below(path)? {
                side.folder(&folder, &manifest, catalogue)?;
            }
        } else {
            side.file(path, catalogue)?;
        }
        Ok(side)
    }

    /// Returns `true` if both sides hold the same rows, byte for byte, and any at all.
    pub(super) fn is_equal_to(&self, other: &Side) -> bool {
        !self.digests.is_empty() && self.digests == other.digests
    }

    fn folder(&mut self, folder: &Path, manifest: &Manifest, catalogue: &Catalogue) -> Result<()> {
        if manifest.id == audit::ID {
            let note = format!("note: {}: audits are not compared", folder.display());
            self.notes.push(note);
            return Ok(());
        }
        if !has_rows(folder)? {
            self.notes.push(format!("warning: left out: {}", no_rows(folder)));
            return Ok(());
        }
        self.seeds.insert(manifest.seed);
        self.builds.extend(manifest.builds().map(String::from));
        if manifest.id == VERDICTS {
            return self.verdicts(folder, catalogue);
        }
        let run = RunFolder::open(folder, catalogue)?;
        let missing = run.missing()?;
        if missing.absent > 0 {
            self.notes.push(format!(
                "warning: {}: {} of {} trials are missing",
                folder.display(),
                missing.absent,
                missing.wanted
            ));
        }
        let mut digest = vec![];
        run.stored.for_each(|row| {
            digest.push(hash(row, &row.data));
            Ok(())
        })?;
        self.digest(&digest);
        match run.plan.claim() {
            Some(_) => self.cells(&run, catalogue),
            None => self.numbers(&run),
        }
    }

    fn digest(&mut self, rows: &[u64]) {
        let bytes: Vec<u8> = rows.iter().flat_map(|h| h.to_le_bytes()).collect();
        self.digests.insert(rng::hash(&bytes));
    }

    /// Adds the verdicts of a run of `attnlab reproduce`.
    fn verdicts(&mut self, folder: &Path, catalogue: &Catalogue) -> Result<()> {
        let found = store::read(folder)?;
        self.notes.extend(found.dropped.iter().map(|d| format!("warning: {d}")));
        let mut digest = vec![];
        for row in latest(&found.rows) {
            let mut data = row.data.clone();
            // Time and machine differ between equal runs.
            data.retain(|name, _| !["wall_s", "machine"].contains(&name.as_str()));
            digest.push(hash(row, &data));
            match restore(row, catalogue) {
                Ok(verdict) => self.items.push(of_verdict(&verdict, catalogue)),
                Err(e) => self.notes.push(format!("warning: left out: {e}")),
            }
        }
        digest.sort_unstable();
        self.digest(&digest);
        Ok(())
    }

    /// Adds the cells of a sweep over a claim.
    fn cells(&mut self, run: &RunFolder, catalogue: &Catalogue) -> Result<()> {
        sweep::for_each_summary(&run.plan, &run.stored, |cell| {
            let judged = cell.estimate.map(|estimate| Judged {
                claim: &cell.claim,
                parameters: &cell.parameters,
                estimate,
                informative: cell.informative,
                failures: cell.failures,
            });
            let measure = judged.map_or(Measure::Single, |j| j.measure(catalogue));
            self.items.push(Item {
                name: cell.claim.clone(),
                parameters: cell.parameters,
                single: false,
                seed: cell.seed,
                verdict: Some(cell.verdict),
                estimate: cell.estimate,
                measure,
            });
            Ok(())
        })
    }

    /// Adds the numbers of an experiment: each name of its rows in each cell, series by their means.
    fn numbers(&mut self, run: &RunFolder) -> Result<()> {
        run.stored.for_each_cell(run.plan.cells.len(), |_, rows| {
            let Some(first) = rows.first() else {
                return Ok(());
            };
            let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
            for row in rows {
                for (name, value) in &row.data {
                    if let Some((name, x)) = number_of(name, value) {
                        values.entry(name).or_default().push(x);
                    }
                }
            }
            for (name, values) in values {
                let (estimate, measure) = summarised(&values);
                self.items.push(Item {
                    name: format!("{}: {name}", first.id),
                    parameters: first.parameters.clone(),
                    single: false,
                    seed: first.seed,
                    verdict: None,
                    estimate: Some(estimate),
                    measure,
                });
            }
            Ok(())
        })
    }

    /// Adds the lines of a file.
    fn file(&mut self, path: &Path, catalogue: &Catalogue) -> Result<()> {
        let unreadable = |e| Error::io(path, e, "Give a file that `attnlab check --json` wrote");
        let file = File::open(path).map_err(unreadable)?;
        let mut digest = vec![];
        let mut reader = BufReader::new(file.take(MAX_FILE_BYTES + 1));
        let (mut number, mut bytes, mut line) = (0, 0, vec![]);
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line).map_err(unreadable)?;
            if read == 0 {
                break;
            }
            (number, bytes) = (number + 1, bytes + read as u64);
            let wrong = |problem: String| Error::Content {
                path: path.to_path_buf(),
                problem: format!(
                    "line {number}: {problem}. Give a folder of runs, or a file that `attnlab check --json` wrote"
                ),
            };
            if bytes > MAX_FILE_BYTES {
                let most = MAX_FILE_BYTES >> 20;
                return Err(wrong(format!("must lie within the first {most} MB")));
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let not_one = |e| wrong(format!("must be a verdict as JSON ({e})"));
            let mut fields: Map<String, Value> = serde_json::from_slice(&line).map_err(not_one)?;
            let saved: Saved = serde_json::from_value(Value::Object(fields.clone())).map_err(not_one)?;
            fields.retain(|name, _| !["wall_s", "version"].contains(&name.as_str()));
            digest.push(rng::hash(Value::Object(fields).to_string().as_bytes()));
            self.seeds.insert(saved.seed);
            self.builds.extend(saved.version.clone());
            self.items.push(saved.item(catalogue));
        }
        if digest.is_empty() {
            return Err(Error::Content {
                path: path.to_path_buf(),
                problem: "it is empty. Give a file that `attnlab check --json` wrote".into(),
            });
        }
        self.digest(&digest);
        Ok(())
    }
}

/// Hashes a row without its build.
fn hash(row: &Row, data: &Map<String, Value>) -> u64 {
    let text = serde_json::json!([row.id, row.seed, row.cell, row.trial, row.parameters, data]);
    rng::hash(text.to_string().as_bytes())
}

fn of_verdict(found: &Found, catalogue: &Catalogue) -> Item {
    let report = found.report();
    let name = match found {
        Found::Claim(_) => report.claim.clone(),
        Found::Mutant(mutant) => format!("{}/{}", mutant.claim, mutant.name),
    };
    let judged = Judged {
        claim: &report.claim,
        parameters: &report.parameters,
        estimate: report.estimate,
        informative: report.informative,
        failures: report.failures,
    };
    Item {
        name,
        parameters: report.parameters.clone(),
        single: true,
        seed: report.seed,
        verdict: Some(report.verdict),
        estimate: Some(report.estimate),
        measure: judged.measure(catalogue),
    }
}

/// Returns a number of a row; of a series the mean, under the name "mean of NAME".
fn number_of(name: &str, value: &Value) -> Option<(String, f64)> {
    match value {
        Value::Bool(yes) => Some((name.to_string(), f64::from(u8::from(*yes)))),
        Value::Array(series) => {
            let numbers: Option<Vec<f64>> = series.iter().map(as_number).collect();
            let numbers = numbers.filter(|n| !n.is_empty())?;
            let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
            Some((format!("mean of {name}"), mean))
        }
        value => Some((name.to_string(), as_number(value)?)),
    }
}

/// Summarises the values of the trials of one cell.
fn summarised(values: &[f64]) -> (Estimate, Measure) {
    let single = |value: f64| Estimate { value, low: value, high: value, level: LEVEL };
    match (mean(values, LEVEL), SampleMean::of(values)) {
        (Ok(estimate), Ok(sample)) if estimate.value.is_finite() => {
            let (error, trials) = (sample.error, sample.count);
            (estimate, Measure::Mean { error, trials })
        }
        (Ok(estimate), _) => (single(estimate.value), Measure::Single),
        _ => (single(values.first().copied().unwrap_or(f64::NAN)), Measure::Single),
    }
}

/// Line of `attnlab check --json` or of `cells.jsonl`, as far as it is compared.
#[derive(Deserialize)]
struct Saved {
    claim: String,
    mutant: Option<String>,
    parameters: Map<String, Value>,
    failures: u64,
    informative: u64,
    estimate: Option<SavedEstimate>,
    verdict: VerdictKind,
    seed: u64,
    version: Option<String>,
    /// Id of the cell, for a line of a sweep.
    cell: Option<String>,
}

/// Estimate in JSON, where numbers that it lacks are null.
#[derive(Clone, Copy, Deserialize)]
struct SavedEstimate {
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    level: f64,
}

impl Saved {
    fn item(self, catalogue: &Catalogue) -> Item {
        let known = |x: Option<f64>| x.unwrap_or(f64::NAN);
        let estimate = self.estimate.map(|e| Estimate {
            value: known(e.value),
            low: known(e.low),
            high: known(e.high),
            level: e.level,
        });
        let judged = estimate.map(|estimate| Judged {
            claim: &self.claim,
            parameters: &self.parameters,
            estimate,
            informative: self.informative,
            failures: self.failures,
        });
        let measure = judged.map_or(Measure::Single, |j| j.measure(catalogue));
        let name = match &self.mutant {
            Some(mutant) => format!("{}/{mutant}", self.claim),
            None => self.claim.clone(),
        };
        Item {
            name,
            parameters: self.parameters,
            single: self.cell.is_none(),
            seed: self.seed,
            verdict: Some(self.verdict),
            estimate,
            measure,
        }
    }
}
