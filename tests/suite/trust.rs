//! Rows are those of one run by one code: edits, other runs, other builds and other processes are noticed.

use crate::common::{attnlab, kill, paused, small_snr};
use attnlab::run::pause;
use std::fs;
use std::path::Path;
use std::process::Output;

const SWEEP: &str = "\
claim = 'aot.theorem1_bounded'
trials = 3
seed = 5
[axes]
tokens = [40, 60]
dim = [12, 16]
[set]
layers = 2
";

#[track_caller]
fn done(arguments: &[&str]) -> Output {
    attnlab(arguments).output().unwrap()
}

/// Requires that a command ends with status 2 and says these words.
#[track_caller]
fn assert_refused(arguments: &[&str], words: &str) {
    let output = done(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", told(&output));
    assert!(told(&output).contains(words), "{arguments:?}: {}", told(&output));
}

const IN_USE: &str = "another process is writing into this folder";

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

/// A finished sweep in `folder/name`.
fn swept(folder: &Path, name: &str, text: &str, more: &[&str]) -> String {
    let file = folder.join(format!("{name}.toml"));
    fs::write(&file, text).unwrap();
    let out = folder.join(name).display().to_string();
    let mut arguments = vec!["sweep", file.to_str().unwrap(), "--out", &out];
    arguments.extend(more);
    let output = done(&arguments);
    assert!(output.status.success(), "{}", told(&output));
    out
}

/// An edit of the text of `rows.jsonl`.
type Edit = fn(&str) -> String;

/// Part of the message about the edit after "line 2 ".
const EDITS: &[(&str, &str, Edit)] = &[
    ("another claim", "is of aot.lemma1, not of aot.theorem1_bounded", |t| {
        second(t, "\"id\":\"aot.theorem1_bounded\"", "\"id\":\"aot.lemma1\"")
    }),
    ("another seed", "has seed = 6, not 5", |t| second(t, "\"seed\":5", "\"seed\":6")),
    ("another schema", "has schema 2, not 1", |t| second(t, "\"schema\":1", "\"schema\":2")),
    ("another build", "was computed by the build 0.0.1, not by", |t| {
        second(t, t.lines().nth(1).unwrap().rsplit("\"build\":").next().unwrap(), "\"0.0.1\"}")
    }),
    ("another cell", "is of the cell 00000000000000ff, which the run lacks", |t| {
        second(t, cell(t), "00000000000000ff")
    }),
    ("no cell", "has cell = \"x\", which is no 16 hexadecimal digits", |t| second(t, cell(t), "x")),
    ("other parameters", "has other parameters than the cell", |t| second(t, "\"tokens\":40", "\"tokens\":400")),
    ("a trial too many", "has trial = 3, but the cell has 3 trials", |t| second(t, "\"trial\":1", "\"trial\":3")),
    ("a missing field", "is not a row of this version (missing field `seed`", |t| second(t, "\"seed\":5,", "")),
    ("a stray field", "is not a row of this version (unknown field `sed`", |t| {
        second(t, "\"seed\":5", "\"seed\":5,\"sed\":5")
    }),
    ("no JSON", "is not a row of this version (expected value", |t| second(t, "{\"schema\"", "}{\"schema\"")),
];

/// The cell of the second line.
fn cell(text: &str) -> &str {
    &text.lines().nth(1).unwrap().split("\"cell\":\"").nth(1).unwrap()[..16]
}

/// Replaces a text in the second line.
fn second(text: &str, old: &str, new: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    assert!(lines[1].contains(old), "{old} in {}", lines[1]);
    lines[1] = lines[1].replacen(old, new, 1);
    lines.join("\n") + "\n"
}

#[test]
fn every_reader_names_the_line_that_is_not_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = swept(folder.path(), "map", SWEEP, &[]);
    let rows = Path::new(&out).join("rows.jsonl");
    let whole = fs::read_to_string(&rows).unwrap();
    let file = folder.path().join("map.toml").display().to_string();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (what, message, edit) in EDITS {
        fs::write(&rows, edit(&whole)).unwrap();
        let readers: &[&[&str]] = &[
            &["sweep", &file, "--out", &out],
            &["merge", &out, "--out", &path("merged")],
            &["export", &out, "--out", &path("table.csv")],
            &["report", &out, "--out", &path("report.html")],
            &["figure", "aot.theorem1_bounded", "--rows", &out, "--out", &path("plots")],
        ];
        for reader in readers {
            let output = done(reader);
            let told = told(&output);
            assert_eq!(output.status.code(), Some(2), "{what}, {}: {told}", reader[0]);
            assert!(told.contains(&format!("rows.jsonl: line 2 {message}")), "{what}, {}: {told}", reader[0]);
            assert!(told.contains("attnlab repair"), "{told}");
        }
        // Nothing was changed, and nothing was made of it.
        assert_eq!(fs::read_to_string(&rows).unwrap(), edit(&whole));
        for made in ["merged/rows.jsonl", "table.csv", "report.html", "plots"] {
            assert!(!folder.path().join(made).exists(), "{what}: {made}");
        }
        // Repair says what is wrong, sets it aside, and the run computes the trial again.
        let listed = done(&["repair", &out]);
        assert_eq!(listed.status.code(), Some(1));
        assert!(told(&listed).contains(&format!("line 2 {message}")));
        assert!(told(&listed).contains("lines: 11 right, 1 wrong"), "{}", told(&listed));
        assert_eq!(fs::read_to_string(&rows).unwrap(), edit(&whole));
        assert!(done(&["repair", &out, "--apply"]).status.success());
        assert!(done(&["sweep", &file, "--out", &out]).status.success());
        assert_eq!(fs::read_to_string(&rows).unwrap(), whole, "{what}");
    }
    assert_eq!(fs::read_to_string(Path::new(&out).join("set-aside.jsonl")).unwrap().lines().count(), EDITS.len());
}

