//! `attnlab diff`: two runs compared on the command line.

use crate::common::{attnlab, refused};
use serde_json::Value;
use std::path::Path;

fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let output = attnlab(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn saved(folder: &Path, name: &str, args: &[&str]) -> String {
    let (status, text, error) = run(args);
    assert!(matches!(status, Some(0 | 1)), "{error}");
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn verdicts_in_files_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, seed: &str, more: &[&str]| {
        let mut args = vec!["check", "aot.tau_interval", "aot.lemma1", "--json", "--seed", seed];
        args.extend(more);
        saved(folder.path(), name, &args)
    };
    let (a, again) = (check("a", "0", &[]), check("again", "0", &[]));
    let (status, text, _) = run(&["diff", &a, &again]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("Equal to the byte"), "{text}");

    let other = check("other", "1", &[]);
    let (status, text, _) = run(&["diff", &a, &other]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("2 compared; verdict changed: 0; estimate changed: 0."), "{text}");

    // A verdict that changes is found, named, and gives exit status 1.
    let changed = std::fs::read_to_string(&a).unwrap();
    let changed = changed.replacen("\"verdict\":\"supported\"", "\"verdict\":\"refuted\"", 1);
    let edited = folder.path().join("edited");
    std::fs::write(&edited, changed).unwrap();
    let edited = edited.display().to_string();
    let page = folder.path().join("diff.html").display().to_string();
    let (status, text, _) = run(&["diff", &a, &edited, "--out", &page]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("verdict changed: 1") && text.contains("supported"), "{text}");
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.starts_with(attnlab::report::START) && html.contains("Verdict changed: 1"));

    let (_, text, _) = run(&["diff", &a, &edited, "--json"]);
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["items"][0]["change"], "verdict");
    assert_eq!(found["items"][0]["b"]["verdict"], "refuted");

    let one = saved(folder.path(), "one", &["check", "aot.lemma1", "--json"]);
    let (status, text, _) = run(&["diff", &one, &a]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("only in B: 1") && text.contains("aot.tau_interval"), "{text}");
}

#[test]
fn folders_of_runs_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let made = |name: &str, seed: &str, noise: &str| {
        let out = path(name);
        let mut args = vec!["run", "theorem1_horizon", "--out", &out, "--seed", seed];
        let sets = ["trials=3", "tokens=[40,80]", "dim=16", noise];
        args.extend(sets.iter().flat_map(|s| ["--set", *s]));
        let (status, _, error) = run(&args);
        assert_eq!(status, Some(0), "{error}");
        out
    };
    let (a, again) = (made("a", "0", "noise=[0.1,0.2]"), made("again", "0", "noise=[0.1,0.2]"));
    let (status, text, _) = run(&["diff", &a, &again]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("Equal to the byte"), "{text}");
    let other = made("other", "5", "noise=[0.1,0.2]");
    let (status, text, error) = run(&["diff", &a, &other, "--json"]);
    assert!(matches!(status, Some(0 | 1)), "{error}");
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["equal_to_the_byte"], false);
    let items = found["items"].as_array().unwrap();
    assert!(items.len() >= 4, "{text}");
    assert!(items.iter().all(|i| { i["name"].as_str().unwrap().starts_with("theorem1_horizon: ") }));

    let verdicts = path("verdicts");
    let tau = ["reproduce", "--only", "aot.tau_interval", "--out", &verdicts];
    assert_eq!(run(&tau).0, Some(0));
    let (status, text, _) = run(&["diff", &verdicts, &verdicts]);
    assert_eq!(status, Some(0), "{text}");
    refused(
        &["diff", &a, &verdicts],
        &format!(
            "B = {verdicts}: must hold a claim or an experiment that {a} holds too. Give two runs of the same \
             claims"
        ),
    );
}

#[test]
fn bad_input_is_refused_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (bad, empty) = (path("bad"), path("empty"));
    std::fs::write(&bad, "{\"claim\": \"aot.lemma1\"}\n").unwrap();
    std::fs::create_dir(&empty).unwrap();
    for (args, says) in [
        (vec!["diff", &bad, &bad], "line 1: must be a verdict as JSON"),
        (vec!["diff", &empty, &bad], "no run.json there or below"),
        (vec!["diff", "/nowhere", &bad], "Give a folder of runs"),
        (vec!["diff", &bad, &bad, "--level", "2"], "level = 2"),
        (vec!["diff", &bad, &bad, "--out", &bad], "it is not a report"),
    ] {
        let (status, _, error) = run(&args);
        assert_eq!(status, Some(2), "{args:?}: {error}");
        assert!(error.contains(says), "{args:?}: {error}");
    }
}

/// A report that no program opens is written all the same, and a note says so.
#[test]
fn a_report_that_cannot_be_opened_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("runs").display().to_string();
    let mut command = attnlab(&["reproduce", "--only", "aot.tau_interval", "--open", "--out", &out]);
    let output = command.env("PATH", folder.path()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert!(error.contains("note: no program here opens"), "{error}");
    assert!(folder.path().join("runs/report.html").exists());
}
