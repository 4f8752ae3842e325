//! `list`, `show`, `check` and `eval` as a user meets them: JSON, exit status, messages.

use crate::common::{attnlab, json_lines, refused};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const ID: &str = "aot.mssa_is_mhsa";

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn check_json_has_the_documented_keys_in_order() {
    let lines = json_lines(&["check", ID, "--json", "--trials", "8"]);
    assert_eq!(lines.len(), 1);
    let documented = [
        "claim",
        "source",
        "parameters",
        "hypotheses",
        "kind",
        "trials",
        "failures",
        "estimate",
        "verdict",
        "expected",
        "seed",
        "wall_s",
        "version",
    ];
    let found = keys(&lines[0]);
    let common: Vec<_> = found.iter().filter(|k| documented.contains(k)).copied().collect();
    assert_eq!(common, documented);
    assert_eq!(keys(&lines[0]["estimate"]), ["value", "low", "high", "level"]);
    assert_eq!(lines[0]["verdict"], "supported");
    assert_eq!(lines[0]["kind"], "identity");
    assert_eq!(lines[0]["trials"], 8);
}

#[test]
fn mutants_are_refuted_and_marked() {
    let lines = json_lines(&["check", ID, "--json", "--mutants", "--trials", "3"]);
    let names: Vec<_> = lines.iter().map(|l| l["mutant"].as_str()).collect();
    let mutants = ["scaled", "nearly", "rows", "swapped"].map(Some);
    assert_eq!(names, [&[None], &mutants[..]].concat());
    for mutant in &lines[1..] {
        assert_eq!(mutant["verdict"], "refuted");
        assert_eq!(mutant["expected"], "refuted");
    }
}

#[test]
fn exit_status_says_whether_verdicts_are_as_expected() {
    attnlab(&["check", ID]).assert().code(0);
    // Three horizons cannot decide whether a distribution is the predicted one.
    attnlab(&["check", "aot.horizon_law", "--trials", "3"])
        .assert()
        .code(1)
        .stdout(predicates::str::contains("inconclusive (UNEXPECTED: supported was expected)"));
    attnlab(&["check", "aot.nonsense"]).assert().code(2);
    attnlab(&["--help"]).assert().code(0);
    attnlab(&["--version"]).assert().code(0);
    attnlab(&[]).assert().code(2);
}

#[test]
fn results_do_not_depend_on_threads() {
    let run = |threads: &str| {
        let args = ["check", ID, "--json", "--mutants", "--threads", threads, "--set", "tokens=90"];
        let mut lines = json_lines(&args);
        for line in &mut lines {
            line["wall_s"] = Value::Null;
        }
        lines
    };
    assert_eq!(run("1"), run("2"));
    assert_eq!(run("1"), run("5"));
}

#[test]
fn parameters_come_from_settings_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("params.json");
    std::fs::write(&file, r#"{"tokens": 30, "dim": 4}"#).unwrap();
    let file = file.to_str().unwrap();
    let args = [
        "check",
        ID,
        "--json",
        "--trials",
        "2",
        "--input",
        file,
        "--set",
        "dim=5",
        "--set",
        "phi=hardmax",
        "--set",
        "clusters=1e0",
    ];
    let parameters = &json_lines(&args)[0]["parameters"];
    assert_eq!(parameters["tokens"], 30);
    assert_eq!(parameters["dim"], 5);
    assert_eq!(parameters["phi"], "hardmax");
    assert_eq!(parameters["clusters"], 1);
    std::fs::write(folder.path().join("bad.json"), "[1]").unwrap();
    let bad = folder.path().join("bad.json");
    let bad = bad.to_str().unwrap();
    let message = format!("{bad}: must be one JSON object, such as {{\"tokens\": 2000}}");
    refused(&["check", ID, "--input", bad], &message);
}