#[test]
fn two_rows_for_one_trial_are_both_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = swept(folder.path(), "map", SWEEP, &[]);
    let rows = Path::new(&out).join("rows.jsonl");
    let whole = fs::read_to_string(&rows).unwrap();
    let first = whole.lines().next().unwrap();
    let other = match first.contains("\"holds\":true") {
        true => first.replacen("\"holds\":true", "\"holds\":false", 1),
        false => first.replacen("\"holds\":false", "\"holds\":true", 1),
    };
    assert_ne!(first, other);
    fs::write(&rows, format!("{whole}{other}\n")).unwrap();
    let output = done(&["export", &out]);
    assert!(told(&output).contains("line 1 and "), "{}", told(&output));
    assert!(told(&output).contains("rows.jsonl, line 13"), "{}", told(&output));
    let repaired = told(&done(&["repair", &out, "--apply"]));
    assert!(repaired.contains("lines: 11 right, 2 wrong"), "{repaired}");
    // A third row like the first decides nothing.
    fs::write(&rows, format!("{whole}{other}\n{first}\n")).unwrap();
    let repaired = told(&done(&["repair", &out, "--apply"]));
    assert!(repaired.contains("lines: 11 right, 3 wrong"), "{repaired}");
    fs::write(&rows, format!("{whole}{first}\n")).unwrap();
    assert!(done(&["export", &out, "--force"]).status.success());
}

#[test]
fn a_manifest_that_was_changed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = swept(folder.path(), "map", SWEEP, &[]);
    let path = Path::new(&out).join("run.json");
    let whole = fs::read_to_string(&path).unwrap();
    let refused = |text: String, message: &str| {
        fs::write(&path, text).unwrap();
        for reader in ["export", "report"] {
            assert_refused(&[reader, &out, "--out", &format!("{out}/x.html")], message);
        }
    };
    refused(whole.replacen("\"seed\": 5", "\"seed\": 6", 1), "has seed = 5, not 6");
    refused(whole.replacen("aot.theorem1_bounded", "aot.lemma1", 1), "rows of aot.lemma");
    // An axis that cannot be read is not left out.
    let object: serde_json::Value = serde_json::from_str(&whole).unwrap();
    let mut broken = object.clone();
    broken["settings"]["sweep_axes"][0] = "tokens".into();
    refused(broken.to_string(), "must be pairs of a name and its values");
    let mut twice = object;
    twice["settings"]["sweep_axes"][1][0] = "tokens".into();
    refused(twice.to_string(), "must be pairs of a name and its values");
    refused("{".repeat(100_000), "run that this version can read");
}

