//! Rows survive kills, resume, and never mix; figures and tables say what the rows say.

use crate::sweeps::with_threads;
use attnlab::experiment::{self, Experiment, RunOptions};
use attnlab::figure::{self, Axis, Cell, Figure, Heat, Panel, Point, Series};
use attnlab::run::Silent;
use attnlab::run::store::{Manifest, Opening, Row, Store, read};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;

/// A run of a second at most.
fn small(id: &str) -> Box<dyn Experiment> {
    let set = match id {
        "snr_per_layer" => {
            "trials = 3\ntokens = 40\ndim = 12\nlayers = 3\nfigure4_tokens = 20\n\
             figure4_clusters = 2\nfigure4_dim = 6\nphi = [\"softmax\"]"
        }
        _ => "trials = 2\ntokens = [40, 80]\ndim = 16\nnoise = [0.1, 0.2]",
    };
    crate::common::experiment(id).configure(false, None, &set.parse().unwrap()).unwrap()
}

fn run(experiment: &dyn Experiment, out: &Path, seed: u64) -> attnlab::Result<Vec<Row>> {
    experiment::run(experiment, out, &RunOptions { seed, ..RunOptions::default() }, &Silent).map(|report| report.rows)
}

#[test]
fn rows_do_not_depend_on_threads_kills_or_order() {
    for id in ["snr_per_layer", "theorem1_horizon"] {
        let experiment = small(id);
        let (serial, parallel) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        with_threads(1, || run(&*experiment, serial.path(), 3)).unwrap();
        with_threads(2, || run(&*experiment, parallel.path(), 3)).unwrap();
        let file = |folder: &Path| fs::read(folder.join("rows.jsonl")).unwrap();
        let whole = file(serial.path());
        assert_eq!(whole, file(parallel.path()), "{id}: 1 and 2 threads");

        // Killed anywhere, in the middle of a line too.
        for cut in [0, 1, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
            fs::write(parallel.path().join("rows.jsonl"), &whole[..cut]).unwrap();
            run(&*experiment, parallel.path(), 3).unwrap();
            assert_eq!(whole, file(parallel.path()), "{id}: resumed after {cut} bytes");
        }
        let other = tempfile::tempdir().unwrap();
        run(&*experiment, other.path(), 4).unwrap();
        assert_ne!(whole, file(other.path()));
    }
}

fn manifest() -> Manifest {
    Manifest::new("demo", 1, json!({ "trials": 4 }).as_object().cloned().unwrap())
}

fn demo_rows(numbers: &[f64]) -> Vec<Row> {
    let data = |x: &f64| {
        let x = attnlab::run::store::number(*x);
        json!({ "x": x, "text": "å\n{\"" }).as_object().cloned().unwrap()
    };
    let row = |(t, x): (usize, &f64)| Row::new(&manifest(), 7, t as u64, Map::new(), data(x));
    numbers.iter().enumerate().map(row).collect()
}

proptest! {
    #[test]
    fn a_torn_file_loses_its_last_line_and_nothing_else(
        numbers in prop::collection::vec(any::<f64>(), 1..6),
        share in 0.0..1.0_f64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let rows = demo_rows(&numbers);
        let store = Store::open(folder.path(), &manifest(), &Opening::default()).unwrap();
        rows.iter().for_each(|row| store.append(row).unwrap());
        drop(store);
        let path = folder.path().join("rows.jsonl");
        let whole = fs::read(&path).unwrap();
        let cut = (share * whole.len() as f64) as usize;
        fs::write(&path, &whole[..cut]).unwrap();
        let whole_lines = whole[..cut].iter().filter(|b| **b == b'\n').count();

        // Reading alone changes nothing.
        prop_assert_eq!(read(folder.path()).unwrap().rows.len(), whole_lines);
        prop_assert_eq!(fs::read(&path).unwrap(), &whole[..cut]);
        // Opening cuts; what is appended then starts a line of its own.
        let store = Store::open(folder.path(), &manifest(), &Opening::default()).unwrap();
        prop_assert_eq!(store.notes().len(), usize::from(cut > 0 && whole[cut - 1] != b'\n'));
        for row in &rows {
            if !store.holds(7, row.trial) {
                store.append(row).unwrap();
            }
        }
        prop_assert_eq!(fs::read(&path).unwrap(), whole);
        // Numbers come back to the bit.
        for (row, x) in read(folder.path()).unwrap().rows.iter().zip(&numbers) {
            let back = row.number("x").unwrap();
            prop_assert!(back.to_bits() == x.to_bits() || (back.is_nan() && x.is_nan()));
        }
    }
}

