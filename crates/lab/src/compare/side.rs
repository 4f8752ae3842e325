//! One side of a comparison: the verdicts of a folder.

use crate::catalogue::Catalogue;
use crate::claim::{Claim, Params, Promise, VerdictKind};
use crate::folder::{RunFolder, has_rows, no_rows};
use crate::report::{Found, VERDICTS, latest, restore};
use crate::run::CheckReport;
use crate::run::files::content;
use crate::run::store::{self, Manifest};
use crate::sweep::{self, CellSummary};
use attnlab_core::error::{Error, Result};
use attnlab_core::rng;
use attnlab_core::stats::Estimate;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Distance of a mean from the middle of its interval, relative to both, that rounding explains: a few ulps.
const OFF_CENTRE: f64 = 1e-12;

/// Kind of a folder of verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    /// Verdicts of `attnlab reproduce`.
    Verdicts,
    /// A sweep over a claim, with a verdict per cell.
    Sweep,
}

attnlab_core::named!(RunKind, "kind": Verdicts = "verdicts of attnlab reproduce", Sweep = "a sweep over a claim");

/// Quantity of an estimate, which decides how a difference is tested.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimated {
    /// Share of informative trials that hold.
    Share,
    /// Mean of the trials, with its Student interval.
    Mean,
    /// A value that a closed form brackets.
    Computed,
    /// An estimate of another kind, with its interval.
    Other,
}

/// A verdict of one side, with its estimate.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedItem {
    /// Claim, or claim and mutant: "aot.theorem1/rate".
    #[serde(skip)]
    pub name: String,
    /// Parameters of the trials.
    #[serde(skip)]
    pub parameters: Map<String, Value>,
    /// Build that computed the trials; None for several.
    pub build: Option<String>,
    /// Seed of the trials.
    pub seed: u64,
    /// Rule for the number of trials: "fixed", or the rule by which outcomes decided it.
    pub budget: String,
    /// Number of trials.
    pub trials: u64,
    /// Number of informative trials.
    pub informative: u64,
    /// Number of those that did not hold.
    pub failures: u64,
    /// The verdict.
    pub verdict: VerdictKind,
    /// The estimate; None without informative trials.
    pub estimate: Option<Estimate>,
    /// Quantity of the estimate.
    pub estimated: Estimated,
    /// Hash of verdict, estimate, counts, p-value and witness.
    #[serde(skip)]
    pub evidence: u64,
}

/// Rule of a number of trials that was chosen beforehand.
const FIXED: &str = "fixed";

impl JudgedItem {
    /// Returns `true` if the outcomes decided the number of trials.
    pub fn is_stopped(&self) -> bool {
        self.budget != FIXED
    }

    /// Returns `true` if the other verdict comes from the same computation: build, seed, trials, their rule and level.
    pub fn repeats(&self, other: &JudgedItem) -> bool {
        let level = |item: &JudgedItem| item.estimate.map(|e| e.level.to_bits());
        let of = |item: &JudgedItem| (item.build.clone(), item.seed, item.trials, item.budget.clone(), level(item));
        self.build.is_some() && of(self) == of(other)
    }

    /// Returns `true` if the estimates are the same to the bit.
    pub fn estimates_the_same(&self, other: &JudgedItem) -> bool {
        let bits = |e: Estimate| [e.value, e.low, e.high, e.level].map(f64::to_bits);
        self.estimate.map(bits) == other.estimate.map(bits)
    }

    /// Returns name and parameters, the latter in alphabetical order.
    pub(super) fn key(&self) -> (String, String) {
        let sorted: BTreeMap<_, _> = self.parameters.iter().collect();
        (self.name.clone(), json!(sorted).to_string())
    }
}

/// Finds the quantity that a claim estimates at these parameters.
fn estimated(claim: &dyn Claim, params: &Params, estimate: Option<Estimate>) -> Estimated {
    let centred = |e: Estimate| {
        let (middle, half) = (0.5 * (e.low + e.high), 0.5 * (e.high - e.low));
        (middle - e.value).abs() <= OFF_CENTRE * (half + e.value.abs())
    };
    match (estimate, claim.promise(params)) {
        (Some(e), _) if e.level >= 1.0 => Estimated::Computed,
        (Some(e), Promise::MeanIn(..)) if centred(e) => Estimated::Mean,
        _ if claim.counts_events(params) => Estimated::Share,
        _ => Estimated::Other,
    }
}

/// Verdicts of one folder.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedRun {
    /// The folder.
    pub path: String,
    /// Kind of the folder.
    pub kind: RunKind,
    /// Seed of the run.
    pub seed: u64,
    /// Builds that computed its rows.
    pub builds: Vec<String>,
    /// Messages about rows that were left out.
    pub notes: Vec<String>,
    /// The verdicts.
    #[serde(skip)]
    pub items: Vec<JudgedItem>,
}

