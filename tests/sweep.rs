//! Sweeps: the same rows to the bit whatever the shards, threads, kills and full disks; files that
//! cannot be run are refused by name; cells that stop early do so by their own trials alone.

mod common;

use attnlab::claim::verdict::judge_events;
use attnlab::claim::{Outcome, Witness, registry};
use attnlab::experiment::{self, RunOptions};
use attnlab::rng::Streams;
use attnlab::run::grid::GridOptions;
use attnlab::run::store::{Row, Shard, read};
use attnlab::run::{CheckOptions, Silent, check};
use attnlab::stats::{Sequence, binomial};
use attnlab::sweep::{self, Plan, Sweep, merge, schema};
use common::{attnlab, refused};
use rand::RngExt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Twelve cells: some never fail, some always; a second of work.
const MAP: &str = r#"
claim = "aot.theorem1_bounded"
trials = 12
seed = 5
[axes]
tokens = [60, 100]
dim = { from = 16, to = 64, steps = 3, scale = "log", multiple_of = 1 }
delta = "c * sqrt(log(tokens) / dim)"
c = [0.03, 0.125]
[set]
layers = 6
"#;

/// The same with cells that may stop.
fn stopping() -> String {
    let trials = MAP.replace("trials = 12", "trials = 40\nbeyond_hypotheses = \"judge\"");
    let trials = trials
        .replace("theorem1_bounded", "theorem1")
        .replace("layers = 6", "layers = 7");
    trials + "[stop]\nwidth = 0.45\nevery = 4\n"
}

fn parse(text: &str) -> Sweep {
    Sweep::parse(text, Path::new("map.toml")).unwrap()
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().unwrap().install(work)
}

fn run(text: &str, out: &Path, shard: Shard) -> Vec<Row> {
    let options = GridOptions {
        shard,
        ..GridOptions::default()
    };
    sweep::run(&parse(text), out, options, &Silent)
        .unwrap()
        .rows
}

/// What a finished folder holds: rows and both summaries.
fn files(folder: &Path) -> [String; 3] {
    ["rows.jsonl", "cells.jsonl", "cells.csv"]
        .map(|name| fs::read_to_string(folder.join(name)).unwrap())
}

#[test]
fn shards_and_threads_change_nothing() {
    for text in [MAP.to_string(), stopping()] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        with_threads(1, || run(&text, &at("one"), Shard::WHOLE));
        let whole = files(&at("one"));
        assert!(whole[0].lines().count() > 100 && whole[1].lines().count() == 12);
        with_threads(2, || run(&text, &at("two"), Shard::WHOLE));
        assert_eq!(whole, files(&at("two")), "1 and 2 threads");
        for count in [1, 3, 7] {
            // Half of the shards share a folder, half have their own.
            let shared = at(&format!("shared{count}"));
            let mut folders = vec![];
            for index in 0..count {
                let out = match index % 2 {
                    0 => shared.clone(),
                    _ => at(&format!("own{count}-{index}")),
                };
                let shard = Shard { index, count };
                with_threads(1 + index as usize % 2, || run(&text, &out, shard));
                folders.push(out);
            }
            folders.dedup();
            let merged = at(&format!("merged{count}"));
            merge(&folders, &merged, false).unwrap();
            assert_eq!(whole, files(&merged), "{count} shards");
            // What was merged is the run itself: nothing is left to do.
            let again = sweep::run(&parse(&text), &merged, GridOptions::default(), &Silent);
            assert_eq!(again.unwrap().computed, 0);
        }
    }
}

