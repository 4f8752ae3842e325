//! Kills at every kind of point that a command reaches change nothing.

use crate::common::{attnlab, kill, paused, rows_in, small_snr, stderr};
use attnlab::run::pause;
use std::fs;
use std::path::Path;

const SWEEP: &str = "\
claim = 'aot.theorem1_bounded'
trials = 5
[axes]
tokens = [40, 60]
dim = [12, 16]
[set]
layers = 3
";

/// A command whose results are files of a folder.
struct Victim {
    arguments: Vec<String>,
    out: String,
    files: &'static [&'static str],
    /// Numbers of rows after which it is killed, in this order.
    rows: &'static [usize],
    /// Flag: in the end it replaces its rows by those in canonical order.
    replaces: bool,
}

fn victims(folder: &Path) -> Vec<Victim> {
    let path = |name: &str| folder.join(name).display().to_string();
    let (map, shards) = (path("map.toml"), path("shards"));
    fs::write(&map, SWEEP).unwrap();
    for shard in ["0/2", "1/2"] {
        assert!(attnlab(&["sweep", &map, "--out", &shards, "--shard", shard]).output().unwrap().status.success());
    }
    let victim = |arguments: &[&str], out: &str, files, rows, replaces| {
        let arguments = arguments.iter().map(ToString::to_string).chain(["--out".to_string(), path(out)]).collect();
        Victim { arguments, out: path(out), files, rows, replaces }
    };
    let run = [&["run", "snr_per_layer", "--set", "trials=2"], &small_snr()[..]].concat();
    let cells: &[&str] = &["rows.jsonl", "cells.jsonl", "cells.csv", "aot_theorem1_bounded.svg"];
    vec![
        victim(&["sweep", "--threads", "2", &map], "swept", cells, &[0, 1, 7, 19], true),
        victim(&run, "run", &["rows.jsonl", "snr_per_layer.svg"], &[0, 1], true),
        victim(&["reproduce", "--only", "aot.mssa_is_mhsa"], "all", &["rows.jsonl"], &[0, 1], false),
        victim(&["merge", &shards], "merged", cells, &[], true),
    ]
}

/// Runs the command to its end and returns its files; the verdicts of `reproduce` without the seconds that they took.
#[track_caller]
fn completed(victim: &Victim) -> Vec<Vec<u8>> {
    let arguments: Vec<&str> = victim.arguments.iter().map(String::as_str).collect();
    let output = attnlab(&arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    victim.files.iter().map(|name| without_time(&fs::read(Path::new(&victim.out).join(name)).unwrap())).collect()
}

fn without_time(file: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(file.to_vec()).unwrap();
    let line = |line: &str| match serde_json::from_str::<serde_json::Value>(line) {
        Ok(mut row) if row["data"].get("wall_s").is_some() => {
            row["data"]["wall_s"] = 0.into();
            row.to_string()
        }
        _ => line.to_string(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n").into_bytes()
}

#[test]
fn kills_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for victim in victims(folder.path()) {
        let out = Path::new(&victim.out);
        let whole = completed(&victim);
        fs::remove_dir_all(out).unwrap();
        // Starts the command with a point at which it waits, and kills it when it has come there.
        let killed = |variable, number, reached: &dyn Fn() -> bool| {
            kill(paused(&victim.arguments, variable, number, reached));
        };
        for rows in victim.rows {
            killed(pause::AFTER_ROWS, *rows, &|| out.join("rows.jsonl").exists() && rows_in(out) == *rows);
        }
        if victim.replaces {
            let beside = || -> Vec<_> {
                let entries = fs::read_dir(out).into_iter().flatten().flatten();
                let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
                names.filter(|name| name.starts_with(".rows.jsonl.") && name.ends_with(".part")).collect()
            };
            if !victim.rows.is_empty() {
                // Every row in the reverse order: the last step alone is left.
                let text = String::from_utf8(whole[0].clone()).unwrap();
                let rows: String = text.lines().rev().map(|line| format!("{line}\n")).collect();
                fs::write(out.join("rows.jsonl"), rows).unwrap();
            }
            let replaced_and_killed = || killed(pause::AFTER_REPLACEMENTS, 0, &|| !beside().is_empty());
            replaced_and_killed();
            // What a kill leaves behind is found, and named before it is deleted.
            let repair = |more: &[&str]| attnlab(&[&["repair", &victim.out], more].concat()).output().unwrap();
            let listed = String::from_utf8(repair(&[]).stdout).unwrap();
            assert!(listed.contains(&beside()[0]) && listed.contains("left by a killed process"), "{listed}");
            assert!(repair(&["--apply"]).status.success());
            assert!(beside().is_empty());
            // The run itself, which has the folder, deletes it too.
            replaced_and_killed();
            completed(&victim);
            assert!(beside().is_empty());
        }
        assert!(completed(&victim) == whole, "{:?}", victim.arguments);
    }
}