impl JudgedRun {
    /// Reads the folder that the user has named as the argument `name`.
    ///
    /// # Errors
    /// A folder that holds neither verdicts nor a sweep over a claim, or no row yet; a sweep with missing trials; rows
    /// that are not of their run.
    pub fn read(name: &str, path: &Path, catalogue: &Catalogue) -> Result<JudgedRun> {
        let refused = |why: String| {
            let requirement = format!(
                "must be a folder of verdicts or of a sweep over a claim; {why}. Give a folder that `attnlab reproduce` \
                 or `attnlab sweep` wrote"
            );
            Error::invalid(name, path.display(), requirement)
        };
        let Some(manifest) = Manifest::read(path)? else {
            return Err(refused(match path.is_dir() {
                true => format!("it has no {}", Manifest::FILE),
                false => "there is no such folder".into(),
            }));
        };
        let kind = match manifest.id.as_str() {
            VERDICTS => RunKind::Verdicts,
            id if catalogue.claim(id).is_ok() => RunKind::Sweep,
            id => return Err(refused(format!("it holds a run of {id}"))),
        };
        if !has_rows(path)? {
            return Err(no_rows(path));
        }
        let (builds, name) = (manifest.builds().map(String::from).collect(), path.display().to_string());
        let mut run = JudgedRun { path: name, kind, seed: manifest.seed, builds, notes: vec![], items: vec![] };
        match kind {
            RunKind::Verdicts => run.verdicts(path, catalogue)?,
            RunKind::Sweep => run.cells(path, catalogue)?,
        }
        Ok(run)
    }

    fn note_dropped(&mut self, dropped: &[String]) {
        self.notes.extend(dropped.iter().map(|d| format!("warning: {d}")));
    }

    fn verdicts(&mut self, path: &Path, catalogue: &Catalogue) -> Result<()> {
        let stored = store::read(path)?;
        self.note_dropped(&stored.dropped);
        for row in latest(&stored.rows) {
            match restore(row, catalogue).and_then(|verdict| of_verdict(&verdict)) {
                Ok(item) => self.items.push(item),
                // A verdict of another version does not keep the others out of the comparison.
                Err(e) => self.notes.push(format!("warning: left out: {e}")),
            }
        }
        Ok(())
    }

    fn cells(&mut self, path: &Path, catalogue: &Catalogue) -> Result<()> {
        let run = RunFolder::open(path, catalogue)?;
        self.note_dropped(&run.dropped);
        let missing = run.missing()?;
        if missing.absent > 0 {
            let problem = format!(
                "{} of {} trials are missing. Give the command that began the run again, it continues",
                missing.absent, missing.wanted
            );
            return Err(content(path, problem));
        }
        let Some((claim, _)) = run.plan.claim() else { return Ok(()) };
        let build = self.builds.first().filter(|_| self.builds.len() == 1).cloned();
        // The summaries come in the order of the cells.
        let mut places = 0..run.plan.cells.len();
        sweep::for_each_summary(&run.plan, &run.stored, |cell| {
            let Some(place) = places.next() else { return Ok(()) };
            let params = run.plan.cells.get(place)?.params;
            let CellSummary { verdict, estimate, trials, failures, uninformative, p_value, witness, .. } = &cell;
            let evidence = json!([verdict, estimate, trials, failures, uninformative, p_value, witness]);
            self.items.push(JudgedItem {
                name: cell.claim,
                parameters: cell.parameters,
                build: build.clone(),
                seed: cell.seed,
                budget: cell.budget,
                trials: cell.trials,
                informative: cell.informative,
                failures: cell.failures,
                verdict: cell.verdict,
                estimate: cell.estimate,
                estimated: estimated(claim, &params, cell.estimate),
                evidence: rng::hash(evidence.to_string().as_bytes()),
            });
            Ok(())
        })
    }
}

fn of_verdict(verdict: &Found) -> Result<JudgedItem> {
    let (name, checked) = match verdict {
        Found::Claim(checked) => (checked.report.claim.clone(), checked),
        Found::Mutant(mutant) => (format!("{}/{}", mutant.claim, mutant.name), &mutant.first),
    };
    let report = &checked.report;
    let params = Params::resolve(&checked.claim.schema(), &report.parameters)?;
    let estimate = Some(report.estimate).filter(|_| report.informative > 0);
    let CheckReport { verdict, trials, failures, uninformative, p_value, witness, .. } = report;
    let evidence = json!([verdict, estimate, trials, failures, uninformative, p_value, witness]);
    Ok(JudgedItem {
        name,
        parameters: report.parameters.clone(),
        build: Some(checked.origin.version.clone()),
        seed: report.seed,
        budget: report.stopping().unwrap_or_else(|| FIXED.into()),
        trials: report.trials,
        informative: report.informative,
        failures: report.failures,
        verdict: report.verdict,
        estimate,
        estimated: estimated(&*checked.claim, &params, estimate),
        evidence: rng::hash(evidence.to_string().as_bytes()),
    })
}