#[test]
fn rows_of_another_run_are_refused_and_kept() {
    let experiment = small("theorem1_horizon");
    let folder = tempfile::tempdir().unwrap();
    run(&*experiment, folder.path(), 0).unwrap();
    let before = fs::read(folder.path().join("rows.jsonl")).unwrap();

    let seed = run(&*experiment, folder.path(), 1).unwrap_err().to_string();
    assert!(seed.contains("seed = 0") && seed.contains("seed = 1"), "{seed}");
    assert!(seed.contains("--force") && seed.contains("--out"), "{seed}");
    let other = run(&*small("snr_per_layer"), folder.path(), 0).unwrap_err().to_string();
    assert!(other.contains("rows of theorem1_horizon, not of snr_per_layer"), "{other}");
    let entry = crate::common::experiment("theorem1_horizon");
    let set = "trials = 2\ntokens = [40, 80]\ndim = 17\nnoise = [0.1, 0.2]".parse().unwrap();
    let settings = run(&*entry.configure(false, None, &set).unwrap(), folder.path(), 0).unwrap_err().to_string();
    assert!(settings.contains("dim = 16") && settings.contains("dim = 17"), "{settings}");
    assert_eq!(before, fs::read(folder.path().join("rows.jsonl")).unwrap());

    let options = RunOptions { seed: 1, force: true, ..RunOptions::default() };
    let report = experiment::run(&*experiment, folder.path(), &options, &Silent).unwrap();
    assert!(report.resumed == 0 && report.rows.iter().all(|r| r.seed == 1));
    assert_eq!(read(folder.path()).unwrap().rows, report.rows);
}

#[test]
fn damaged_files_and_unusable_folders_are_named() {
    let experiment = small("theorem1_horizon");
    let folder = tempfile::tempdir().unwrap();
    run(&*experiment, folder.path(), 0).unwrap();
    let path = folder.path().join("rows.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let damaged = text.replacen("\"trial\":1", "\"trial\":one", 1);
    fs::write(&path, &damaged).unwrap();
    let error = run(&*experiment, folder.path(), 0).unwrap_err().to_string();
    assert!(error.contains("rows.jsonl") && error.contains("line 2"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), damaged);

    // Two rows for one trial that differ come from different runs.
    let first = text.lines().next().unwrap();
    fs::write(&path, format!("{text}{}\n", first.replace("\"updates\":", "\"updates\":1"))).unwrap();
    let error = run(&*experiment, folder.path(), 0).unwrap_err().to_string();
    assert!(error.contains("two different rows"), "{error}");

    // A file where the folder should be.
    let error = run(&*experiment, &path, 0).unwrap_err().to_string();
    assert!(error.contains("rows.jsonl") && error.contains("--out"), "{error}");
    let error = figure::write_all(&[], &path).unwrap_err().to_string();
    assert!(error.contains("rows.jsonl") && error.contains("--out"), "{error}");
}

#[test]
fn settings_come_from_a_file_of_ones_own() {
    let entry = crate::common::experiment("snr_per_layer");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    fs::write(&path, "tokens = = 3").unwrap();
    assert!(entry.configure(false, Some(&path), &toml::Table::new()).err().unwrap().to_string().contains("mine.toml"));
    fs::write(&path, "tokens = 100\n[quick]\ntokens = 20").unwrap();
    for (quick, tokens) in [(false, 100), (true, 20)] {
        assert_eq!(entry.configure(quick, Some(&path), &toml::Table::new()).unwrap().settings()["tokens"], tokens);
    }
}