#[test]
fn other_builds_are_refused_unless_asked_for_and_then_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = swept(folder.path(), "map", SWEEP, &["--shard", "0/2"]);
    let build = build_of(&out);
    // The version, a hash of the code, and the system.
    assert!(build.starts_with(&format!("{}+", env!("CARGO_PKG_VERSION"))), "{build}");
    assert!(build.contains("-"), "{build}");
    for file in ["run.json", "rows-0-of-2.jsonl"] {
        let path = Path::new(&out).join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(&build));
        fs::write(&path, text.replace(&build, "0.1.9+abc")).unwrap();
    }
    let file = folder.path().join("map.toml").display().to_string();
    let next = ["sweep", &file, "--out", &out, "--shard", "1/2"];
    let refused = told(&done(&next));
    let words = ["the build 0.1.9+abc", &build, "--mix-builds", "--force"];
    assert!(words.iter().all(|word| refused.contains(word)), "{refused}");
    let mixed = done(&[&next[..], &["--mix-builds"]].concat());
    assert!(mixed.status.success(), "{}", told(&mixed));
    let merged = folder.path().join("merged").display().to_string();
    assert!(done(&["merge", &out, "--out", &merged]).status.success());
    let manifest = fs::read_to_string(Path::new(&merged).join("run.json")).unwrap();
    assert!(manifest.contains("0.1.9+abc") && manifest.contains(&build), "{manifest}");
    let report = done(&["report", &merged, "--out", &folder.path().join("report.html").display().to_string()]);
    assert!(told(&report).contains("several builds: 0.1.9+abc, "), "{}", told(&report));

    let first_half = swept(folder.path(), "one", SWEEP, &["--shard", "0/2"]);
    let second_half = swept(folder.path(), "two", SWEEP, &["--shard", "1/2"]);
    for file in ["run.json", "rows-1-of-2.jsonl"] {
        let path = Path::new(&second_half).join(file);
        fs::write(&path, fs::read_to_string(&path).unwrap().replace(&build, "0.1.9+abc")).unwrap();
    }
    let both = folder.path().join("both").display().to_string();
    let merge = ["merge", &first_half, &second_half, "--out", &both];
    assert!(told(&done(&merge)).contains("--mix-builds"));
    assert!(!Path::new(&both).exists());
    assert!(done(&[&merge[..], &["--mix-builds"]].concat()).status.success());
}

fn build_of(folder: &str) -> String {
    let text = fs::read_to_string(Path::new(folder).join("run.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    manifest["build"].as_str().unwrap().to_string()
}

#[test]
fn origins_are_noted_at_the_start_and_survive_a_merge() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("map.toml"), folder.path().join("map"));
    fs::write(&file, SWEEP).unwrap();
    let (file, shards) = (file.display().to_string(), out.display().to_string());
    let made_by = out.join("made-by-0-of-2.json");
    kill(paused(&["sweep", &file, "--out", &shards, "--shard", "0/2"], pause::AFTER_ROWS, 0, || made_by.exists()));
    assert!(fs::read_to_string(&made_by).unwrap().contains("attnlab sweep "));

    let text = SWEEP.replace("seed = 5", "seed = 7");
    let swept_shard = |name: &str, shard: &str, threads: &str| {
        swept(folder.path(), name, &text, &["--shard", shard, "--threads", threads])
    };
    let (first_half, second_half) = (swept_shard("one", "0/2", "1"), swept_shard("two", "1/2", "2"));
    let merged = folder.path().join("merged").display().to_string();
    // Rows are never there without them.
    let merge = ["merge", &first_half, &second_half, "--out", &merged];
    let noted = Path::new(&merged).join("made-by.json");
    kill(paused(&merge, pause::AFTER_REPLACEMENTS, 0, || noted.exists()));
    assert!(!Path::new(&merged).join("rows.jsonl").metadata().is_ok_and(|rows| rows.len() > 0));
    assert!(done(&merge).status.success());
    let origins = fs::read_to_string(Path::new(&merged).join("made-by.json")).unwrap();
    assert!(origins.contains("1 thread,") && origins.contains("2 threads,"), "{origins}");
    assert!(origins.contains(&build_of(&merged)), "{origins}");
}

/// A forced run takes over nothing from the one that it deletes: neither its machines nor its verdicts.
#[test]
fn a_forced_run_deletes_what_was_said_of_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let out = swept(folder.path(), "map", SWEEP, &[]);
    let path = |name: &str| Path::new(&out).join(name);
    let other = fs::read_to_string(path("made-by.json")).unwrap().replace("attnlab sweep", "elsewhere sweep");
    fs::write(path("made-by-0-of-2.json"), other).unwrap();
    let file = folder.path().join("b.toml").display().to_string();
    fs::write(&file, SWEEP.replace("seed = 5", "seed = 6")).unwrap();
    // It is deleted and written anew.
    let text = || fs::read_to_string(path("run.json")).unwrap_or_default();
    let child = paused(&["sweep", &file, "--out", &out, "--force"], pause::AFTER_ROWS, 0, || {
        text().contains("\"seed\": 6") && path("made-by.json").exists()
    });
    for name in ["cells.csv", "cells.jsonl", "made-by-0-of-2.json"] {
        assert!(!path(name).exists(), "{name}");
    }
    kill(child);
    let origins = fs::read_to_string(path("made-by.json")).unwrap();
    assert!(origins.contains("b.toml") && !origins.contains("map.toml"), "{origins}");
}

