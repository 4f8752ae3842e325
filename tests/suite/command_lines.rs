//! Random command lines over every verb, drawn from what `--help` says of its options and arguments.

use attnlab::rng::{Generator, Streams};
use rand::RngExt;
use rand::seq::IndexedRandom;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Seconds that a command gives itself. Longer work is stopped by its own limit, which is under test too.
const TIME_LIMIT: &str = "2";

/// Time after which a command counts as stuck: its own limit, and a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Verbs left out: `audit` limits each of its processes and not itself, `help` reads no values.
const LEFT_OUT: [&str; 2] = ["audit", "help"];

/// Values of every kind: right ones, and those at which parsers tend to stumble.
const VALUES: [&str; 44] = [
    "0",
    "1",
    "2",
    "7",
    "-1",
    "0.5",
    "1e-300",
    "1e308",
    "nan",
    "inf",
    "-0.0",
    "",
    " ",
    "x",
    "0/2",
    "3/2",
    "1/0",
    "18446744073709551616",
    "99999999999999999999",
    "0.05",
    "λ",
    "a=b",
    "=",
    "tokens=40",
    "dim=12",
    "dim=-3",
    "delta=\"x\"",
    "layers=[1,2]",
    "tokens={}",
    "phi=softmax",
    "aot.lemma1",
    "aot.*",
    "lsa.limit",
    "snr_per_layer",
    "aot.horizon_layers",
    "toy.none",
    "map.toml",
    "rows",
    "z.npy",
    "nothing.json",
    "..",
    "map.toml/x",
    "csv",
    "bash",
];

/// Options and arguments of one verb, as its help shows them.
struct Verb {
    name: String,
    /// Option, and whether it takes a value.
    options: Vec<(String, bool)>,
    arguments: bool,
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_attnlab"))
}

fn help(arguments: &[&str]) -> String {
    let output = program().args(arguments).arg("--help").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn verbs() -> Vec<Verb> {
    let all = help(&[]);
    let listed = all.split("Commands:").nth(1).unwrap();
    let names = listed.lines().skip(1).take_while(|line| !line.is_empty());
    let names = names
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| !LEFT_OUT.contains(name));
    names
        .map(|name| {
            let text = help(&[name]);
            let options = text.lines().filter_map(|line| {
                let line = line.trim_start();
                let line = line.strip_prefix("-h, ").unwrap_or(line);
                let mut words = line.split_whitespace();
                let option = words.next().filter(|word| word.starts_with("--"))?;
                let value = words.next().is_some_and(|word| word.starts_with(['<', '[']));
                Some((option.to_string(), value))
            });
            Verb { name: name.to_string(), options: options.collect(), arguments: text.contains("Arguments:") }
        })
        .collect()
}

fn line(verb: &Verb, rng: &mut Generator) -> Vec<String> {
    let mut line = vec![verb.name.clone()];
    let value = |rng: &mut Generator| VALUES.choose(rng).expect("values").to_string();
    if verb.arguments {
        for _ in 0..rng.random_range(0..3) {
            line.push(value(rng));
        }
    }
    for _ in 0..rng.random_range(0..5) {
        let (option, takes_value) = verb.options.choose(rng).expect("every verb has --help");
        line.push(option.clone());
        if *takes_value != rng.random_bool(0.03) {
            line.push(value(rng));
        }
    }
    if !line.iter().any(|word| word == "--time-limit") {
        line.extend(["--time-limit".to_string(), TIME_LIMIT.to_string()]);
    }
    line
}

/// Makes one file of each kind that the values name.
fn furnish(folder: &Path) {
    let map = "claim = 'aot.lemma1'\ntrials = 2\n[axes]\ndim = [8, 9]\n";
    fs::write(folder.join("map.toml"), map).unwrap();
    let arguments = ["sweep", "map.toml", "--out", "rows"];
    let swept = program().current_dir(folder).args(arguments).output();
    assert!(swept.unwrap().status.success());
    let tokens = ndarray::Array2::<f64>::ones((6, 10));
    ndarray_npy::write_npy(folder.join("z.npy"), &tokens).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// `ATTNLAB_COMMAND_LINES` is the number of lines. Each ends with a documented status, in time, and nothing panics.
#[test]
fn any_command_line_ends_with_a_documented_status() {
    let lines = std::env::var("ATTNLAB_COMMAND_LINES").map_or(150, |n| n.parse().unwrap());
    let verbs = verbs();
    assert!(verbs.len() > 15, "the help was misread");
    let furnished = tempfile::tempdir().unwrap();
    furnish(furnished.path());
    let streams = Streams::new(17, "command lines", 0, 0);
    let mut counts = std::collections::BTreeMap::new();
    for number in 0..lines {
        let mut rng = streams.part("line", number);
        let verb = &verbs[number as usize % verbs.len()];
        let line = line(verb, &mut rng);
        // One level down, so that `..` is ours too.
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("here");
        copy(furnished.path(), &folder);
        let begun = Instant::now();
        let child = program()
            .args(&line)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        let status = output.status.code();
        let shown = format!("{line:?}: {status:?}\n{told}");
        assert!(matches!(status, Some(0..=3)), "{shown}");
        assert!(!told.contains("panicked"), "{shown}");
        assert!(begun.elapsed() < PATIENCE, "{shown}");
        // Whatever is refused is explained.
        assert!(status != Some(2) || !told.trim().is_empty(), "{shown}");
        *counts.entry(status).or_insert(0) += 1;
    }
    println!("{lines} command lines by exit status: {counts:?}");
    // Lines that are all refused would test the grammar alone.
    let accepted = counts.get(&Some(0)).copied().unwrap_or(0);
    assert!(accepted * 20 > lines, "{counts:?}");
}
