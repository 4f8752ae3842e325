//! The experiment `icl`: its sizes, its rows and pictures, and a run that is really killed.
#![cfg(feature = "train")]

mod common;

use attnlab::experiment;
use attnlab::model::preset;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The smallest settings that still have every part.
const TINY: [&str; 19] = [
    "dim=3",
    "points=6",
    "places=8",
    "width=8",
    "heads=2",
    "layers.aot-mssa=2",
    "layers.transformer=1",
    "plan.steps=24",
    "plan.batch=4",
    "plan.checkpoint_every=4",
    "plan.report_every=4",
    "curriculum.dims.from=1",
    "curriculum.dims.to=3",
    "curriculum.dims.every=4",
    "curriculum.points.from=2",
    "curriculum.points.to=6",
    "curriculum.points.every=4",
    "evaluation.prompts=8",
    "evaluation.longer=7",
];

fn arguments(out: &Path, command: &str, more: &[&str]) -> Vec<String> {
    let mut args = vec![command.to_string(), "icl".into(), "--quick".into()];
    args.extend(["--out".into(), out.display().to_string()]);
    for set in TINY.iter().chain(more) {
        args.extend(["--set".into(), set.to_string()]);
    }
    args
}

fn complete(out: &Path, command: &str, more: &[&str]) -> (String, String) {
    let args = arguments(out, command, more);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let output = common::attnlab(&args).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(0), "{error}");
    (String::from_utf8(output.stdout).unwrap(), error)
}

fn rows(out: &Path) -> String {
    std::fs::read_to_string(out.join("rows.jsonl")).unwrap()
}

/// The TOML holds the papers' sizes: its networks are the presets whose counts are tested elsewhere.
#[test]
fn the_default_sizes_are_the_papers() {
    let entry = experiment::find("icl").unwrap();
    let settings = entry
        .configure(false, None, &toml::Table::new())
        .unwrap()
        .settings();
    let number = |path: &[&str]| {
        let mut value = &settings[path[0]];
        for name in &path[1..] {
            value = &value[name];
        }
        value.as_u64().unwrap() as usize
    };
    for (name, list) in [
        ("aot-mssa", "icl-aot-mssa"),
        ("aot-mhsa", "icl-aot-mhsa"),
        ("transformer", "icl-transformer"),
        ("hybrid", "icl-hybrid"),
        ("full-mlp", "icl-full-mlp"),
        ("llama", "icl-llama"),
    ] {
        let paper = preset(list).unwrap();
        assert_eq!(number(&["layers", name]), paper.layers, "{name}");
        assert_eq!(
            (number(&["width"]), number(&["heads"])),
            (paper.width, paper.heads)
        );
        assert_eq!(2 * number(&["places"]), paper.context);
    }
    assert_eq!(number(&["plan", "steps"]), 50_000);
    assert_eq!(number(&["plan", "batch"]), 64);
    assert_eq!(number(&["evaluation", "prompts"]), 1280);
    assert_eq!(
        (number(&["dim"]), number(&["points"]), number(&["nonzero"])),
        (20, 41, 3)
    );
}

/// `attnlab train` and `attnlab run` are the same work; a process that is killed by the system in the
/// middle of a training, and started again, leaves the same bytes as one that was not.
#[test]
fn a_killed_process_goes_on_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    let (pictures, _) = complete(&whole, "run", &[]);
    for name in ["icl_examples", "icl_training", "icl_shifted", "icl_depth"] {
        assert!(pictures.contains(&format!("{name}.svg")), "{pictures}");
    }
    let mut kills = 0;
    let checkpoints = killed.join("checkpoints");
    for wanted in [1, 2] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_attnlab"))
            .args(arguments(&killed, "train", &[]))
            .args(["--threads", "1"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // As soon as the next training has a checkpoint, SIGKILL: nothing can be tidied up.
        let started = Instant::now();
        loop {
            let trainings = std::fs::read_dir(&checkpoints).map_or(0, |d| d.count());
            let ended = child.try_wait().unwrap().is_some();
            if trainings >= wanted || ended || started.elapsed() > Duration::from_secs(40) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            kills += 1;
        }
        child.wait().unwrap();
    }
    assert!(kills > 0, "every run ended before it could be killed");
    assert!(
        rows(&killed).len() < rows(&whole).len(),
        "nothing was left to do"
    );
    complete(&killed, "train", &[]);
    assert_eq!(rows(&killed), rows(&whole));
    // Once more: nothing is left to do.
    let (_, said) = complete(&killed, "train", &[]);
    assert!(said.contains("0 computed now"), "{said}");
}

#[test]
fn wrong_settings_are_named() {
    let refused = |set: &str, message: &str| {
        common::refused(&["run", "icl", "--quick", "--set", set], message);
    };
    refused(
        "models=[\"aot-msa\"]",
        "unknown model 'aot-msa'; did you mean aot-mhsa, aot-mssa, aot-tied?",
    );
    refused(
        "heads=3",
        "heads = 3 is not allowed: a divisor of width = 64",
    );
    refused(
        "evaluation.longer=200",
        "evaluation.longer = 200 is not allowed: at most places = 101",
    );
    refused(
        "seeds=1",
        "seeds = 1 is not allowed: at least 2: intervals come from their spread",
    );
}
