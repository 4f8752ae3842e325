//! `run`, `figure`, `horizon` and `reproduce`, and the binaries of the experiments.

use crate::common::{attnlab, json_lines};
use serde_json::Value;
use std::path::Path;

/// The smallest run that still has every curve.
fn small_run(out: &Path, rest: &[&str]) -> std::process::Output {
    let out = out.display().to_string();
    let mut args = vec!["run", "snr_per_layer", "--quick", "--out", &out];
    let sizes = ["trials=2", "layers=3", "tokens=60", "dim=20", "figure4_tokens=60"];
    args.extend(sizes.iter().flat_map(|s| ["--set", s]));
    attnlab(&[&args[..], rest].concat()).output().unwrap()
}

#[test]
fn rows_and_pictures_and_the_pictures_again() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, plots) = (folder.path().join("rows"), folder.path().join("plots"));
    let first = small_run(&rows, &[]);
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    let paths = String::from_utf8(first.stdout).unwrap();
    assert!(paths.lines().count() >= 3 && paths.lines().all(|p| Path::new(p).is_file()), "{paths}");
    // The same command again computes nothing and gives the same.
    let again = small_run(&rows, &[]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("0 computed now"));
    assert_eq!(String::from_utf8(again.stdout).unwrap(), paths);
    // Another seed does not overwrite.
    let other = small_run(&rows, &["--seed", "1"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&other.stderr).contains("--force"));
    // From the rows alone, the same pictures to the bit.
    let (r, p) = (rows.display().to_string(), plots.display().to_string());
    let args = ["figure", "snr_per_layer", "--rows", &r, "--out", &p];
    assert_eq!(attnlab(&args).output().unwrap().status.code(), Some(0));
    // Dictionaries of a PDF have no fixed order.
    let pictures = paths.lines().filter(|path| !path.ends_with(".pdf"));
    for path in pictures {
        let name = Path::new(path).file_name().unwrap();
        assert_eq!(std::fs::read(path).unwrap(), std::fs::read(plots.join(name)).unwrap());
    }
}

#[test]
fn a_wrong_setting_is_named_with_what_to_write_instead() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("rows");
    for (set, message) in [
        ("layers=-1", "layers = -1: must be a whole number >= 0, such as 14"),
        (
            "noise=[0.1, \"x\"]",
            "noise = [0.1, \"x\"]: must be a list whose entries are like those of \
             [0.03125, 0.0625, 0.125, 0.25]",
        ),
        ("eta=fast", "eta = \"fast\": must be a TOML float, such as 0.5"),
        ("layer=3", "unknown setting 'layer'; did you mean layers?"),
    ] {
        let path = out.display().to_string();
        let args = ["run", "snr_per_layer", "--out", &path, "--set", set];
        let refused = attnlab(&args).output().unwrap();
        let error = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{error}");
        assert!(error.contains(message), "{error}");
    }
    assert!(!out.exists(), "nothing is written for a refused run");
}

#[test]
fn horizon_of_one_draw() {
    let args = |threads| ["horizon", "--tokens", "1000", "--dim", "200", "--json", "--seed", "3", "--threads", threads];
    let mut one = json_lines(&args("1")).remove(0);
    let mut two = json_lines(&args("2")).remove(0);
    for report in [&mut one, &mut two] {
        report["wall_s"] = Value::Null;
        report["gflops"] = Value::Null;
    }
    assert_eq!(one, two);
    // N = 1000, K = 2, p = 200, delta at the end of (11): the pattern lasts to theta of about 5.
    let theta = one["theta_crit"].as_f64().unwrap();
    assert!((3.5..7.0).contains(&theta), "{theta}");
    let law = one["predicted"]["theta"].as_array().unwrap();
    assert!(law[0].as_f64() < law[1].as_f64() && law[1].as_f64() < law[2].as_f64());
    let updates = one["exact_updates"].as_u64().unwrap();
    assert_eq!(one["witness"]["layer"].as_u64(), Some(updates));
    assert!(one["witness"]["weight"].as_f64().unwrap() > 0.55);
    for (bad, message) in [
        (["--tokens", "1001"], "tokens = 1001: must be a positive multiple of clusters = 2"),
        (["--tokens", "0"], "tokens = 0: must be a whole number >= 1"),
        (["--tau", "1.5"], "tau = 1.5: must be a number in (0, 1]"),
        (["--eta", "0"], "eta = 0: must be a finite number > 0"),
        (["--delta", "-1"], "delta = -1: must be a finite number >= 0"),
        (["--delta", "NaN"], "delta = NaN: must be a finite number"),
    ] {
        crate::common::refused(&["horizon", bad[0], bad[1]], message);
    }
    let output = attnlab(&["horizon", "--tokens", "1e12"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("error: the horizon of one draw needs "), "{error}");
}

#[test]
fn reproduce_goes_on_where_it_was_and_overwrites_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("all").display().to_string();
    let run = |rest: &[&str]| {
        let only = ["reproduce", "--out", &out, "--only", "aot.mssa_is_mhsa"];
        attnlab(&[&only[..], rest].concat()).output().unwrap()
    };
    let first = run(&[]);
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    let text = String::from_utf8(first.stdout).unwrap();
    assert!(text.contains("4 of 4 mutants refuted") && text.contains("report.html"), "{text}");
    let report = folder.path().join("all/report.html");
    assert!(std::fs::read_to_string(&report).unwrap().contains("aot.mssa_is_mhsa"));
    let rows = folder.path().join("all/rows.jsonl");
    let whole = std::fs::read_to_string(&rows).unwrap();
    assert_eq!(whole.lines().count(), 5);
    // Killed while writing the last row: the torn line is dropped, the others are used.
    let cut = whole.trim_end().len() - 20;
    std::fs::write(&rows, &whole[..cut]).unwrap();
    let second = run(&[]);
    assert_eq!(second.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&second.stderr).contains("torn"));
    let again = std::fs::read_to_string(&rows).unwrap();
    assert_eq!(again.lines().count(), 5);
    assert_eq!(again.lines().take(4).collect::<Vec<_>>(), whole.lines().take(4).collect::<Vec<_>>());
    assert_eq!(String::from_utf8(second.stdout).unwrap(), text);
    // Another seed is another run.
    let other = run(&["--seed", "1"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&other.stderr).contains("--force"));
    assert_eq!(std::fs::read_to_string(&rows).unwrap(), again);
    assert_eq!(run(&["--seed", "1", "--force"]).status.code(), Some(0));
    crate::common::refused(
        &["reproduce", "--only", "snr_per_laye"],
        "unknown claim or experiment 'snr_per_laye'; did you mean snr_per_layer?",
    );
}
