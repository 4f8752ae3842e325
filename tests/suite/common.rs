//! Starting the command in tests, and the catalogue.

use assert_cmd::Command;
use attnlab::catalogue::Catalogue;
use attnlab::claim::Claim;
use attnlab::experiment::Entry;
use serde_json::Value;
use std::sync::{Arc, LazyLock};

/// The `attnlab` command with these arguments; a minute is far more than any of them needs.
pub fn attnlab(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("attnlab").unwrap();
    command.args(args).timeout(std::time::Duration::from_secs(60));
    command
}

/// Standard output, one JSON object per line.
pub fn json_lines(args: &[&str]) -> Vec<Value> {
    let output = attnlab(args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    text.lines().map(parse).collect()
}

/// Asserts exit status 2, nothing on standard output, and exactly this message on standard error.
pub fn refused(args: &[&str], message: &str) {
    let output = attnlab(args).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(error.trim_end(), format!("error: {message}"), "{args:?}");
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
}

/// The catalogue of this repository.
pub static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    // Rows of the tests are compared with those of the program, which is of the same sources.
    attnlab::state_build();
    attnlab::catalogue()
});

/// Every claim.
pub fn claims() -> Vec<Arc<dyn Claim>> {
    CATALOGUE.claims().cloned().collect()
}

/// The claim with this id.
pub fn claim(id: &str) -> Arc<dyn Claim> {
    CATALOGUE.claim(id).unwrap().clone()
}

/// The experiment of this name.
pub fn experiment(name: &str) -> &'static Entry {
    CATALOGUE.experiment(name).unwrap()
}
