//! `attnlab audit`.

use crate::common::attnlab;
use std::fs;

fn audit(folder: &std::path::Path, more: &[&str]) -> std::process::Output {
    let out = folder.to_str().unwrap();
    let first = ["audit", "--only", "aot.lemma1", "notes.attention_cost_exact", "--settings", "3", "--out", out];
    attnlab(&[&first[..], more].concat()).output().unwrap()
}

#[test]
fn an_audit_is_resumed_and_sharded_to_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
    let output = audit(&whole, &[]);
    assert!(output.status.success(), "{output:?}");
    let rows = fs::read_to_string(whole.join("rows.jsonl")).unwrap();
    assert_eq!(rows.lines().count(), 6);
    // Cut off in the middle of a row, as by a kill.
    fs::write(whole.join("rows.jsonl"), &rows[..rows.len() / 2]).unwrap();
    audit(&whole, &[]);
    assert_eq!(fs::read_to_string(whole.join("rows.jsonl")).unwrap(), rows);
    for shard in ["0/2", "1/2"] {
        audit(&parts, &["--shard", shard]);
    }
    let parts = parts.to_str().unwrap();
    let report = folder.path().join("report.html");
    let report = report.to_str().unwrap();
    assert!(attnlab(&["report", parts, "--out", report]).output().unwrap().status.success());
    let html = fs::read_to_string(report).unwrap();
    assert!(html.contains("<h2 id=\"audit\">") && html.contains("2 claims at 6 random settings (3 each)"));
    let page = audit(folder.path(), &["--rows", parts]);
    assert!(String::from_utf8_lossy(&page.stdout).contains("2 claims at 6 random settings"));
    let page = |folder: &std::path::Path| fs::read_to_string(folder.join("audit.md")).unwrap();
    assert_eq!(page(folder.path()), page(&whole));
}

#[test]
fn a_check_that_takes_too_long_is_a_surprise() {
    let folder = tempfile::tempdir().unwrap();
    let output = audit(folder.path(), &["--time-limit", "1e-9"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("slow: attnlab check aot.lemma1 --set"), "{text}");
    assert!(text.contains("6 of 6 surprises stand"), "{text}");
}
