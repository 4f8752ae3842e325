//! Random command lines over every verb, drawn from what `--help` says of its options and arguments.

use crate::cli_unroll::npy;
use crate::common::{attnlab, output_of};
use attnlab::rng::{Generator, Streams};
use rand::RngExt;
use rand::seq::IndexedRandom;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use tempfile::TempDir;

const LINES: u64 = 150;

/// Values of every kind: right ones, and those at which parsers tend to stumble.
static VALUES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "0|1|2|7|-1|0.5|1e-300|1e308|nan|inf|-0.0|| |x|0/2|3/2|1/0|18446744073709551616|\
     99999999999999999999|0.05|λ|a=b|=|tokens=40|dim=12|dim=-3|delta=\"x\"|layers=[1,2]|tokens={}|\
     phi=softmax|aot.lemma1|aot.*|lsa.limit|snr_per_layer|aot.horizon_layers|toy.none|map.toml|rows|\
     z.npy|nothing.json|..|map.toml/x|csv|bash"
        .split('|')
        .collect()
});

/// Options and arguments of a verb.
struct Verb {
    name: String,
    /// Options, each with a flag: it takes a value.
    options: Vec<(String, bool)>,
    arguments: bool,
}

fn help(words: &[&str]) -> String {
    String::from_utf8(attnlab(&[words, &["--help"]].concat()).output().unwrap().stdout).unwrap()
}

fn verbs() -> Vec<Verb> {
    let help_of_all = help(&[]);
    let listed = help_of_all.split("Commands:").nth(1).unwrap().lines().skip(1).take_while(|line| !line.is_empty());
    // Lines that are indented further go on with a description.
    let names = listed.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    let verb = |name: &str| {
        let text = help(&[name]);
        let options = text.lines().filter_map(|line| {
            let line = line.trim_start();
            let mut words = line.strip_prefix("-h, ").unwrap_or(line).split_whitespace();
            let option = words.next().filter(|word| word.starts_with("--"))?;
            Some((option.to_string(), words.next().is_some_and(|word| word.starts_with(['<', '[']))))
        });
        Verb { name: name.into(), options: options.collect(), arguments: text.contains("Arguments:") }
    };
    names.filter(|name| *name != "help").map(verb).collect()
}

/// Draws a command line. Long work is stopped by its time limit, which is under test too.
fn line(verb: &Verb, rng: &mut Generator) -> Vec<String> {
    let mut line = vec![verb.name.clone()];
    let value = |rng: &mut Generator| VALUES.choose(rng).unwrap().to_string();
    if verb.arguments {
        line.extend((0..rng.random_range(0..3)).map(|_| value(rng)));
    }
    for _ in 0..rng.random_range(0..4) {
        let (option, takes_value) = verb.options.choose(rng).unwrap();
        line.push(option.clone());
        // Rarely a value too many or too few.
        if *takes_value != rng.random_bool(0.03) {
            line.push(value(rng));
        }
    }
    if !line.contains(&"--time-limit".to_string()) {
        line.extend(["--time-limit", "0.5"].map(String::from));
    }
    line
}

/// A sweep file, the rows of a sweep, and tokens.
fn furnished() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("map.toml"), "claim = 'aot.lemma1'\ntrials = 2\n[axes]\ndim = [8, 9]\n").unwrap();
    let mut sweep = assert_cmd::Command::cargo_bin("attnlab").unwrap();
    sweep.current_dir(&folder).args(["sweep", "map.toml", "--out", "rows"]);
    assert!(output_of(&mut sweep).unwrap().status.success());
    fs::write(folder.path().join("z.npy"), npy("<f8", false, "(6, 10)", &1.0_f64.to_le_bytes().repeat(60))).unwrap();
    folder
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copied = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &copied);
        } else {
            fs::copy(path, copied).unwrap();
        }
    }
}

/// Each line ends with a documented status, and nothing panics.
#[test]
fn any_command_line_ends_with_a_documented_status() {
    let verbs = verbs();
    assert!(verbs.len() > 15, "the help was misread");
    let streams = Streams::new(17, "tests.command_lines", 0, 0);
    let furnished = furnished();
    let statuses: Vec<i32> = (0..LINES)
        .into_par_iter()
        .map(|number| {
            let mut rng = streams.part("line", number);
            let line = line(&verbs[number as usize % verbs.len()], &mut rng);
            // One level down, so that `..` is ours too.
            let root = tempfile::tempdir().unwrap();
            let folder = root.path().join("here");
            copy(furnished.path(), &folder);
            let mut command = assert_cmd::Command::cargo_bin("attnlab").unwrap();
            // Without a program that `--open` could start.
            let output = output_of(command.args(&line).current_dir(&folder).env("PATH", &folder)).unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            let status = output.status.code().unwrap();
            let shown = format!("{line:?}: {status}\n{told}");
            assert!(matches!(status, 0..=3 | 130), "{shown}");
            assert!(!told.contains("panicked"), "{shown}");
            // Whatever is refused is explained.
            assert!(status != 2 || !told.trim().is_empty(), "{shown}");
            status
        })
        .collect();
    let mut counts: BTreeMap<i32, u64> = BTreeMap::new();
    statuses.into_iter().for_each(|status| *counts.entry(status).or_default() += 1);
    // Lines that are all refused would test the grammar alone.
    let refused = counts.get(&2).copied().unwrap_or(0);
    assert!(LINES - refused > LINES / 20, "{counts:?}");
}