#[test]
fn an_experiment_is_sharded_and_merged_in_the_same_way() {
    let entry = experiment::find("theorem1_horizon").unwrap();
    let set = "trials = 3\ntokens = [40, 80]\ndim = 16\nnoise = [0.1, 0.2]";
    let small = entry.configure(false, None, &set.parse().unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, shard| {
        let options = RunOptions {
            shard,
            ..RunOptions::default()
        };
        let out = folder.path().join(name);
        experiment::run(&*small, &out, &options, &Silent).unwrap();
        out
    };
    let whole = fs::read(run("whole", Shard::WHOLE).join("rows.jsonl")).unwrap();
    let part = |index| run(&format!("part{index}"), Shard { index, count: 3 });
    let parts: Vec<PathBuf> = (0..3).map(part).collect();
    let merged = folder.path().join("merged");
    merge(&parts, &merged, false).unwrap();
    assert_eq!(whole, fs::read(merged.join("rows.jsonl")).unwrap());
    // Figures are drawn from the merged folder as from any other.
    let (rows, plots) = (merged.display().to_string(), folder.path().join("plots"));
    let plots = plots.display().to_string();
    let args = [
        "figure",
        "theorem1_horizon",
        "--rows",
        &rows,
        "--out",
        &plots,
    ];
    assert_eq!(attnlab(&args).output().unwrap().status.code(), Some(0));

    // A shard is missing, or is one of another run.
    let error = merge(&parts[..2], &folder.path().join("no"), false)
        .unwrap_err()
        .to_string();
    assert!(error.contains("4 trials are missing"), "{error}");
    assert!(!folder.path().join("no").exists());
    let other = folder.path().join("other");
    let seed = RunOptions {
        seed: 1,
        ..RunOptions::default()
    };
    experiment::run(&*small, &other, &seed, &Silent).unwrap();
    let mixed = [parts[0].clone(), other];
    let error = merge(&mixed, &merged, false).unwrap_err().to_string();
    assert!(
        error.contains("seed = 0") && error.contains("seed = 1"),
        "{error}"
    );
}

/// Writes a sweep file and gives the command that runs it.
fn command(folder: &Path, text: &str, out: &str) -> Command {
    let file = folder.join("map.toml");
    fs::write(&file, text).unwrap();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("attnlab"));
    command.args(["sweep", "--threads", "2"]).arg(file);
    command.arg("--out").arg(folder.join(out));
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Waits until the rows are `bytes` long, or the process has ended.
fn wait_for(path: &Path, bytes: u64, child: &mut std::process::Child) {
    let started = Instant::now();
    let length = || fs::metadata(path).map_or(0, |m| m.len());
    while length() < bytes && child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(60), "no progress");
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn killed_five_times_at_random_points() {
    for (name, text) in [("fixed", MAP.to_string()), ("stop", stopping())] {
        let folder = tempfile::tempdir().unwrap();
        run(&text, &folder.path().join("whole"), Shard::WHOLE);
        let whole = files(&folder.path().join("whole"));
        let mut rng = Streams::new(1, "tests.sweep", 0, 0).part(name, 0);
        let mut points: Vec<f64> = (0..5).map(|_| rng.random_range(0.02..0.9)).collect();
        points.sort_by(f64::total_cmp);
        let rows = folder.path().join("killed/rows.jsonl");
        let mut killed = 0;
        for point in points {
            let mut child = command(folder.path(), &text, "killed").spawn().unwrap();
            wait_for(&rows, (point * whole[0].len() as f64) as u64, &mut child);
            // SIGKILL: nothing can be tidied up.
            child.kill().unwrap();
            killed += usize::from(child.wait().unwrap().code().is_none());
        }
        assert!(killed >= 4, "{killed} of 5 were still running");
        let last = command(folder.path(), &text, "killed").output().unwrap();
        let told = String::from_utf8_lossy(&last.stderr).to_string();
        assert!(
            last.status.success() && told.contains("trials were there already"),
            "{told}"
        );
        assert_eq!(whole, files(&folder.path().join("killed")), "{name}");
    }
}

#[test]
fn ctrl_c_keeps_the_rows_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let text = MAP.replace("trials = 12", "trials = 200");
    let mut child = command(folder.path(), &text, "out").spawn().unwrap();
    let rows = folder.path().join("out/rows.jsonl");
    wait_for(&rows, 4000, &mut child);
    let pid = child.id().to_string();
    let signalled = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(signalled.success());
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("give the same command again"), "{told}");
    let kept = read(&folder.path().join("out")).unwrap();
    assert!(kept.dropped.is_empty());
    let said = format!("stopped after {} of 2400 trials", kept.rows.len());
    assert!(told.contains(&said), "{said}: {told}");
}

