//! Cells of a sweep: those that stop early do so by their own trials alone, summaries and tables say what the rows say.

use crate::common::{CATALOGUE, attnlab, parsed_lines, root, stderr};
use crate::sweeps::{MAP, files, parse, run, stopping};
use attnlab::claim::verdict::judge_events;
use attnlab::claim::{Outcome, Witness};
use attnlab::experiment::{self, RunOptions};
use attnlab::folder::RunFolder;
use attnlab::run::store::Shard;
use attnlab::run::{CheckOptions, Silent, check};
use attnlab::stats::{Sequence, binomial};
use attnlab::sweep::{self, Plan, Sweep, schema};
use serde_json::Value;
use std::fs;

#[test]
fn a_sweep_repeats_what_check_does() {
    let folder = tempfile::tempdir().unwrap();
    run(MAP, folder.path(), Shard::WHOLE);
    let cell = &parsed_lines(&files(folder.path())[1])[3];
    let mut set = cell["parameters"].as_object().unwrap().clone();
    assert_eq!(set.remove("c"), Some(0.125.into()), "helpers are shown");
    let claim = crate::common::claim("aot.theorem1_bounded");
    let options = CheckOptions { seed: 5, trials: Some(12), ..CheckOptions::default() };
    let report = serde_json::to_value(check(&*claim, &set, &options, &Silent).unwrap()).unwrap();
    let fields = "claim hypotheses kind trials failures estimate verdict expected witness seed version";
    for name in fields.split(' ') {
        assert_eq!(cell[name], report[name], "{name}");
    }
}

#[test]
fn cells_stop_by_their_own_trials_and_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let rows = run(&stopping(), folder.path(), Shard::WHOLE);
    let sequence = Sequence::new(0.95).unwrap();
    let mut lengths = vec![];
    for cell in attnlab::run::store::by_cell(&rows) {
        let held = |n: usize| cell[..n].iter().filter(|r| r.data["holds"] == true).count() as u64;
        let wide = |n: usize| {
            let e = sequence.interval(held(n), n as u64).unwrap();
            e.high - e.low > 0.45
        };
        let n = cell.len();
        assert!(n % 4 == 0 && (n == 40 || !wide(n)), "{n}");
        assert!((4..n).step_by(4).all(wide), "it could have stopped before {n}");
        assert!(cell.iter().all(|r| {
            r.data["budget"].as_str().unwrap().starts_with("beta-binomial confidence sequence, width <= 0.45")
        }));
        lengths.push(n);
    }
    assert!(lengths.iter().any(|n| *n > 8) && lengths.len() == 12, "{lengths:?}");
    // The summary's interval is the sequence's, which is wider than a fixed number's.
    for cell in parsed_lines(&files(folder.path())[1]) {
        let (n, failures) = (cell["trials"].as_u64().unwrap(), cell["failures"].as_u64().unwrap());
        if cell["estimate"]["level"] == 1.0 {
            // A closed form decides there.
            continue;
        }
        let [low, high] = ["low", "high"].map(|end| cell["estimate"][end].as_f64().unwrap());
        let e = sequence.interval(n - failures, n).unwrap();
        assert_eq!((low, high), (e.low, e.high));
        let fixed = binomial(n - failures, n, 0.95).unwrap();
        assert!(high - low > fixed.high - fixed.low);
    }
}

/// A stopping rule may only watch claims whose verdict follows from how many trials held.
#[test]
fn claims_that_count_events_judge_by_the_count() {
    let events = |failures: usize| -> Vec<Outcome> {
        (0..40).map(|i| Outcome::Event { holds: i >= failures, witness: Witness::new() }).collect()
    };
    let mut counted = 0;
    for claim in crate::common::claims() {
        let params = attnlab::params::Params::resolve(&claim.schema(), &Default::default()).unwrap();
        if !claim.counts_events(&params) {
            continue;
        }
        counted += 1;
        for failures in [0, 3, 40] {
            let outcomes = events(failures);
            let interval = |held, trials| binomial(held, trials, 0.95);
            let ours = judge_events(&*claim, &params, &outcomes, &interval).unwrap();
            assert_eq!(ours, claim.judge(&params, &outcomes, 0.95).unwrap(), "{}", claim.sheet().id);
        }
    }
    assert!(counted >= 10);
}