#[test]
fn pictures_and_tables_say_what_the_rows_say() {
    for id in ["snr_per_layer", "theorem1_horizon"] {
        let experiment = small(id);
        let folder = tempfile::tempdir().unwrap();
        let figures = experiment.figures(&run(&*experiment, folder.path(), 0).unwrap()).unwrap();
        figure::write_all(&figures, folder.path()).unwrap();
        for figure in &figures {
            let path = |ext: &str| folder.path().join(format!("{}.{ext}", figure.name));
            assert!(fs::read(path("png")).unwrap().starts_with(b"\x89PNG"));
            let svg = fs::read_to_string(path("svg")).unwrap();
            well_formed(&svg);
            for panel in &figure.panels {
                let words = [&panel.x.label, &panel.y.label, &panel.title];
                for word in words.into_iter().flat_map(|label| label.split(['*', '^', '_', '{', '}'])) {
                    assert!(svg.contains(&word.trim().replace('<', "&lt;")), "{id}: no '{word}'");
                }
            }
            let mut table = csv::Reader::from_path(path("csv")).unwrap();
            let lines: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
            let points: Vec<Point> =
                figure.panels.iter().flat_map(|p| &p.series).flat_map(|s| s.points.clone()).collect();
            let drawn = lines.iter().filter(|l| &l[4] != "NaN" && &l[6] != "NaN");
            assert!(drawn.count() >= points.iter().filter(|p| p.y.is_finite()).count());
        }
    }
    // One number followed from the row to the table: the median SNR of the clusters at layer 0.
    let experiment = small("snr_per_layer");
    let rows = run(&*experiment, tempfile::tempdir().unwrap().path(), 0).unwrap();
    let cell: Vec<&Row> = rows.iter().filter(|r| r.cell == rows[0].cell).collect();
    let mut snr: Vec<f64> =
        cell.iter().flat_map(|r| [1, 2].map(|k| r.series(&format!("thresholded-softmax.{k}")).unwrap()[0])).collect();
    snr.sort_by(f64::total_cmp);
    let median = (snr[2] + snr[3]) / 2.0;
    let table = figure::to_csv(&experiment.figures(&rows).unwrap()[0]).unwrap();
    assert!(table.contains(&format!(",{median},")), "{median} is not in\n{table}");
}

#[test]
fn figures_of_incomplete_or_foreign_rows() {
    let experiment = small("theorem1_horizon");
    let mut rows = run(&*experiment, tempfile::tempdir().unwrap().path(), 0).unwrap();
    assert!(experiment.figures(&[]).unwrap_err().to_string().contains("Run the experiment first"));
    rows[0].data.insert("theta".into(), Value::Null);
    let error = experiment.figures(&rows).unwrap_err().to_string();
    assert!(error.contains("'theta'"), "{error}");
}

#[test]
fn a_heat_map_with_a_hole_is_drawn() {
    let values = [[0.1, 0.5], [f64::NAN, 1.0]];
    let heat = Heat::over(&[1.0, 10.0], &[0.0, 1.0], Axis::linear("share *p* < 1"), |i, j| Cell::of(values[j][i]));
    let panel = Panel::new("", Axis::log("*N*"), Axis::linear("noise")).coloured(heat);
    let figure = Figure::column("heat", "A & B", vec![panel]).captioned("a < b");
    let svg = figure::svg(&figure).unwrap();
    well_formed(&svg);
    assert!(svg.contains("A &amp; B") && svg.contains("&lt; 1"));
    let folder = tempfile::tempdir().unwrap();
    figure::write_all(std::slice::from_ref(&figure), folder.path()).unwrap();

    let panel = Panel::new("", Axis::linear("x"), Axis::log("y"));
    let nothing = Figure::column("nothing", "", vec![panel.with(Series::measured("s", 0, vec![Point::at(1.0, -1.0)]))]);
    let error = figure::write_all(&[nothing], folder.path()).unwrap_err().to_string();
    assert!(error.contains("axis 'y'"), "{error}");
}

/// Every tag closed in order, every attribute quoted, no stray ampersand: enough of XML for what is written here.
fn well_formed(xml: &str) {
    let mut open: Vec<&str> = vec![];
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        let entities = ["&amp;", "&lt;", "&gt;", "&quot;", "&apos;"];
        let stray = text.match_indices('&').any(|(i, _)| !entities.iter().any(|e| text[i..].starts_with(e)));
        assert!(!stray && !text.contains('>'), "stray sign in '{text}'");
        let end = start + rest[start..].find('>').expect("an unclosed tag");
        let tag = &rest[start + 1..end];
        assert!(!tag.contains('<') && tag.matches('"').count().is_multiple_of(2), "<{tag}>");
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "left open: {open:?}");
}