/// A file system of 64 KiB, gone at the end.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: &Path) -> Result<Self, String> {
        fs::create_dir(folder).map_err(|e| e.to_string())?;
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(folder);
        match mount.output() {
            Ok(done) if done.status.success() => Ok(SmallDisk(folder.to_path_buf())),
            Ok(done) => Err(String::from_utf8_lossy(&done.stderr).trim().to_string()),
            Err(e) => Err(e.to_string()),
        }
    }

    fn enlarge(&self) {
        let mut mount = Command::new("mount");
        mount.args(["-o", "remount,size=4m"]).arg(&self.0);
        assert!(mount.status().unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_loses_no_finished_row() {
    let folder = tempfile::tempdir().unwrap();
    let disk = match SmallDisk::mount(&folder.path().join("disk")) {
        Ok(disk) => disk,
        Err(reason) => {
            println!("skipped: a small file system needs root and mount ({reason})");
            return;
        }
    };
    let text = MAP.replace("trials = 12", "trials = 20");
    run(&text, &folder.path().join("whole"), Shard::WHOLE);
    let whole = files(&folder.path().join("whole"));
    assert!(
        whole[0].len() > 65_536,
        "{} bytes would fit",
        whole[0].len()
    );
    let full = command(folder.path(), &text, "disk/out").output().unwrap();
    let told = String::from_utf8_lossy(&full.stderr).to_string();
    assert_eq!(full.status.code(), Some(2), "{told}");
    let advice = "The rows so far are kept: make room and give the same command again";
    assert!(
        told.contains(advice) && told.contains("rows.jsonl"),
        "{told}"
    );
    // Every row that is there is whole, and there are as many as fit.
    let out = folder.path().join("disk/out");
    let kept = read(&out).unwrap();
    assert!(kept.dropped.is_empty(), "{:?}", kept.dropped);
    assert!(kept.rows.len() > 40, "{} rows", kept.rows.len());
    // Again without room: nothing is lost.
    let again = command(folder.path(), &text, "disk/out").output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(read(&out).unwrap().rows.len() >= kept.rows.len());
    disk.enlarge();
    let last = command(folder.path(), &text, "disk/out").output().unwrap();
    let told = String::from_utf8_lossy(&last.stderr).to_string();
    assert!(
        last.status.success() && told.contains("trials were there already"),
        "{told}"
    );
    assert_eq!(whole, files(&out));
}

#[test]
fn two_processes_do_not_write_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let text = MAP.replace("trials = 12", "trials = 2000");
    let mut first = command(folder.path(), &text, "out").spawn().unwrap();
    wait_for(&folder.path().join("out/rows.jsonl"), 1, &mut first);
    let second = command(folder.path(), &text, "out").output().unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(second.status.code(), Some(2));
    let told = String::from_utf8_lossy(&second.stderr).to_string();
    assert!(
        told.contains("another process is writing these rows"),
        "{told}"
    );
}

#[test]
fn a_sweep_repeats_what_check_does() {
    let folder = tempfile::tempdir().unwrap();
    run(MAP, folder.path(), Shard::WHOLE);
    let text = fs::read_to_string(folder.path().join("cells.jsonl")).unwrap();
    let cell: serde_json::Value = serde_json::from_str(text.lines().nth(3).unwrap()).unwrap();
    let mut set = cell["parameters"].as_object().unwrap().clone();
    assert_eq!(set.remove("c"), Some(0.125.into()), "helpers are shown");
    let claim = registry::find("aot.theorem1_bounded").unwrap();
    let options = CheckOptions {
        seed: 5,
        trials: Some(12),
        ..CheckOptions::default()
    };
    let report = serde_json::to_value(check(&*claim, &set, &options, &Silent).unwrap()).unwrap();
    for name in [
        "claim",
        "hypotheses",
        "kind",
        "trials",
        "failures",
        "estimate",
        "verdict",
        "expected",
        "witness",
        "seed",
        "version",
    ] {
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
        assert!(
            (4..n).step_by(4).all(wide),
            "it could have stopped before {n}"
        );
        assert!(cell.iter().all(|r| {
            let budget = r.data["budget"].as_str().unwrap();
            budget.starts_with("beta-binomial confidence sequence, width <= 0.45")
        }));
        lengths.push(n);
    }
    assert!(
        lengths.iter().any(|n| *n > 8) && lengths.len() == 12,
        "{lengths:?}"
    );
    // The summary's interval is the sequence's, which is wider than a fixed number's.
    let text = fs::read_to_string(folder.path().join("cells.jsonl")).unwrap();
    for line in text.lines() {
        let cell: serde_json::Value = serde_json::from_str(line).unwrap();
        let (n, failures) = (
            cell["trials"].as_u64().unwrap(),
            cell["failures"].as_u64().unwrap(),
        );
        let width = |low: f64, high: f64| high - low;
        let low = cell["estimate"]["low"].as_f64().unwrap();
        let high = cell["estimate"]["high"].as_f64().unwrap();
        let e = sequence.interval(n - failures, n).unwrap();
        assert_eq!((low, high), (e.low, e.high));
        let fixed = binomial(n - failures, n, 0.95).unwrap();
        assert!(width(low, high) > width(fixed.low, fixed.high));
    }
}

/// A stopping rule may only watch claims whose verdict follows from how many trials held.
#[test]
fn claims_that_count_events_judge_by_the_count() {
    let events = |failures: usize| -> Vec<Outcome> {
        let event = |i| Outcome::Event {
            holds: i >= failures,
            witness: Witness::new(),
        };
        (0..40).map(event).collect()
    };
    let mut counted = 0;
    for claim in registry::claims() {
        let params =
            attnlab::params::Params::resolve(&claim.schema(), &Default::default()).unwrap();
        if !claim.counts_events(&params) {
            continue;
        }
        counted += 1;
        for failures in [0, 3, 40] {
            let outcomes = events(failures);
            let interval = |held, trials| binomial(held, trials, 0.95);
            let ours = judge_events(&*claim, &params, &outcomes, &interval).unwrap();
            assert_eq!(
                ours,
                claim.judge(&params, &outcomes, 0.95).unwrap(),
                "{}",
                claim.card().id
            );
        }
    }
    assert!(counted >= 10);
}

#[test]
fn cells_outside_the_hypotheses_are_marked_judged_or_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let verdicts = |policy: &str| -> Vec<(String, u64)> {
        let line = format!("trials = 3\nbeyond_hypotheses = \"{policy}\"");
        let text = MAP.replace("trials = 12", &line);
        let out = folder.path().join(policy);
        run(&text, &out, Shard::WHOLE);
        let text = fs::read_to_string(out.join("cells.jsonl")).unwrap();
        let read = |line| {
            let cell: serde_json::Value = serde_json::from_str(line).unwrap();
            let verdict = cell["verdict"].as_str().unwrap().to_string();
            (verdict, cell["trials"].as_u64().unwrap())
        };
        text.lines().map(read).collect()
    };
    let (mark, judge, skip) = (verdicts("mark"), verdicts("judge"), verdicts("skip"));
    let out = |all: &[(String, u64)]| all.iter().filter(|c| c.0 == "out-of-scope").count();
    assert!(out(&mark) > 0 && out(&mark) < 12 && out(&judge) == 0);
    assert!(mark.iter().chain(&judge).all(|c| c.1 == 3));
    assert!(skip.iter().zip(&mark).all(|(s, m)| s.0 == m.0));
    assert!(
        skip.iter()
            .all(|s| s.1 == if s.0 == "out-of-scope" { 0 } else { 3 })
    );
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
    let entry = experiment::find("theorem1_horizon").unwrap();
    let set = "trials = 2\ntokens = [40]\nclusters = 4\ndim = 32\nnoise = [0.1, 0.2]";
    let small = entry.configure(false, None, &set.parse().unwrap()).unwrap();
    let own = tempfile::tempdir().unwrap();
    let found = experiment::run(&*small, own.path(), &RunOptions::default(), &Silent).unwrap();
    assert_eq!(found.rows, rows[4..]);
    // A figure for each of the settings.
    let plan = Plan::of_folder(folder.path()).unwrap();
    let parts = plan.parts(&rows);
    assert_eq!(parts.len(), 4);
    assert_eq!(parts[3].label, "clusters=4, dim=32, noise=0.2");
    assert_eq!(parts[3].rows, rows[6..]);
}

