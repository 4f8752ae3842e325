//! More trials without losing a row: `--top-up`, `--times`, `--until-decided`.

use crate::common::{CATALOGUE, attnlab, json_lines, refused};
use crate::sweeps::{MAP, files, parse, run, stopping};
use attnlab::error::Result;
use attnlab::run::Silent;
use attnlab::run::grid::{Finished, GridOptions};
use attnlab::run::store::{Manifest, Shard};
use attnlab::sweep;
use std::fs;
use std::path::Path;

/// Runs the sweep into the folder on top of what is there.
fn topped_up(text: &str, out: &Path) -> Result<Finished> {
    let options = GridOptions { top_up: true, ..GridOptions::default() };
    sweep::run(&parse(text), &CATALOGUE, out, options, &Silent)
}

fn with_trials(text: &str, trials: u64) -> String {
    let line = text.lines().find(|l| l.starts_with("trials")).unwrap();
    text.replace(line, &format!("trials = {trials}"))
}

/// The same rules, and cells that stop once they are decided.
fn decided() -> String {
    let (map, _) = stopping().split_once("[stop]").map(|(a, b)| (a.to_string(), b.to_string())).unwrap();
    map + "[stop]\nuntil = \"decided\"\nevery = 4\n"
}

/// A folder that was topped up holds the bytes of a run that had the larger number from the beginning, and none of its
/// rows was computed twice; for a fixed number of trials and for both stopping rules.
#[test]
fn a_topped_up_run_is_the_larger_run() {
    for text in [MAP.to_string(), stopping(), decided()] {
        let folder = tempfile::tempdir().unwrap();
        let (grown, whole) = (folder.path().join("grown"), folder.path().join("whole"));
        // 10 is no multiple of the stopping rules' 4 trials.
        let few = run(&with_trials(&text, 10), &grown, Shard::WHOLE).len() as u64;
        let more = topped_up(&with_trials(&text, 18), &grown).unwrap();
        assert_eq!(more.resumed, few);
        let all = run(&with_trials(&text, 18), &whole, Shard::WHOLE).len() as u64;
        assert_eq!(more.resumed + more.computed, all);
        assert!(more.computed > 0);
        assert_eq!(files(&grown), files(&whole));
        // It is that run now: the flag is no longer needed.
        let again = sweep::run(&parse(&with_trials(&text, 18)), &CATALOGUE, &grown, GridOptions::default(), &Silent);
        assert_eq!(again.unwrap().computed, 0);
    }
}

/// Rows that the new run does not have are refused before anything is written, as are other settings and shards.
#[test]
fn what_is_no_larger_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    run(&with_trials(MAP, 6), &out, Shard::WHOLE);
    let before = (Manifest::of_folder(&out).unwrap(), files(&out));
    let error = |text: &str, out: &Path| topped_up(text, out).unwrap_err().to_string();
    let fewer = error(&with_trials(MAP, 4), &out);
    assert!(fewer.contains("rows.jsonl") && fewer.contains("trial"), "{fewer}");
    let other = error(&with_trials(MAP, 8).replace("layers = 6", "layers = 5"), &out);
    assert!(other.contains("--force"), "{other}");
    assert_eq!(before, (Manifest::of_folder(&out).unwrap(), files(&out)));

    let parts = folder.path().join("parts");
    run(&with_trials(MAP, 6), &parts, Shard { index: 0, count: 2 });
    let shards = error(&with_trials(MAP, 8), &parts);
    assert!(shards.contains("attnlab merge"), "{shards}");

    // Without the flag the message names it.
    let plain = sweep::run(&parse(&with_trials(MAP, 8)), &CATALOGUE, &out, GridOptions::default(), &Silent);
    let plain = plain.unwrap_err().to_string();
    assert!(plain.contains("trials = 6") && plain.contains("write --top-up"), "{plain}");
}

#[test]
fn experiments_and_sweeps_are_topped_up_by_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run").display().to_string();
    let small = ["tokens=40", "dim=12", "layers=3", "figure4_tokens=20", "figure4_clusters=2", "figure4_dim=6"];
    let run = |trials: &str, more: &[&str]| {
        let mut words = vec!["run", "snr_per_layer", "--out", &out, "--set", trials];
        for setting in small {
            words.extend(["--set", setting]);
        }
        words.extend(more);
        let output = attnlab(&words).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(run("trials=2", &[]).0, Some(0));
    let (status, error) = run("trials=3", &[]);
    assert!(status == Some(2) && error.contains("--top-up"), "{error}");
    let (status, error) = run("trials=3", &["--top-up"]);
    assert_eq!(status, Some(0), "{error}");
    let made_by = fs::read_to_string(Path::new(&out).join("made-by.json")).unwrap();
    assert!(made_by.contains("trials=3"), "{made_by}");
    let (status, error) = run("trials=4", &["--top-up", "--force"]);
    assert!(status == Some(2) && error.contains("--force"), "{error}");
}

/// Verdicts of other numbers of trials stay; the report tells the one of the largest number.
#[test]
fn reproduce_keeps_verdicts_of_fewer_trials() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("all").display().to_string();
    let reproduce = |more: &[&str]| {
        let words = [&["reproduce", "--only", "aot.mssa_is_mhsa", "--out", &out], more].concat();
        attnlab(&words).assert().success();
        fs::read_to_string(Path::new(&out).join("rows.jsonl")).unwrap()
    };
    let once = reproduce(&[]);
    let thrice = reproduce(&["--times", "3"]);
    assert_eq!(thrice.lines().count(), once.lines().count() + 1);
    assert!(once.lines().all(|row| thrice.lines().any(|r| r == row)));
    assert_eq!(reproduce(&["--times", "3"]), thrice);
    assert_eq!(reproduce(&[]), thrice);
    let page = folder.path().join("page.html").display().to_string();
    attnlab(&["report", &out, "--out", &page]).assert().success();
    let html = fs::read_to_string(&page).unwrap();
    let trials = json_lines(&["check", "aot.mssa_is_mhsa", "--json"])[0]["trials"].as_u64().unwrap();
    assert!(html.contains(&format!("--trials {}", 3 * trials)));
}

#[test]
fn a_check_goes_on_until_it_decides() {
    let words = ["check", "denoise.a23", "--trials", "20", "--json"];
    let once = &json_lines(&words)[0];
    let until = &json_lines(&[&words[..], &["--until-decided"]].concat())[0];
    assert_eq!(until["claim"], once["claim"]);
    assert_ne!(until["verdict"], "inconclusive", "{until}");
    let told = until["stopping"].as_str().unwrap();
    assert!(told.starts_with("until decided: looked after 20"), "{told}");
    assert!(once.get("stopping").is_none());
    // The same trials, whatever the looks: as many in one look have the same estimate.
    let trials = until["trials"].to_string();
    let same = &json_lines(&["check", "denoise.a23", "--trials", &trials, "--json"])[0];
    assert_eq!(until["estimate"]["value"], same["estimate"]["value"]);
    refused(
        &["check", "aot.lemma1", "--trials", "50", "--until-decided=20"],
        "until-decided = 20: must be a whole number from 50, the trials of the first look, to 100000",
    );
}
