//! Kills at random instants of every command change nothing.

use attnlab::rng::Streams;
use rand::RngExt;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SWEEP: &str = "\
claim = 'aot.theorem1_bounded'
trials = 60
[axes]
tokens = [40, 60, 80]
dim = [12, 16]
[set]
layers = 3
";

/// A command whose results are files of a folder, or lines on standard output.
struct Victim {
    arguments: Vec<String>,
    /// The files that must be the same in the end; with none, what the command prints.
    files: Vec<String>,
    out: String,
}

fn victims(folder: &Path) -> Vec<Victim> {
    let at = |name: &str| folder.join(name).display().to_string();
    fs::write(folder.join("map.toml"), SWEEP).unwrap();
    let victim = |arguments: &[&str], out: &str, files: &[&str]| Victim {
        arguments: arguments.iter().map(|a| a.to_string()).collect(),
        files: files.iter().map(|f| f.to_string()).collect(),
        out: out.to_string(),
    };
    let sweep = at("map.toml");
    #[cfg_attr(not(feature = "train"), expect(unused_mut, reason = "trainings are pushed"))]
    let mut victims = vec![
        victim(
            &["sweep", &sweep, "--out", &at("swept")],
            &at("swept"),
            &["rows.jsonl", "cells.jsonl", "cells.csv", "aot_theorem1_bounded.svg"],
        ),
        victim(
            &[
                "run",
                "snr_per_layer",
                "--out",
                &at("run"),
                "--set",
                "trials=2",
                "--set",
                "tokens=40",
                "--set",
                "dim=12",
                "--set",
                "layers=3",
                "--set",
                "figure4_tokens=20",
                "--set",
                "figure4_clusters=2",
                "--set",
                "figure4_dim=6",
            ],
            &at("run"),
            &["rows.jsonl", "snr_per_layer.svg"],
        ),
        victim(&["reproduce", "--only", "aot.mssa_is_mhsa", "--out", &at("all")], &at("all"), &["rows.jsonl"]),
        victim(&["check", "aot.theorem1_bounded", "aot.lemma1", "--json"], &at("none"), &[]),
        victim(&["merge", &at("shards"), "--out", &at("merged")], &at("merged"), &["rows.jsonl", "cells.jsonl"]),
    ];
    #[cfg(feature = "train")]
    {
        let out = folder.join("trained");
        victims.push(Victim {
            arguments: super::cli_train::arguments(&out, "train", &[]),
            files: vec!["rows.jsonl".to_string()],
            out: out.display().to_string(),
        });
    }
    victims
}

fn command(arguments: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_attnlab"));
    command.args(arguments).stderr(Stdio::null());
    command
}

fn start(arguments: &[String]) -> std::process::Child {
    command(arguments).stdout(Stdio::null()).spawn().unwrap()
}

/// A line of JSON without the seconds that its work took.
fn without_time(line: &[u8]) -> Vec<u8> {
    let Ok(mut value) = serde_json::from_slice::<serde_json::Value>(line) else {
        return line.to_vec();
    };
    // A verdict has them, in a row among its data.
    let verdict = match value.get("data") {
        Some(_) => &mut value["data"],
        None => &mut value,
    };
    if let Some(fields) = verdict.as_object_mut() {
        fields.remove("wall_s");
    }
    serde_json::to_vec(&value).unwrap()
}

/// Runs the command to its end and returns its results.
fn completed(victim: &Victim) -> Vec<Vec<u8>> {
    let output = command(&victim.arguments).output().unwrap();
    assert!(output.status.success(), "{:?}", victim.arguments);
    let lines = |bytes: &[u8]| -> Vec<Vec<u8>> { bytes.split(|byte| *byte == b'\n').map(without_time).collect() };
    if victim.files.is_empty() {
        return lines(&output.stdout);
    }
    let read = |name: &String| fs::read(Path::new(&victim.out).join(name)).unwrap();
    match victim.arguments[0].as_str() {
        "reproduce" => victim.files.iter().flat_map(|name| lines(&read(name))).collect(),
        _ => victim.files.iter().map(read).collect(),
    }
}

#[test]
fn kills_at_random_instants_change_nothing() {
    // Some seconds here; ATTNLAB_KILLS=500 for the full number.
    let kills = std::env::var("ATTNLAB_KILLS").map_or(12, |n| n.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let map = folder.path().join("map.toml").display().to_string();
    let shards = folder.path().join("shards").display().to_string();
    let all = victims(folder.path());
    for shard in ["0/2", "1/2"] {
        let arguments = ["sweep", &map, "--out", &shards, "--shard", shard];
        let mut child = start(&arguments.map(String::from));
        assert!(child.wait().unwrap().success());
    }
    let seed = u64::from(std::process::id());
    let mut rng = Streams::new(seed, "kills", 0, 0).part("instants", 0);
    let mut done = 0;
    for victim in &all {
        // Undisturbed, for the bytes and the time.
        let begun = Instant::now();
        let whole = completed(victim);
        let time = begun.elapsed();
        // A check writes no file.
        let writes = !victim.files.is_empty();
        let share = kills / all.len() + 1;
        let mut killed = 0;
        while killed < share {
            if writes {
                fs::remove_dir_all(&victim.out).unwrap();
            }
            // Kills in a row, each further into the work, until the command gets through.
            loop {
                let mut child = start(&victim.arguments);
                let instant = time.mul_f64(rng.random_range(0.0..1.1));
                std::thread::sleep(instant.max(Duration::from_millis(1)));
                if child.try_wait().unwrap().is_some() || killed >= share {
                    child.wait().unwrap();
                    break;
                }
                child.kill().unwrap();
                child.wait().unwrap();
                killed += 1;
            }
            assert!(completed(victim) == whole, "{:?}", victim.arguments);
            let report = Path::new(&victim.out).join("report.html");
            assert_eq!(report.exists(), victim.arguments[0] == "reproduce");
        }
        done += killed;
    }
    assert!(done >= kills);
}