#[test]
fn bad_files_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    let path = file.display().to_string();
    let out = folder.path().join("out").display().to_string();
    let lemma = "claim = \"aot.lemma1\"\n";
    for (text, message) in [
        (
            "trials = 3",
            "claim = (not set) is not allowed: write claim = \"...\" (attnlab list) or experiment = \"...\"",
        ),
        (
            "claim = \"aot.lemma\"",
            "unknown claim 'aot.lemma'; did you mean aot.lemma1, aot.lemma2_12, aot.lemma2_13?",
        ),
        (
            "experiment = \"snr\"",
            "unknown experiment 'snr'; did you mean snr_per_layer?",
        ),
        (
            "claim = \"a\"\nexperiment = \"b\"",
            "experiment = set beside claim is not allowed: either a claim or an experiment, not both",
        ),
        (
            &format!("{lemma}trial = 3"),
            "unknown key 'trial'; did you mean trials?",
        ),
        (
            &format!("{lemma}trials = 0"),
            "trials = 0 is not allowed: a whole number from 1 to 100000",
        ),
        (
            &format!("{lemma}trials = \"ten\""),
            "trials = \"ten\" is not allowed: a whole number from 1 to 100000",
        ),
        (
            &format!("{lemma}level = 1.5"),
            "level = 1.5 is not allowed: a number in (0, 1), such as 0.95",
        ),
        (
            &format!("{lemma}seed = -1"),
            "seed = -1 is not allowed: a whole number >= 0",
        ),
        (
            &format!("{lemma}beyond_hypotheses = true"),
            "beyond_hypotheses = true is not allowed: a text in quotes",
        ),
        (
            &format!("{lemma}beyond_hypotheses = \"go\""),
            "beyond_hypotheses = \"go\" is not allowed: \"mark\", \"judge\" or \"skip\"",
        ),
        (
            &format!("{lemma}[axes]\ndim = []"),
            "axes.dim = [] is not allowed: a list such as [200, 1000], a range such as { from = 40, to = 160, steps = 3 }, or an expression such as \"2 * dim\"",
        ),
        (
            &format!("{lemma}[axes]\ndimm = [1, 2]"),
            "unknown parameter 'dimm'; did you mean dim?",
        ),
        (
            &format!("{lemma}[axes]\ndim = {{ from = 1, to = 4, stops = 2 }}"),
            "unknown key 'stops'; did you mean steps?",
        ),
        (
            &format!("{lemma}[axes]\ndim = {{ from = 1, steps = 2 }}"),
            "axes.dim.to = (not set) is not allowed: a range has from, to and steps",
        ),
        (
            &format!("{lemma}[axes]\ndim = {{ from = 0, to = 4, steps = 2, scale = \"log\" }}"),
            "axes.dim.from = 0 is not allowed: > 0 on a logarithmic scale",
        ),
        (
            &format!("{lemma}[axes]\ndim = {{ from = 1, to = 4, steps = 2, scale = \"cubic\" }}"),
            "axes.dim.scale = \"cubic\" is not allowed: \"linear\" or \"log\"",
        ),
        (
            &format!("{lemma}[axes]\ndim = \"2 * \""),
            "axes.dim = \"2 * \" is not allowed: expected a number, a name or '(' at character 5, found the end; an expression has numbers, names, pi, + - * / ^, brackets, sqrt log (natural) ln log2 log10 exp abs floor ceil round min max",
        ),
        (
            &format!("{lemma}[axes]\ndim = \"2 * x\""),
            "dim = \"2 * x\" is not allowed: unknown name 'x'. An expression may use other axes and what is set",
        ),
        (
            &format!("{lemma}[axes]\ndim = [10]\n[set]\ndim = 10"),
            "set.dim = 10 is not allowed: it is an axis too: leave it in [axes] or in [set]",
        ),
        (
            &format!("{lemma}[axes]\ndim = [10, -1]"),
            "cell (dim = -1): dim = -1 is not allowed: a whole number from 1 to 100000000",
        ),
        (
            &format!("{lemma}[axes]\ndim = [10, nan]"),
            "cell (dim = nan): dim = \"nan\" is not allowed: a whole number from 1 to 100000000",
        ),
        (
            &format!("{lemma}[stop]\nevery = 5"),
            "stop.width = (not set) is not allowed: a number in (0, 1): how narrow a cell's interval must be for it to stop",
        ),
        (
            &format!("{lemma}[stop]\nwidth = 0.1\nrule = \"sprt\""),
            "stop.rule = \"sprt\" is not allowed: \"beta-binomial\"",
        ),
        (
            "claim = \"aot.horizon_law\"\n[stop]\nwidth = 0.1",
            "cell (): stop = set is not allowed: aot.horizon_law is not judged by how many trials hold: leave [stop] out",
        ),
        (
            "experiment = \"theorem1_horizon\"\n[stop]\nwidth = 0.1",
            "stop = {\"width\":0.1} is not allowed: it is for claims only: experiments have no verdict",
        ),
        (
            "experiment = \"theorem1_horizon\"\n[axes]\ndims = [3]",
            "unknown setting 'dims'; did you mean dim?",
        ),
        (
            "claim = \"aot.theorem1_bounded\"\n[axes]\ntokens = [100, 101]",
            "cell (tokens = 101): tokens = 101 is not allowed: a positive multiple of clusters = 2",
        ),
    ] {
        fs::write(&file, text).unwrap();
        refused(
            &["sweep", &path, "--out", &out],
            &format!("{path}: {message}"),
        );
    }
    assert!(
        !Path::new(&out).exists(),
        "nothing is written for a file that is refused"
    );
    fs::write(&file, "claim = = 3").unwrap();
    let output = attnlab(&["sweep", &path]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.starts_with(&format!("error: {path}: not valid TOML: ")),
        "{error}"
    );
    refused(
        &["sweep", &path, "--shard", "4/4"],
        "shard = 4/4 is not allowed: shards are counted from 0: 0/4 to 3/4",
    );
    refused(
        &["sweep", "/nowhere.toml"],
        "/nowhere.toml: No such file or directory (os error 2). Write the name of a sweep file",
    );
}

