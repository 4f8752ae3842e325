//! The generated documentation is that of the catalogue as it stands: the pages of the claims, the list of
//! discrepancies, and the README's tables of verdicts.

use crate::common::{CATALOGUE, claims};
use attnlab::claim::{Claim, VerdictKind, docs};
use attnlab::format;
use attnlab::run::{CheckOptions, Silent, check};
use std::path::{Path, PathBuf};

const ADVICE: &str = "write it anew with ATTNLAB_BLESS=1 cargo test --test suite docs";

fn blessed() -> bool {
    std::env::var_os("ATTNLAB_BLESS").is_some()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

#[test]
fn generated_pages_are_current() {
    let folder = root().join("docs");
    let claims = claims();
    let mut pages = vec![
        ("claims/README.md".to_string(), docs::index(&claims)),
        ("DISCREPANCIES.md".to_string(), docs::discrepancies(&claims)),
    ];
    for claim in &claims {
        pages.push((format!("claims/{}", docs::file_name(&**claim)), docs::page(&**claim)));
    }
    if blessed() {
        let _ = std::fs::remove_dir_all(folder.join("claims"));
        std::fs::create_dir_all(folder.join("claims")).unwrap();
        for (name, text) in &pages {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }
    for (name, text) in &pages {
        let stored = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert!(stored == *text, "docs/{name} is not what the catalogue says: {ADVICE}");
    }
    let stored = std::fs::read_dir(folder.join("claims")).unwrap().count();
    assert_eq!(stored, claims.len() + 1, "docs/claims holds pages of claims that are gone");
}

/// The README's tables are those of the claims that they name, checked at their defaults.
#[test]
fn the_readme_has_the_verdicts_of_the_catalogue() {
    let path = root().join("README.md");
    let stored = std::fs::read_to_string(&path).unwrap();
    let current = with_tables(&stored);
    if blessed() {
        std::fs::write(&path, &current).unwrap();
    } else {
        assert!(stored == current, "README.md: a table is not current: {ADVICE}");
    }
    let rows = current.lines().filter(|l| l.starts_with("| `")).count();
    assert!(rows > 30, "{rows}");
}

/// The text with every table between `<!-- verdicts: ROOM -->` and `<!-- end -->` written anew: the same
/// claims, their titles, verdicts, estimates and mutants.
fn with_tables(text: &str) -> String {
    let mut lines = vec![];
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("<!-- verdicts: ") {
            inside = true;
        } else if line == "<!-- end -->" {
            inside = false;
        } else if inside && let Some(id) = line.strip_prefix("| `").and_then(|l| l.split_once('`')) {
            let claim = CATALOGUE.claim(id.0).unwrap();
            lines.push(row(&**claim));
            continue;
        }
        lines.push(line.to_string());
    }
    lines.join("\n") + "\n"
}

fn row(claim: &dyn Claim) -> String {
    let sheet = claim.sheet();
    let found = check(claim, &Default::default(), &CheckOptions::default(), &Silent).unwrap();
    // A table says what we expect; `tests/suite/claims.rs` holds the verdicts to that.
    let verdict = match sheet.expected {
        VerdictKind::Refuted => "**refuted**",
        other => other.name(),
    };
    // Three digits: the last ones of a sum differ between machines whose vector units differ.
    let e = &found.estimate;
    let three = |x: f64| format::significant(x, 3);
    let interval = format!("{} [{}, {}]", three(e.value), three(e.low), three(e.high));
    let mutants = claim.mutants().len();
    let (id, title) = (&sheet.id, &sheet.title);
    format!("| `{id}` | {title} | {verdict} | {interval} | {mutants} of {mutants} refuted |")
}

/// A statement that comes back refuted or vacuous must be explained.
#[test]
fn every_failing_print_has_its_discrepancy() {
    for claim in claims() {
        let sheet = claim.sheet();
        if matches!(sheet.expected, VerdictKind::Refuted | VerdictKind::Vacuous) {
            for (what, text) in [("print", &sheet.print), ("witness", &sheet.witness)] {
                assert!(text.is_some(), "{}: no section {what}", sheet.id);
            }
            assert!(sheet.class.is_some(), "{}: no class", sheet.id);
        }
    }
}
