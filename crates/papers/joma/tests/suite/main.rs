//! Tests of this room against independent values, by its public interface.

mod closed_forms;
mod experiments;
mod layer;
mod network;
mod scope;
mod statements;
mod trained;
mod weights;
mod witnesses;

use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::experiment::{self, RunOptions};
use attnlab_lab::figure::Figure;
use attnlab_lab::run::{Row, Silent};
use attnlab_lab::sheet_test::{ClaimTest, SheetTest};

/// This room alone.
fn catalogue() -> Catalogue {
    Catalogue::new().with(attnlab_joma::room())
}

fn claim(id: &str) -> ClaimTest {
    SheetTest::new(attnlab_joma::room()).claim(id)
}

/// Runs an experiment in a folder of its own; returns its rows and figures.
fn ran(id: &str, set: &str) -> (Vec<Row>, Vec<Figure>) {
    let experiment = catalogue().experiment(id).unwrap().configure(true, None, &set.parse().unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let rows = experiment::run(&*experiment, folder.path(), &RunOptions::default(), &Silent).unwrap().rows;
    let figures = experiment.figures(&rows).unwrap();
    (rows, figures)
}

#[test]
fn sheets_claims_and_parameters_fit_together() {
    attnlab_joma::room().validate().unwrap();
}
