//! The maps: rows that do not depend on how they were run, figures from rows alone, marks where the
//! interval leaves a cell open, and closed forms against draws.

use crate::catalogue;
use attnlab_aot::rare_event::RareBreaks;
use attnlab_aot::theory::{Horizon, softmax, threshold};
use attnlab_core::rng::Streams;
use attnlab_core::stats::{binomial, mean};
use attnlab_lab::experiment::{self, Experiment, RunOptions};
use attnlab_lab::figure::{Cell, Heat, to_csv};
use attnlab_lab::run::{Row, Silent};
use attnlab_lab::sheet_test::assert_reproducible;

fn configured(name: &str, set: &str) -> Box<dyn Experiment> {
    catalogue().experiment(name).unwrap().configure(false, None, &set.parse().unwrap()).unwrap()
}

/// Settings of a second or two at most, for every map.
fn small(id: &str) -> Box<dyn Experiment> {
    let set = match id {
        "theorem1_map" => {
            "trials = 6\ntokens = [60]\ndim = [8, 24, 72]\ndelta = [0.01, 0.08, 0.6]\nlayers = 4\n\
             rate_tokens = [200, 400, 800]\nrate_reach = [0.5, 0.7]\nrate_draws = 4"
        }
        "horizon_map" => {
            "trials = 6\ndim = 40\nbase_tokens = 80\nnoise_length = [0.2, 0.6]\ntokens = [40, 80]\n\
             clusters = [2, 4]\ntau = [0.55, 0.9]"
        }
        "phi_map" => "trials = 3\nlayers = 2\ntokens = 80\ndim = [8, 30]\ndelta = [0.03, 0.3]",
        _ => {
            "trials = 3\nlayers = 12\ntokens = 80\ndim = 30\ncoherence = [0.001, 0.1]\n\
             noise = [0.05, 0.2]\nambient = [60, 400]"
        }
    };
    configured(id, set)
}

const SEED: u64 = 5;

fn run(experiment: &dyn Experiment) -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    let options = RunOptions { seed: SEED, ..RunOptions::default() };
    experiment::run(experiment, folder.path(), &options, &Silent).unwrap().rows
}

fn heats(experiment: &dyn Experiment, rows: &[Row]) -> Vec<Heat> {
    experiment.figures(rows).unwrap().into_iter().flat_map(|f| f.panels).filter_map(|p| p.heat).collect()
}

fn cells(heat: &Heat) -> impl Iterator<Item = &Cell> {
    heat.cells.iter().flatten()
}

#[test]
fn rows_and_figures_do_not_depend_on_how_they_were_made() {
    for id in ["theorem1_map", "horizon_map", "phi_map", "coherence_map"] {
        let experiment = small(id);
        let (_, figures) = assert_reproducible(&*experiment, SEED, tempfile::tempdir().unwrap().path());
        let error = experiment.figures(&[]).unwrap_err().to_string();
        assert!(error.contains("Run the experiment first"), "{id}: {error}");
        // Every number of the maps is in the tables.
        let table: String = figures.iter().map(|figure| to_csv(figure).unwrap()).collect();
        let heats = figures.iter().flat_map(|f| &f.panels).filter_map(|p| p.heat.as_ref());
        for cell in heats.flat_map(cells) {
            assert!(table.contains(&format!(",{},", cell.value)), "{id}: {cell:?}");
        }
    }
}