#[test]
fn work_that_cannot_fit_is_refused_before_it_begins() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.toml");
    fs::write(
        &file,
        "claim = \"aot.softmax_rate\"\n[axes]\ntokens = [300, 300000000]",
    )
    .unwrap();
    let (path, out) = (file.display().to_string(), folder.path().join("out"));
    let out_text = out.display().to_string();
    let output = attnlab(&["sweep", &path, "--out", &out_text])
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    let expected = "error: one trial of the cell (tokens = 300000000, ";
    assert!(
        error.contains(expected) && error.contains("of memory and"),
        "{error}"
    );
    assert!(!out.exists());
}

/// The printed schema is a sweep file that can be run, and the handbook shows it.
#[test]
fn the_schema_is_true() {
    let printed = attnlab(&["sweep", "--print-schema"]).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert_eq!(printed.trim_end(), schema().trim_end());
    let sweep = parse(&printed);
    let plan = Plan::of_sweep(&sweep).unwrap();
    assert_eq!(plan.cells.len(), 2 * 3 * 3);
    // Run and read back: run.json holds all that the file says.
    let again = Sweep::of_manifest(&plan.manifest).unwrap().unwrap();
    let origin = sweep.origin.clone();
    assert_eq!(Sweep { origin, ..again }, sweep);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/sweeps.md");
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.contains(schema().trim_end()),
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
    let export = |args: &[&str]| {
        attnlab(&[&["export", &path], args].concat())
            .output()
            .unwrap()
    };
    assert_eq!(export(&[]).status.code(), Some(0));
    let file = folder.path().join("rows.csv");
    let mut table = csv::Reader::from_path(&file).unwrap();
    let header = table.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|h| h == name).unwrap();
    let (delta, holds) = (column("parameters.delta"), column("data.holds"));
    let mut lines = 0;
    for (line, row) in table.records().map(Result::unwrap).zip(&rows) {
        let read: f64 = line[delta].parse().unwrap();
        assert_eq!(Some(read), row.parameters["delta"].as_f64(), "to the bit");
        assert_eq!(line[holds], row.data["holds"].to_string());
        lines += 1;
    }
    assert_eq!(lines, rows.len());
    // Not twice, unless asked for.
    let again = export(&[]);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("--force"));
    assert_eq!(export(&["--force"]).status.code(), Some(0));
    let parquet = export(&["--format", "parquet"]);
    if cfg!(feature = "parquet") {
        let bytes = fs::read(folder.path().join("rows.parquet")).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    } else {
        let error = String::from_utf8_lossy(&parquet.stderr).to_string();
        assert!(error.contains("--features parquet"), "{error}");
    }
}
