//! The experiments: rows do not depend on threads, figures hold what the rows say, wrong settings are named.

use attnlab_cluster::experiments::first::arcs;
use attnlab_cluster::experiments::trajectories::groups;
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::experiment::{self, Entry, Experiment, RunOptions};
use attnlab_lab::figure::{self, Figure};
use attnlab_lab::run::{Row, Silent};
use ndarray::array;
use std::path::Path;

fn entry(id: &str) -> Entry {
    let catalogue = Catalogue::new().with(attnlab_cluster::room());
    *catalogue.experiment(id).unwrap()
}

fn small(id: &str) -> Box<dyn Experiment> {
    let set = match id {
        "cluster_trajectories" => {
            "trials = 2\ncircle_tokens = 12\nsphere_tokens = 8\ncircle = [4.0]\nsphere = [4.0]\nuntil = 1e3\npoints = 9"
        }
        "cluster_pair" => "trials = 2\nbetas = [20.0]\nratios = [1.0, 3.0]\nduration_betas = [20.0, 100.0]",
        "cluster_long_context" => "trials = 2\ncontexts = [50, 200]\ngammas = [0.2, 2.0]\npairs = 20",
        _ => "trials = 2\ntokens = 60\nbetas = [2.0, 8.0]",
    };
    entry(id).configure(true, None, &set.parse().unwrap()).unwrap()
}

fn run(experiment: &dyn Experiment, out: &Path, threads: usize) -> Vec<Row> {
    let options = RunOptions { seed: 5, ..RunOptions::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let work = || experiment::run(experiment, out, &options, &Silent);
    pool.unwrap().install(work).unwrap().rows
}

#[test]
fn rows_and_figures_do_not_depend_on_how_they_were_made() {
    for id in ["cluster_trajectories", "cluster_pair", "cluster_long_context", "cluster_first"] {
        let experiment = small(id);
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = run(&*experiment, one.path(), 1);
        let second = run(&*experiment, two.path(), 2);
        assert!(first == second, "{id}: rows of 1 and 2 threads differ");
        let text = |figures: &[Figure]| -> String {
            let one = |f: &Figure| figure::svg(f).unwrap() + &figure::to_csv(f).unwrap();
            figures.iter().map(one).collect()
        };
        let figures = experiment.figures(&first).unwrap();
        assert!(text(&figures) == text(&experiment.figures(&second).unwrap()), "{id}: figures differ");
        for panel in figures.iter().flat_map(|f| &f.panels) {
            let points = panel.series.iter().map(|s| s.points.len()).sum::<usize>();
            assert!(points > 1, "{id}: {}", panel.title);
        }
        assert!(experiment.figures(&[]).is_err(), "{id}: no rows");
    }
}

#[test]
fn rows_say_what_the_theory_says() {
    let folder = tempfile::tempdir().unwrap();
    let rows = run(&*small("cluster_trajectories"), folder.path(), 2);
    for row in &rows {
        // Groups merge, and the energy of a gradient flow rises to that of one point.
        let energy = row.series("energy").unwrap();
        assert!(energy.windows(2).all(|w| w[1] >= w[0] - 1e-6), "{energy:?}");
        assert!(*energy.last().unwrap() <= 1.0 + 1e-12);
    }
    let folder = tempfile::tempdir().unwrap();
    for row in run(&*small("cluster_long_context"), folder.path(), 2) {
        let (own, gamma) = (row.number("own").unwrap(), row.parameter("gamma").unwrap());
        // Far below and far above the transition at 1.16.
        assert!(if gamma < 1.0 { own < 0.2 } else { own > 0.8 }, "{gamma}: {own}");
    }
}

#[test]
fn groups_and_arcs_are_counted() {
    let tokens = array![[1.0, 0.999, -1.0], [0.0, 0.0447, 0.0]];
    assert_eq!(groups(&tokens, 0.1).unwrap(), 2);
    assert_eq!(groups(&tokens, 0.01).unwrap(), 3);
    assert_eq!(arcs(vec![0.0, 0.1, 3.0], 0.5).len(), 2);
}

#[test]
fn wrong_settings_are_named() {
    for (id, set, message) in [
        ("cluster_trajectories", "until = 0.05", "until = 0.05: must be a finite number > 0.1"),
        ("cluster_trajectories", "trials = 1", "trials = 1"),
        ("cluster_pair", "angle = 4.0", "angle = 4: must be a number in (0, π)"),
        ("cluster_long_context", "rho = 1.0", "rho = 1: must be a number in (0, 1)"),
        ("cluster_first", "share = 1.5", "share = 1.5: must be a number in (0, 1]"),
    ] {
        let error = entry(id).configure(true, None, &set.parse().unwrap()).err();
        let said = error.map_or("accepted".into(), |e| e.to_string());
        assert!(said.contains(message), "{id} {set}: {said}");
    }
}
