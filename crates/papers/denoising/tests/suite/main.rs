//! Tests of in-context denoising.

mod experiments;
mod laws;
mod scales;
mod settings;
mod training;
mod witnesses;

use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::experiment::{self, Experiment, RunOptions};
use attnlab_lab::run::{Row, Silent};

/// This room alone.
fn catalogue() -> Catalogue {
    Catalogue::new().with(attnlab_denoising::room())
}

fn configured(id: &str, quick: bool, set: &str) -> Box<dyn Experiment> {
    catalogue().experiment(id).unwrap().configure(quick, None, &set.parse().unwrap()).unwrap()
}

/// Runs an experiment in a folder of its own.
fn rows_of(experiment: &dyn Experiment) -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    experiment::run(experiment, folder.path(), &RunOptions::default(), &Silent).unwrap().rows
}

#[test]
fn sheets_claims_and_parameters_fit_together() {
    attnlab_denoising::room().validate().unwrap();
}
