//! More trials without losing a row: larger numbers of trials in a folder, `--times`, `--until-decided`.

use crate::common::{CATALOGUE, attnlab, json_lines, parsed_lines, small_snr, stderr};
use crate::sweeps::{MAP, files, parse, run, stopping};
use attnlab::error::Result;
use attnlab::run::Silent;
use attnlab::run::grid::GridOptions;
use attnlab::run::store::{Manifest, Shard};
use attnlab::sweep;
use std::fs;
use std::path::Path;

/// Runs the sweep into the folder on top of what is there, and returns the numbers of trials that were there and of
/// those that were computed.
fn on_top(text: &str, out: &Path) -> Result<(u64, u64)> {
    let report = sweep::run(&parse(text), &CATALOGUE, out, GridOptions::default(), &Silent)?;
    Ok((report.resumed, report.computed))
}

fn with_trials(text: &str, trials: u64) -> String {
    text.replace(text.lines().find(|l| l.starts_with("trials")).unwrap(), &format!("trials = {trials}"))
}

/// Cells of [`stopping`] that stop once they are decided.
fn until_decided() -> String {
    let map = stopping();
    let (map, _) = map.split_once("[stop]").unwrap();
    format!("{map}[stop]\nuntil = \"decided\"\nevery = 4\n")
}

/// A folder with more trials than before holds the bytes of a run that had them from the beginning, and none of its
/// rows was computed twice; for a fixed number of trials and for both stopping rules.
#[test]
fn a_topped_up_run_is_the_larger_run() {
    for text in [MAP.to_string(), stopping(), until_decided()] {
        let folder = tempfile::tempdir().unwrap();
        let (grown, whole) = (folder.path().join("grown"), folder.path().join("whole"));
        // 10 is no multiple of the stopping rules' 4 trials.
        let few = run(&with_trials(&text, 10), &grown, Shard::WHOLE).len() as u64;
        let (resumed, computed) = on_top(&with_trials(&text, 18), &grown).unwrap();
        assert_eq!(resumed, few);
        let many = run(&with_trials(&text, 18), &whole, Shard::WHOLE).len() as u64;
        assert_eq!(resumed + computed, many);
        assert!(computed > 0);
        assert_eq!(files(&grown), files(&whole));
        assert_eq!(on_top(&with_trials(&text, 18), &grown).unwrap(), (many, 0));
    }
}

/// The number of trials is edited in the file that the command was given; any other edit of it is another run.
#[test]
fn a_file_with_more_trials_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("map.toml"), folder.path().join("out"));
    let sweep = |text: &str| {
        fs::write(&file, text).unwrap();
        let args = ["sweep", &file.display().to_string(), "--out", &out.display().to_string()];
        let output = attnlab(&args).output().unwrap();
        (output.status.code(), stderr(&output))
    };
    let (few, many) = (with_trials(MAP, 2), with_trials(MAP, 3));
    assert_eq!(sweep(&few).0, Some(0));
    for _ in 0..2 {
        let (status, told) = sweep(&many);
        assert!(status == Some(0) && told.contains("trials were there already"), "{told}");
    }
    let (status, told) = sweep(&(many + "# a remark\n"));
    assert!(status == Some(2) && told.contains("a run on another settings file"), "{told}");
}

/// Cells that are far from their promise stop early, and those that are decided are so at their end.
#[test]
fn a_cell_stops_once_it_is_decided() {
    let folder = tempfile::tempdir().unwrap();
    run(&until_decided(), folder.path(), Shard::WHOLE);
    let cells = parsed_lines(&files(folder.path())[1]);
    let early = |cell: &&serde_json::Value| cell["trials"].as_u64().unwrap() < 40;
    assert!(cells.iter().any(|cell| early(&cell)));
    for cell in cells.iter().filter(early) {
        assert_ne!(cell["verdict"], "inconclusive", "{cell}");
        assert!(cell["budget"].as_str().unwrap().contains("until decided"), "{cell}");
    }
}

