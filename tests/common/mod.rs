//! Starting the command in tests.

use assert_cmd::Command;
use serde_json::Value;

/// The `attnlab` command with these arguments; a minute is far more than any of them needs.
pub fn attnlab(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("attnlab").unwrap();
    command
        .args(args)
        .timeout(std::time::Duration::from_secs(60));
    command
}

/// Standard output, one JSON object per line.
#[allow(
    dead_code,
    reason = "not every test file that shares this module reads output"
)]
pub fn json_lines(args: &[&str]) -> Vec<Value> {
    let output = attnlab(args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    text.lines().map(parse).collect()
}

/// Asserts exit status 2, nothing on standard output, and exactly this message on standard error.
#[allow(
    dead_code,
    reason = "not every test file that shares this module refuses input"
)]
pub fn refused(args: &[&str], message: &str) {
    let output = attnlab(args).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(error.trim_end(), format!("error: {message}"), "{args:?}");
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
}
