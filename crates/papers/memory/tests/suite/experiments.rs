//! The experiment: rows do not depend on threads, and say what the theory says.

use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::experiment::{self, Entry, RunOptions};
use attnlab_lab::figure;
use attnlab_lab::run::{Row, Silent};
use std::path::Path;

fn entry() -> Entry {
    let catalogue = Catalogue::new().with(attnlab_memory::room());
    *catalogue.experiment("memory_slack").unwrap()
}

fn run(out: &Path, threads: usize) -> Vec<Row> {
    let small = "trials = 3\ndims = [4]\nheats = [0.02, 0.9, 2.0, 8.0]\nmost = 40";
    let experiment = entry().configure(true, None, &small.parse().unwrap()).unwrap();
    let options = RunOptions { seed: 5, ..RunOptions::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let work = || experiment::run(&*experiment, out, &options, &Silent);
    let rows = pool.unwrap().install(work).unwrap().rows;
    let figures = experiment.figures(&rows).unwrap();
    assert_eq!(figures.len(), 1);
    assert!(figure::svg(&figures[0]).unwrap().contains("promised"));
    assert!(experiment.figures(&[]).is_err());
    rows
}

#[test]
fn contractions_store_one_pattern_and_cold_memories_many() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let rows = run(one.path(), 1);
    assert!(rows == run(two.path(), 2));
    for row in &rows {
        let (beta, stored) = (row.parameter("beta").unwrap(), row.number("stored").unwrap());
        match beta < 1.0 {
            true => assert_eq!((stored, row.number("lost").unwrap()), (1.0, 2.0)),
            false => assert!(stored >= 1.0 || stored.is_nan()),
        }
    }
    let at = |beta: f64| {
        let own = rows.iter().filter(|r| r.parameter("beta").unwrap() == beta);
        own.map(|r| r.number("stored").unwrap()).fold(0.0, f64::max)
    };
    assert!(at(8.0) > at(2.0), "{} {}", at(8.0), at(2.0));
}

#[test]
fn wrong_settings_are_named() {
    for (set, message) in
        [("most = 1", "most = 1"), ("dims = [1]", "dims"), ("heats = [0.0]", "heats"), ("p = 0.0", "p")]
    {
        let error = entry().configure(true, None, &set.parse().unwrap()).err();
        let said = error.map_or("accepted".into(), |e| e.to_string());
        assert!(said.contains(message), "{set}: {said}");
    }
}
