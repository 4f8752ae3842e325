//! Replay of the corpora with seeded mutations.

use crate::{TARGETS, Target, mutation};
use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Number of mutations of a target, more where [`SECONDS`] asks for them.
const CASES: u64 = 500;

/// Variable with the least time (seconds) that each target gets.
const SECONDS: &str = "ATTNLAB_FUZZ_SECONDS";

/// Variable with the seed, that of all random cases of the tests.
const SEED: &str = "PROPTEST_RNG_SEED";

const CORPORA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");

/// Runs a target on its corpus and on mutations of it.
pub(crate) fn replay(name: &str, target: Target) {
    let whole = |variable: &str| env::var(variable).ok().and_then(|text| text.parse::<u64>().ok());
    let (seed, seconds) = (whole(SEED).unwrap_or(1), Duration::from_secs(whole(SECONDS).unwrap_or(0)));
    let (files, corpus): (Vec<String>, Vec<Vec<u8>>) = corpus(name).into_iter().unzip();
    for (file, bytes) in files.iter().zip(&corpus) {
        attempt(target, bytes, &format!("{name}: the input {file}"));
    }
    let began = Instant::now();
    let mut case = 0;
    while case < CASES || began.elapsed() < seconds {
        attempt(target, &mutation::case(name, &corpus, seed, case), &format!("{name}: case {case} of {SEED}={seed}"));
        case += 1;
    }
    println!("{name}: {case} cases in {:.1} s", began.elapsed().as_secs_f64());
}

/// The committed inputs of a target, by name. Those that cargo-fuzz adds have no extension.
fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(CORPORA).join(name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry of a corpus").path()).collect();
    paths.retain(|path| path.extension().is_some());
    paths.sort();
    assert!(!paths.is_empty(), "{}: must have inputs", folder.display());
    let read = |path: &Path| fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    paths.iter().map(|path| (path.file_name().unwrap_or_default().to_string_lossy().into(), read(path))).collect()
}

fn attempt(target: Target, bytes: &[u8], place: &str) {
    if catch_unwind(AssertUnwindSafe(|| target(bytes))).is_err() {
        panic!("{place}: must be read or refused; put it into the corpus: b\"{}\"", bytes.escape_ascii());
    }
}

#[test]
fn targets_are_complete() {
    let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    let manifest: toml::Table = include_str!("../Cargo.toml").parse().unwrap();
    let binaries = manifest["bin"].as_array().unwrap().iter();
    let binaries: Vec<(&str, &str)> =
        binaries.map(|bin| (bin["name"].as_str().unwrap(), bin["path"].as_str().unwrap())).collect();
    let expected: Vec<String> = names.iter().map(|name| format!("fuzz_targets/{name}.rs")).collect();
    assert_eq!(binaries, names.iter().copied().zip(expected.iter().map(String::as_str)).collect::<Vec<_>>());
    let entries = fs::read_dir(CORPORA).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut folders: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into()).collect();
    folders.sort();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(folders, sorted);
}