/// Fewer trials, other settings and shards are refused, and leave the folder as it is.
#[test]
fn what_is_no_larger_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    run(&with_trials(MAP, 6), &out, Shard::WHOLE);
    let before = (Manifest::of_folder(&out).unwrap(), files(&out));
    let error = |text: &str, out: &Path| on_top(text, out).unwrap_err().to_string();
    let fewer = error(&with_trials(MAP, 4), &out);
    assert!(fewer.contains("trials = 6, but this run has trials = 4"), "{fewer}");
    let other = error(&with_trials(MAP, 8).replace("layers = 6", "layers = 5"), &out);
    assert!(other.contains("--force"), "{other}");
    assert_eq!(before, (Manifest::of_folder(&out).unwrap(), files(&out)));

    let parts = folder.path().join("parts");
    run(&with_trials(MAP, 6), &parts, Shard { index: 0, count: 2 });
    let shards = error(&with_trials(MAP, 8), &parts);
    assert!(shards.contains("attnlab merge"), "{shards}");
}

#[test]
fn experiments_are_topped_up_by_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run").display().to_string();
    let rows = |trials: &str| {
        let words = [&["run", "snr_per_layer", "--out", &out, "--set", trials], &small_snr()[..]].concat();
        let output = attnlab(&words).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        fs::read_to_string(Path::new(&out).join("rows.jsonl")).unwrap()
    };
    let (few, many) = (rows("trials=2"), rows("trials=3"));
    assert_eq!(2 * many.lines().count(), 3 * few.lines().count());
    assert!(few.lines().all(|row| many.lines().any(|r| r == row)));
    let made_by = fs::read_to_string(Path::new(&out).join("made-by.json")).unwrap();
    assert!(made_by.contains("trials=3"), "{made_by}");
}

/// Verdicts of other numbers of trials stay; the report shows that of the largest number.
#[test]
fn reproduce_keeps_verdicts_of_fewer_trials() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("all").display().to_string();
    let reproduce = |more: &[&str]| {
        let words = [&["reproduce", "--only", "aot.mssa_is_mhsa", "--out", &out], more].concat();
        assert!(attnlab(&words).output().unwrap().status.success());
        fs::read_to_string(Path::new(&out).join("rows.jsonl")).unwrap()
    };
    let once = reproduce(&[]);
    let thrice = reproduce(&["--times", "3"]);
    assert_eq!(thrice.lines().count(), once.lines().count() + 1);
    assert!(once.lines().all(|row| thrice.lines().any(|r| r == row)));
    assert_eq!([reproduce(&["--times", "3"]), reproduce(&[])], [thrice.clone(), thrice]);
    let page = folder.path().join("page.html").display().to_string();
    assert!(attnlab(&["report", &out, "--out", &page]).output().unwrap().status.success());
    let html = fs::read_to_string(&page).unwrap();
    let trials = json_lines(&["check", "aot.mssa_is_mhsa", "--json"])[0]["trials"].as_u64().unwrap();
    assert!(html.contains(&format!("--trials {}", 3 * trials)));
}

#[test]
fn a_check_goes_on_until_it_decides() {
    let words = ["check", "denoise.a23", "--trials", "20", "--json"];
    let once = &json_lines(&words)[0];
    let until = &json_lines(&[&words[..], &["--until-decided"]].concat())[0];
    assert_ne!(until["verdict"], "inconclusive", "{until}");
    assert_eq!(until["looks"][0], 20);
    assert!(once.get("looks").is_none());
    // The same trials, whatever the looks: as many in one look have the same estimate.
    let trials = until["trials"].to_string();
    let same = &json_lines(&["check", "denoise.a23", "--trials", &trials, "--json"])[0];
    assert_eq!(until["estimate"]["value"], same["estimate"]["value"]);
}