#[test]
fn messages_say_what_to_write_instead() {
    let check = |rest: &[&'static str], message: &str| {
        refused(&[&["check", ID][..], rest].concat(), message);
    };
    check(&["--set", "tokens=2.5"], "tokens = 2.5: must be a whole number from 1 to 1000");
    check(&["--set", "tokens=-3"], "tokens = -3: must be a whole number from 1 to 1000");
    check(&["--set", "tokens=many"], "tokens = \"many\": must be a whole number from 1 to 1000");
    check(&["--set", "delta=-1"], "delta = -1: must be a finite number >= 0");
    check(&["--set", "delta=NaN"], "delta = \"NaN\": must be a finite number >= 0");
    check(&["--set", "tau=1.5"], "tau = 1.5: must be a number in (0, 1]");
    check(&["--set", "clusters=7"], "tokens = 60: must be a positive multiple of clusters = 7");
    check(&["--set", "token=5"], "unknown parameter 'token'; did you mean tokens?");
    check(&["--set", "tokens"], "set = tokens: must be NAME=VALUE, such as --set tokens=2000");
    check(&["--trials", "0"], "trials = 0: must be a whole number >= 1");
    check(&["--trials", "-5"], "trials = -5: must be a whole number >= 1");
    check(&["--trials", "1e9"], "trials = 1000000000: must be a whole number from 1 to 100000");
    check(&["--level", "2"], "level = 2: must be a number in (0, 1), such as 0.95");
    check(&["--level", "NaN"], "level = NaN: must be a number in (0, 1), such as 0.95");
    check(&["--threads", "0"], "threads = 0: must be a whole number from 1 to 1024");
    refused(&["check", "aot.mssa_is_mhs"], "unknown claim 'aot.mssa_is_mhs'; did you mean aot.mssa_is_mhsa?");
    refused(&["check", "nothing.*"], "ID = nothing.*: must be the beginning of a claim's id. See `attnlab list`");
}

#[test]
fn what_does_not_fit_into_memory_is_refused_up_front() {
    for (set, expected) in [
        ("tokens=1e12", "error: one trial needs 2.4 PB of memory and "),
        ("tokens=1e19", "error: tokens = 10000000000000000000: must be smaller; "),
        ("dim=1e12", "error: tokens = 200000: must be smaller; "),
    ] {
        let output = attnlab(&["check", "aot.theorem1", "--set", set]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(output.status.code(), Some(2), "{set}: {error}");
        assert!(error.starts_with(expected), "{error}");
    }
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
    let text = attnlab(&["show", ID]).output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    for word in ["statement as printed", "parameters", "mutants", "expected verdict", "tokens"] {
        assert!(text.contains(word), "no '{word}' in {text}");
    }
    attnlab(&["show", "aot.mssa"]).assert().code(2);
}

#[test]
fn eval_gives_all_digits_and_says_where_from() {
    let found = &json_lines(&["eval", "aot.min_tokens", "--set", "clusters=2", "--json"])[0];
    assert_eq!(keys(found), ["formula", "parameters", "value", "source"]);
    // (11) holds from N = 177 515 on at K = 2: mpmath.findroot, 30 digits.
    assert_eq!(found["value"], 177_515);
    assert_eq!(found["parameters"], json!({ "clusters": 2 }));
    refused(&["eval", "aot.min_token"], "unknown formula 'aot.min_token'; did you mean aot.min_tokens?");
    for formula in json_lines(&["list", "formulas", "--json"]) {
        let id = formula["id"].as_str().unwrap();
        assert_eq!(json_lines(&["show", id, "--json"])[0]["id"], id);
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
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    // As a program that the signal itself ended; 0 if everything fitted into the pipe before.
    assert!(matches!(output.status.code(), Some(141 | 0)), "{:?}", output.status);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_not_a_panic() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(assert_cmd::cargo::cargo_bin("attnlab")).args(["list"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr).to_string();
    assert!(error.starts_with("error: standard output: No space left"), "{error}");
}

#[test]
fn help_has_examples_and_completions_are_there() {
    let help = attnlab(&["--help"]).output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    for word in ["check", "unroll", "eval", "doctor", "Examples:", "Exit status"] {
        assert!(help.contains(word), "no '{word}' in {help}");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = attnlab(&["completions", shell]).output().unwrap().stdout;
        assert!(String::from_utf8(script).unwrap().contains("beyond-hypotheses"), "{shell}");
    }
}

#[test]
fn doctor_reports_what_it_measured() {
    let report = &json_lines(&["doctor", "--json", "--threads", "1"])[0];
    assert_eq!(report["threads"], 1);
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["temporary_folder"]["writable"], true);
    assert!(report["product_rate"]["f64_gflops"].as_f64().unwrap() > 0.01);
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
    let formulas = crate::common::CATALOGUE.formulas().map(|f| ("eval", f.id.to_string(), names((f.schema)())));
    claims.chain(formulas).collect()
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
        let error = String::from_utf8_lossy(&output.stderr).to_string();
        prop_assert!(matches!(output.status.code(), Some(0..=2)), "{args:?}: {:?} {error}", output.status);
        prop_assert!(!error.contains("panicked"), "{args:?}: {error}");
        // One message when it refuses, none otherwise.
        prop_assert_eq!(error.lines().count(), usize::from(output.status.code() == Some(2)), "{:?}: {}", args, error);
    }
}
