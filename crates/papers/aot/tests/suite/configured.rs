//! Experiments that train, at small settings.

use crate::catalogue;
use attnlab_core::error::Result;
use attnlab_lab::experiment::{self, Experiment, RunOptions, RunReport};
use attnlab_lab::run::Silent;
use std::path::Path;

/// The experiment at the settings `defaults`, with `more` in place of those of the same name.
pub fn configured(experiment: &str, defaults: &[&str], more: &[&str]) -> Result<Box<dyn Experiment>> {
    let name = |set: &str| set.split(" =").next().unwrap_or_default().to_string();
    let replaced = |set: &&&str| more.iter().any(|other| name(other) == name(set));
    let others = defaults.iter().filter(|set| !replaced(set));
    let sets: Vec<&str> = others.chain(more).copied().collect();
    catalogue().experiment(experiment)?.configure(true, None, &sets.join("\n").parse().unwrap())
}

pub fn complete(experiment: &dyn Experiment, out: &Path) -> RunReport {
    experiment::run(experiment, out, &RunOptions::default(), &Silent).unwrap()
}