/// The probability of the first map counted by hand, and hatching exactly where its exact interval holds 1/2.
#[test]
fn open_cells_are_hatched() {
    let experiment = small("theorem1_map");
    let rows = run(&*experiment);
    let maps = heats(&*experiment, &rows);
    assert_eq!(maps.len(), 2);
    let rate = 1.275_f64;
    let (mut open, mut decided) = (0, 0);
    for (map, theta) in maps.iter().zip([1.0, rate.powi(3)]) {
        for (j, delta) in map.y.iter().enumerate() {
            for (i, dim) in map.x.iter().enumerate() {
                let of_cell = |row: &&Row| {
                    row.word("group").unwrap() == "map"
                        && row.parameter("dim").unwrap() == *dim
                        && row.parameter("delta").unwrap() == *delta
                };
                let thetas = rows.iter().filter(of_cell).map(|r| r.number("theta").unwrap());
                let held = thetas.filter(|t| *t > theta).count() as u64;
                let exact = binomial(held, 6, 0.95).unwrap();
                let cell = map.cells[j][i];
                assert_eq!(cell.value, exact.value);
                assert_eq!(cell.interval, Some((exact.low, exact.high)));
                assert_eq!(cell.hatched, exact.covers(0.5));
                open += usize::from(cell.hatched);
                decided += usize::from(!cell.hatched);
            }
        }
    }
    assert!(open > 0 && decided > 4, "{open} {decided}");
}

/// Without coherence the network keeps as many updates as the horizon of orthonormal bases says, and
/// much coherence leaves none.
#[test]
fn coherence_ends_the_rate_where_the_law_says() {
    let set = "trials = 8\ntokens = 120\ndim = 40\ncoherence = [0.0001, 0.03, 0.5]\nnoise = [0.1]\nambient = [80]";
    let experiment = configured("coherence_map", set);
    let rows = run(&*experiment);
    let map = &heats(&*experiment, &rows)[0];
    let delta = 0.1 * (120_f64.ln() / 40.0).sqrt();
    let orthonormal = Horizon::new(120, 2, 40, delta, 0.55).unwrap();
    let expected = orthonormal.exact_updates(0.5, 0.5).unwrap() as f64;
    let depths: Vec<f64> = map.cells[0].iter().map(|c| c.value).collect();
    assert!((depths[0] - expected).abs() <= 1.0, "{depths:?} {expected}");
    assert!(depths[0] > depths[1] && depths[1] > depths[2] && depths[2] == 0.0, "{depths:?}");
}

/// The gain of the first layer, drawn, against both closed forms.
#[test]
fn first_layers_gain_what_the_closed_forms_say() {
    let set = "trials = 6\nlayers = 1\ntokens = 800\nclusters = 2\ndim = [60]\ndelta = [0.03, 0.1]";
    let rows = run(&*configured("phi_map", set));
    // The geometric mean of six draws, each of which spreads by 3 % at most.
    for cell in rows.chunks(6) {
        let delta = cell[0].parameter("delta").unwrap();
        let drawn = |phi: &str| {
            let log = |row: &Row| row.series(phi).unwrap()[0].ln();
            (cell.iter().map(log).sum::<f64>() / 6.0).exp()
        };
        let hard = threshold::first_layer([800, 2, 60], delta, 0.5, 0.55).unwrap();
        assert!((drawn("hard-threshold") / hard - 1.0).abs() < 0.03, "{delta} {hard}");
        let soft = softmax::first_layer(800, 2, 60, delta, 0.5);
        assert!((drawn("softmax") / soft - 1.0).abs() < 0.03, "{delta} {soft}");
    }
}

#[test]
fn a_mean_of_rare_events_is_that_of_its_draws() {
    let breaks = RareBreaks { tokens: 2000, clusters: 2, dim: 100, delta: 0.03, tau: 0.55 };
    let streams = |trial| Streams::new(3, "tests.maps", 0, trial);
    assert_eq!(breaks.mean(1, 4.0, &streams(0)).unwrap(), breaks.draw(4.0, &streams(0)).unwrap());
    let means: Vec<f64> = (0..30).map(|t| breaks.mean(20, 4.0, &streams(t)).unwrap()).collect();
    let law = Horizon::new(2000, 2, 100, 0.03, 0.55).unwrap().lambda(4.0);
    let estimate = mean(&means, 0.999).unwrap();
    // The law is right to 0.8 % (theory::horizon).
    assert!(estimate.low < 1.01 * law && estimate.high > 0.99 * law, "{estimate:?} {law}");
    assert!(breaks.mean(0, 4.0, &streams(0)).is_err());
}