/// While a process has a folder, no other one writes there, with and without `--force`: each of them says so or reads
/// what is there, and the run goes on to the same rows.
#[test]
fn two_processes_on_one_folder_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (a, b, out) = (path("a.toml"), path("b.toml"), path("out"));
    fs::write(&a, SWEEP).unwrap();
    fs::write(&b, SWEEP.replace("seed = 5", "seed = 6")).unwrap();
    let run = [&["run", "snr_per_layer", "--seed", "7", "--out", &out, "--set", "trials=2"], &small_snr()[..]].concat();
    let forced_run = [&run[..], &["--force"]].concat();
    let sweep = ["sweep", &a, "--out", &out].to_vec();
    let forced_sweep = [&sweep[..], &["--force"]].concat();
    let other_sweep = ["sweep", &b, "--out", &out].to_vec();
    let forced_other = [&other_sweep[..], &["--force"]].concat();
    let repair = ["repair", &out, "--apply"].to_vec();
    let owners = [&sweep, &forced_sweep, &run, &forced_run];
    let writers = [&sweep, &forced_sweep, &other_sweep, &forced_other, &run, &forced_run, &repair];
    let reads: [&[&str]; 3] = [
        &["export", &out, "--out", &path("t.csv"), "--force"],
        &["report", &out, "--out", &path("r.html")],
        &["merge", &out, "--out", &path("merged")],
    ];
    // It waits for some seconds whether the owner is another shard.
    let shard = [&forced_other[..], &["--shard", "1/2"]].concat();
    for (i, owner) in owners.into_iter().enumerate() {
        let _ = fs::remove_dir_all(&out);
        let whole = finished(owner, &out);
        // Half of the rows, and a torn one, which the owner cuts off when it has the folder.
        let ends: Vec<usize> = (1..=whole.len()).filter(|end| whole[end - 1] == b'\n').collect();
        let count = ends.len() / 2;
        let half = &whole[..ends[count - 1]];
        fs::write(Path::new(&out).join("rows.jsonl"), &whole[..half.len() + 5]).unwrap();
        let rows = || fs::read(Path::new(&out).join("rows.jsonl")).unwrap();
        let child = paused(owner, pause::AFTER_ROWS, count, || rows() == half);
        for writer in writers.into_iter().chain((i == 0).then_some(&shard)) {
            assert_refused(writer, IN_USE);
        }
        for reader in reads {
            let output = done(reader);
            assert!(matches!(output.status.code(), Some(0 | 2)), "{reader:?}: {}", told(&output));
        }
        assert_eq!(rows(), half, "{owner:?}");
        kill(child);
        assert_eq!(finished(owner, &out), whole, "{owner:?}");
    }
}

/// Shards of one run share a folder, and one of another run is refused.
#[test]
fn shards_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (a, b, out) = (path("a.toml"), path("b.toml"), path("out"));
    fs::write(&a, SWEEP).unwrap();
    fs::write(&b, SWEEP.replace("seed = 5", "seed = 6")).unwrap();
    let made_by = Path::new(&out).join("made-by-0-of-2.json");
    let first = ["sweep", &a, "--out", &out, "--shard", "0/2"];
    let child = paused(&first, pause::AFTER_ROWS, 0, || made_by.exists());
    let second = done(&["sweep", &a, "--out", &out, "--shard", "1/2"]);
    assert!(second.status.success(), "{}", told(&second));
    for more in [&["--shard", "1/2"][..], &["--shard", "1/2", "--force"], &[], &["--force"]] {
        assert_refused(&[&["sweep", &b, "--out", &out], more].concat(), IN_USE);
    }
    kill(child);
    assert!(done(&first).status.success());
    let (merged, whole) = (path("merged"), path("whole"));
    assert!(done(&["merge", &out, "--out", &merged]).status.success());
    let rows = fs::read(Path::new(&merged).join("rows.jsonl")).unwrap();
    assert_eq!(rows, finished(&["sweep", &a, "--out", &whole], &whole));
}

/// Runs a command to its end and returns the rows in `out`.
#[track_caller]
fn finished(arguments: &[&str], out: &str) -> Vec<u8> {
    let output = done(arguments);
    assert!(output.status.success(), "{}", told(&output));
    fs::read(Path::new(out).join("rows.jsonl")).unwrap()
}
