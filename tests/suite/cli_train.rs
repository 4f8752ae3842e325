//! `attnlab train`: a training that is really killed, and pictures.

use crate::common::{attnlab, kill, paused};
use attnlab::run::pause;
use std::path::{Path, PathBuf};

/// The smallest settings that still have every part.
const TINY: &str = "dim=3 points=6 places=8 width=8 heads=2 layers.aot-mssa=2 layers.transformer=1 \
    plan.steps=24 plan.batch=4 plan.checkpoint_every=4 plan.report_every=4 \
    curriculum.dims.from=1 curriculum.dims.to=3 curriculum.dims.every=4 \
    curriculum.points.from=2 curriculum.points.to=6 curriculum.points.every=4 \
    evaluation.prompts=8 evaluation.longer=7";

fn arguments(out: &Path, command: &str) -> Vec<String> {
    let mut args = vec![command.to_string(), "icl".into(), "--quick".into()];
    args.extend(["--out".into(), out.display().to_string()]);
    args.extend(TINY.split(' ').flat_map(|set| ["--set".into(), set.to_string()]));
    args
}

fn complete(out: &Path, command: &str) -> (String, String) {
    let args = arguments(out, command);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let output = attnlab(&args).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(0), "{error}");
    (String::from_utf8(output.stdout).unwrap(), error)
}

fn rows(out: &Path) -> String {
    std::fs::read_to_string(out.join("rows.jsonl")).unwrap()
}

/// `attnlab train` and `attnlab run` are the same work; a process that is killed by the system in the
/// middle of a training, and started again, leaves the same bytes as one that was not.
#[test]
fn a_killed_process_goes_on_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    let (pictures, _) = complete(&whole, "run");
    for name in ["icl_examples", "icl_training", "icl_plateau", "icl_shifted", "icl_depth"] {
        assert!(pictures.contains(&format!("{name}.svg")), "{pictures}");
    }
    let folders =
        || std::fs::read_dir(killed.join("checkpoints")).into_iter().flatten().map(|entry| entry.unwrap().path());
    // A training writes six checkpoints, at every fourth step, and keeps two. The first process is killed after two of
    // the first training; the second, which goes on from there, after four more and two of the second training.
    for (trainings, written) in [(1, 2), (2, 6)] {
        let train = [arguments(&killed, "train"), vec!["--threads".into(), "1".into()]].concat();
        kill(paused(&train, pause::AFTER_CHECKPOINTS, written, || {
            let step_8 = |folder: PathBuf| folder.join("step-000000008.json").exists();
            folders().count() == trainings && folders().any(step_8)
        }));
    }
    assert_eq!(rows(&killed).lines().count(), 1, "one training of four");
    complete(&killed, "train");
    assert_eq!(rows(&killed), rows(&whole));
    let (_, said) = complete(&killed, "train");
    assert!(said.contains("0 computed now"), "{said}");
}

/// A text of one's own: rows and pictures, and the pictures again when the text is gone.
#[test]
fn figures_need_no_text() {
    let folder = tempfile::tempdir().unwrap();
    let (text, out) = (folder.path().join("one.txt"), folder.path().join("runs"));
    std::fs::write(&text, "to be or not to be, that is the question. ".repeat(60)).unwrap();
    let (out, text_is) = (out.display().to_string(), format!("text={}", text.display()));
    let mut args = vec!["train", "language", "--quick", "--out", &out];
    let sizes = "networks=[\"llama-aot\"] vocabulary=128 held_out=0.3 context=12 layers=1 width=16 heads=2 \
                 plan.steps=8 plan.batch=8 evaluation.sequences=40 evaluation.activations=4";
    args.extend(sizes.split(' ').chain([text_is.as_str()]).flat_map(|set| ["--set", set]));
    let first = attnlab(&args).output().unwrap();
    let error = String::from_utf8_lossy(&first.stderr);
    assert_eq!(first.status.code(), Some(0), "{error}");
    let pictures = String::from_utf8(first.stdout).unwrap();
    for name in ["language.svg", "language.png", "language_depth.svg"] {
        assert!(pictures.contains(name), "{pictures}");
    }
    std::fs::remove_file(&text).unwrap();
    let plots = folder.path().join("plots").display().to_string();
    let args = ["figure", "language", "--rows", &out, "--out", &plots];
    assert_eq!(attnlab(&args).output().unwrap().status.code(), Some(0));
}