#[test]
fn cells_outside_the_hypotheses_are_marked_judged_or_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let verdicts = |policy: &str| -> Vec<(String, u64)> {
        let line = format!("trials = 3\nbeyond_hypotheses = \"{policy}\"");
        let out = folder.path().join(policy);
        run(&MAP.replace("trials = 12", &line), &out, Shard::WHOLE);
        let verdict = |cell: &Value| (cell["verdict"].as_str().unwrap().to_string(), cell["trials"].as_u64().unwrap());
        parsed_lines(&files(&out)[1]).iter().map(verdict).collect()
    };
    let (mark, judge, skip) = (verdicts("mark"), verdicts("judge"), verdicts("skip"));
    let out = |cells: &[(String, u64)]| cells.iter().filter(|c| c.0 == "out-of-scope").count();
    assert!(out(&mark) > 0 && out(&mark) < 12 && out(&judge) == 0);
    assert!(mark.iter().chain(&judge).all(|c| c.1 == 3));
    assert_eq!(skip.len(), mark.len());
    assert!(skip.iter().zip(&mark).all(|(s, m)| s.0 == m.0));
    assert!(skip.iter().all(|s| s.1 == if s.0 == "out-of-scope" { 0 } else { 3 }));
}

#[test]
fn a_sweep_over_the_settings_of_an_experiment() {
    let text = r#"
        experiment = "theorem1_horizon"
        trials = 2
        [axes]
        clusters = [2, 4]
        dim = "8 * clusters"
        noise = [0.1, 0.2]
        [set]
        tokens = 40
    "#;
    let folder = tempfile::tempdir().unwrap();
    let rows = run(text, folder.path(), Shard::WHOLE);
    assert_eq!(rows.len(), 8);
    assert_eq!(rows[7].parameters["clusters"], 4);
    assert_eq!(rows[7].parameters["dim"], 32);
    // The same rows as those of the experiment itself.
    let entry = crate::common::experiment("theorem1_horizon");
    let set = "trials = 2\ntokens = [40]\nclusters = 4\ndim = 32\nnoise = [0.1, 0.2]";
    let small = entry.configure(false, None, &set.parse().unwrap()).unwrap();
    let own_folder = tempfile::tempdir().unwrap();
    assert_eq!(experiment::run(&*small, own_folder.path(), &RunOptions::default(), &Silent).unwrap().rows, rows[4..]);
    let opened = RunFolder::open(folder.path(), &CATALOGUE).unwrap();
    let parts: Vec<_> = opened.plan.parts(&opened.stored).map(Result::unwrap).collect();
    assert_eq!(parts.len(), 4);
    assert_eq!(parts[3].label, "clusters=4, dim=32, noise=0.2");
    assert_eq!(parts[3].rows, rows[6..]);
}

/// A sweep over a claim makes its cells when they are needed; those of an experiment are held.
#[test]
fn an_experiment_of_too_many_cells_is_refused_at_once() {
    let text = "experiment = 'snr_per_layer'\n[axes]\neta = { from = 0.1, to = 0.5, steps = 1000 }\n\
                figure4_delta = { from = 0.1, to = 0.5, steps = 1000 }\n";
    let error = Plan::new(&parse(text), &CATALOGUE).err().unwrap().to_string();
    assert!(error.contains("axes = 1000000 cells or more: must make at most 400000 cells"), "{error}");
}

/// The printed schema is a sweep file that can be run, and the handbook shows it.
#[test]
fn the_schema_is_true() {
    let printed = String::from_utf8(attnlab(&["sweep", "--print-schema"]).output().unwrap().stdout).unwrap();
    assert_eq!(printed.trim_end(), schema().trim_end());
    let sweep = parse(&printed);
    let plan = Plan::new(&sweep, &CATALOGUE).unwrap();
    assert_eq!(plan.cells.len(), 2 * 3 * 3);
    // Run and read back: run.json holds all that the file says.
    let again = Sweep::of_manifest(&plan.manifest).unwrap().unwrap();
    let origin = sweep.origin.clone();
    assert_eq!(Sweep { origin, ..again }, sweep);
    assert!(
        fs::read_to_string(root().join("docs/sweeps.md")).unwrap().contains(schema().trim_end()),
        "docs/sweeps.md shows another schema"
    );
    for key in sweep::KEYS {
        assert!(printed.contains(key.example), "{}", key.name);
    }
}

#[test]
fn tables_for_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    let rows = run(MAP, folder.path(), Shard::WHOLE);
    let path = folder.path().display().to_string();
    let export = |args: &[&str]| attnlab(&[&["export", &path], args].concat()).output().unwrap();
    assert_eq!(export(&[]).status.code(), Some(0));
    let mut table = csv::Reader::from_path(folder.path().join("rows.csv")).unwrap();
    let header = table.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|h| h == name).unwrap();
    let (delta, holds) = (column("parameters.delta"), column("data.holds"));
    let records: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), rows.len());
    for (line, row) in records.iter().zip(&rows) {
        let read: f64 = line[delta].parse().unwrap();
        assert_eq!(Some(read), row.parameters["delta"].as_f64(), "to the bit");
        assert_eq!(line[holds], row.data["holds"].to_string());
    }
    let parquet = export(&["--format", "parquet"]);
    if cfg!(feature = "parquet") {
        let bytes = fs::read(folder.path().join("rows.parquet")).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    } else {
        assert!(stderr(&parquet).contains("--features parquet"), "{}", stderr(&parquet));
    }
}
