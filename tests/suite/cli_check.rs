//! `list`, `show`, `check`, `eval` and `horizon`: JSON that agrees, results on any number of threads, and no input that
//! panics.

use crate::common::{CATALOGUE, attnlab, ended, json_lines, stderr};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const ID: &str = "aot.mssa_is_mhsa";

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn results_do_not_depend_on_threads() {
    let run = |threads: &str| {
        let mut lines = json_lines(&["check", ID, "--json", "--mutants", "--threads", threads, "--set", "tokens=90"]);
        for line in &mut lines {
            line["wall_s"] = Value::Null;
        }
        lines
    };
    assert_eq!(run("1"), run("2"));
    assert_eq!(run("1"), run("5"));
}

#[test]
fn list_and_show_agree_with_check() {
    let claims = json_lines(&["list", "--json"]);
    assert!(claims.iter().any(|c| c["id"] == ID));
    for claim in &claims {
        for key in ["id", "source", "title", "statement", "kind", "expected"] {
            assert!(claim[key].as_str().is_some_and(|s| !s.is_empty()), "{claim}");
        }
    }
    let card = &json_lines(&["show", ID, "--json"])[0];
    assert_eq!(card, &json_lines(&["list", ID, "--json"])[0]);
    let parameters: Vec<_> = card["parameters"].as_array().unwrap().iter().collect();
    let checked = &json_lines(&["check", ID, "--json", "--trials", "1"])[0]["parameters"];
    let names: Vec<_> = parameters.iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(names, keys(checked));
    for parameter in parameters {
        assert_eq!(parameter["default"], checked[parameter["name"].as_str().unwrap()]);
    }
    assert_eq!(card["mutants"][0]["name"], "scaled");
}

#[test]
fn every_formula_is_shown() {
    let listed = json_lines(&["list", "formulas", "--json"]);
    assert_eq!(listed.len(), CATALOGUE.formulas().count());
    for formula in listed {
        let id = formula["id"].as_str().unwrap();
        assert_eq!(json_lines(&["show", id, "--json"])[0]["id"], id);
    }
}

/// Results that a full disk does not take are not taken for written; help and the version are results too.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    for arguments in [&["--help"][..], &["sweep", "--help"], &["--version"], &["list"]] {
        let full = std::fs::File::create("/dev/full").unwrap();
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("attnlab"));
        let output = command.args(arguments).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains("standard output: No space left on device"), "{told}");
    }
}

/// `attnlab check --all --json | head -1`: the reader goes away, and nobody panics.
#[test]
fn a_closed_pipe_ends_the_command_quietly() {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("attnlab"))
        .args(["check", "--json", "--trials", "1", ID])
        .args(std::iter::repeat_n(ID, 40))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    assert!(first.starts_with("{\"claim\""), "{first}");
    drop(stdout);
    let output = ended(child);
    let error = stderr(&output);
    // After a minute a slow machine says how far it is.
    assert!(error.lines().all(|line: &str| line.contains(" of 41 steps, about ")), "{error}");
    // As a program that the signal itself ended; 0 if everything fitted into the pipe before.
    assert!(matches!(output.status.code(), Some(141 | 0)), "{:?}", output.status);
}

#[test]
fn horizon_of_one_draw() {
    let report = |threads| {
        let args = ["horizon", "--tokens", "1000", "--dim", "200", "--json", "--seed", "3", "--threads", threads];
        let mut report = json_lines(&args).remove(0);
        (report["wall_s"], report["gflops"]) = (Value::Null, Value::Null);
        report
    };
    let horizon = report("1");
    assert_eq!(horizon, report("2"));
    // N = 1000, K = 2, p = 200, delta at the end of (11): the pattern lasts to theta of about 5.
    let theta = horizon["theta_crit"].as_f64().unwrap();
    assert!((3.5..7.0).contains(&theta), "{theta}");
    let law = horizon["predicted"]["theta"].as_array().unwrap();
    assert!(law[0].as_f64() < law[1].as_f64() && law[1].as_f64() < law[2].as_f64());
    assert_eq!(horizon["witness"]["layer"].as_u64(), Some(horizon["exact_updates"].as_u64().unwrap()));
    assert!(horizon["witness"]["weight"].as_f64().unwrap() > 0.55);
}

