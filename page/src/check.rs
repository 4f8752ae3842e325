//! Claims: the catalogue, and verdicts.

use crate::written;
use attnlab::cli;
use attnlab_core::error::Result;
use attnlab_core::params::Params;
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::report::{self, Checked};
use attnlab_lab::run::{CheckOptions, CheckReport, Progress, check};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A claim to check, with its settings: those of `attnlab check`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    id: String,
    #[serde(default)]
    set: Map<String, Value>,
    #[serde(default)]
    seed: u64,
    trials: Option<u64>,
    level: Option<f64>,
    #[serde(default)]
    beyond_hypotheses: bool,
    #[serde(default)]
    until_decided: bool,
}

/// A verdict.
#[derive(Serialize)]
pub struct Verdict {
    /// Report, as `attnlab check --json` prints it.
    report: CheckReport,
    /// Card of the verdict as HTML, as reports show it.
    card: String,
}

impl Request {
    /// Checks the claim.
    ///
    /// # Errors
    /// Those of [`check()`]; an unknown id.
    pub fn verdict(self, catalogue: &Catalogue, progress: &dyn Progress) -> Result<Verdict> {
        let claim = catalogue.claim(&self.id)?;
        let default = CheckOptions::default();
        let options = CheckOptions {
            seed: self.seed,
            trials: self.trials,
            level: self.level.unwrap_or(default.level),
            beyond_hypotheses: self.beyond_hypotheses,
            until_decided: self.until_decided,
            ..default
        };
        let report = check(&**claim, &self.set, &options, progress)?;
        let checked = Checked::here(claim, report);
        let card = report::card(&checked, &[]);
        Ok(Verdict { report: checked.report, card })
    }
}

/// Lists the rooms with their subjects and claims.
///
/// # Errors
/// A room whose claims cannot be listed.
pub fn rooms(catalogue: &Catalogue) -> Result<Value> {
    let room = |room: &attnlab_lab::catalogue::Room| -> Result<Value> {
        let claims = cli::listed(&Catalogue::new().with(room.clone()), "claims")?;
        let papers: Vec<_> = room.papers.iter().map(|paper| paper.title).collect();
        Ok(json!({ "name": room.name, "papers": papers, "subjects": room.subjects, "claims": claims }))
    };
    catalogue.rooms().iter().map(room).collect()
}

/// Returns what `attnlab show ID --json` prints; for a claim also title and statement as HTML and the estimated seconds
/// of a trial at its defaults.
///
/// # Errors
/// An unknown id.
pub fn shown(catalogue: &Catalogue, id: &str) -> Result<Value> {
    let mut card = cli::shown(catalogue, id)?;
    if let Ok(claim) = catalogue.claim(id) {
        let defaults = Params::resolve(&claim.schema(), &Map::new()).ok();
        card["seconds"] = written(&defaults.map(|p| claim.seconds(&p)))?;
        card["title_html"] = report::mathml(&claim.sheet().title).into();
        card["statement_html"] = report::mathml(&claim.sheet().statement).into();
    }
    Ok(card)
}