#[test]
fn doctor_reports_what_it_measured() {
    let report = &json_lines(&["doctor", "--json", "--threads", "1"])[0];
    assert_eq!(report["threads"], 1);
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["temporary_folder"]["writable"], true);
    assert!(report["product_rate"]["f64_gflops"].as_f64().unwrap() > 0.0);
    assert_eq!(report["exact_intervals_up_to"], 100_000);
}

/// JSON values of every kind: sizes are small or impossibly large, nothing in between, so that a
/// case is either quick or refused.
fn any_value() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0_u64..9).prop_map(|n| n.to_string()),
        2 => (-3.0..3.0_f64).prop_map(|x| x.to_string()),
        3 => prop::sample::select(vec![
            "-1", "0", "1e-320", "1e308", "-1e308", "1e999", "NaN", "inf", "-0.0", "null", "true",
            "[]", "[1, 2]", "[[1, 0], [0, 1]]", "[[1], [2, 3]]", "{}", "\"\"", "\"softmax\"",
            "softmax", "hardmax", "18446744073709551615", "18446744073709551616", "1e15", "[", "é",
            "=", "a=b", "[1e308, -1e308]", "[null]",
        ])
        .prop_map(String::from),
    ]
}

/// Every claim and every formula with the names of its parameters.
fn known() -> Vec<(&'static str, String, Vec<String>)> {
    let names = |schema: attnlab::params::Schema| schema.iter().map(|s| s.name.into()).collect();
    let claims = crate::common::claims();
    let claims = claims.iter().map(|c| ("check", c.sheet().id.to_string(), names(c.schema())));
    claims.chain(crate::common::CATALOGUE.formulas().map(|f| ("eval", f.id.to_string(), names((f.schema)())))).collect()
}

fn arguments() -> impl Strategy<Value = Vec<String>> {
    let settings = prop::collection::vec((any::<prop::sample::Index>(), any_value()), 1..6);
    (prop::sample::select(known()), settings).prop_map(|((command, id, names), settings)| {
        let mut args = vec![command.to_string(), id, "--json".to_string()];
        if command == "check" {
            args.extend(["--trials", "2", "--beyond-hypotheses"].map(String::from));
        }
        for (index, value) in settings {
            let unknown = "unknown".to_string();
            let name = if names.is_empty() { &unknown } else { index.get(&names) };
            // All columns of 180 000 tokens are minutes of honest work.
            if name == "columns" && value.parse() == Ok(0.0) {
                continue;
            }
            args.extend(["--set".to_string(), format!("{name}={value}")]);
        }
        args
    })
}

proptest! {
    // Each case starts a process. The same cases every time, so that a case that asks for much work,
    // which is no mistake, does not come up by chance; PROPTEST_RNG_SEED tries others.
    #![proptest_config(ProptestConfig {
        cases: 150,
        failure_persistence: None,
        rng_seed: std::env::var("PROPTEST_RNG_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok())
            .unwrap_or(RngSeed::Fixed(1)),
        ..ProptestConfig::default()
    })]
    #[test]
    fn no_input_makes_the_command_panic(args in arguments()) {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = attnlab(&args).output().unwrap();
        let error = stderr(&output);
        prop_assert!(matches!(output.status.code(), Some(0..=2)), "{args:?}: {:?} {error}", output.status);
        prop_assert!(!error.contains("panicked"), "{args:?}: {error}");
        // One message when it refuses, none otherwise: on a slow machine too, since one check has no line of progress.
        prop_assert_eq!(error.lines().count(), usize::from(output.status.code() == Some(2)), "{:?}: {}", args, error);
    }
}
