//! The generated documentation is that of the catalogue as it stands: the pages of the claims, the list of
//! discrepancies, and the README's tables of verdicts. The estimates in those tables are held to a run of
//! `attnlab reproduce`. The programs in docs/tutorial are those of `examples`, which cargo compiles; `.ci/tutorial` runs
//! them.

use crate::common::{CATALOGUE, claims, root};
use crate::rounding::same;
use attnlab::claim::{Claim, VerdictKind, docs};
use attnlab::format;
use attnlab::run::{CheckOptions, Silent, check};
use attnlab::sheet_test::reproduced;
use attnlab::stats::Estimate;
use std::collections::HashMap;

const ADVICE: &str = "write it anew with ATTNLAB_BLESS=1 cargo test --test suite docs";

fn blessed() -> bool {
    std::env::var_os("ATTNLAB_BLESS").is_some()
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

/// The README's tables have title, expected verdict and number of mutants of the claims that they name. No check is
/// run, but to write the tables.
#[test]
fn the_readme_has_the_claims_of_the_catalogue() {
    let stored = readme();
    if blessed() {
        std::fs::write(root().join("README.md"), with_tables(&stored, &|claim, _| checked(claim))).unwrap();
        return;
    }
    let current = with_tables(&stored, &|_, estimate| estimate.to_string());
    assert!(stored == current, "README.md: a table is not current: {ADVICE}");
    let rows = stored.lines().filter(|l| l.starts_with("| `")).count();
    assert!(rows > 30, "{rows}");
}

/// The README's estimates are, up to rounding, those of a run of `attnlab reproduce` with its default seed.
#[test]
#[ignore = "needs a run of every claim: ATTNLAB_REPRODUCED=$PWD/runs/reproduce"]
fn the_readme_has_the_estimates_of_a_run() {
    let estimates: HashMap<_, _> =
        reproduced(&CATALOGUE).into_iter().map(|report| (report.claim, three_digits(&report.estimate))).collect();
    let stored = readme();
    let of_run = with_tables(&stored, &|claim, printed| {
        let computed = estimates.get(&claim.sheet().id).map_or("no estimate", String::as_str);
        let current = if same(printed, computed) { printed } else { computed };
        current.to_string()
    });
    let stale: Vec<_> = stored.lines().zip(of_run.lines()).filter(|(stored, run)| stored != run).collect();
    assert!(stale.is_empty(), "README.md and the run: {stale:#?}");
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
}

/// The text with every table between `<!-- verdicts: ROOM -->` and `<!-- end -->` written anew: the same claims, their
/// titles, verdicts and mutants, and the estimate that is made from the claim and the stored one.
fn with_tables(text: &str, estimate: &dyn Fn(&dyn Claim, &str) -> String) -> String {
    let mut lines = vec![];
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("<!-- verdicts: ") {
            inside = true;
        } else if line == "<!-- end -->" {
            inside = false;
        } else if inside && let Some(id) = line.strip_prefix("| `").and_then(|l| l.split_once('`')) {
            let claim = CATALOGUE.claim(id.0).unwrap();
            // From the right, because a title may contain anything: the mutants, then the estimate.
            lines.push(row(&**claim, &estimate(&**claim, line.rsplit(" | ").nth(1).unwrap_or_default())));
            continue;
        }
        lines.push(line.to_string());
    }
    lines.join("\n") + "\n"
}

/// The row of a claim: the verdict is the expected one, to which `attnlab reproduce` holds the check.
fn row(claim: &dyn Claim, estimate: &str) -> String {
    let sheet = claim.sheet();
    let verdict = if sheet.expected == VerdictKind::Refuted { "**refuted**" } else { sheet.expected.name() };
    let mutants = claim.mutants().len();
    let (id, title) = (&sheet.id, &sheet.title);
    format!("| `{id}` | {title} | {verdict} | {estimate} | {mutants} of {mutants} refuted |")
}

/// Checks a claim at its defaults and returns its estimate as tables have it.
fn checked(claim: &dyn Claim) -> String {
    three_digits(&check(claim, &Default::default(), &CheckOptions::default(), &Silent).unwrap().estimate)
}

fn three_digits(estimate: &Estimate) -> String {
    let [value, low, high] = [estimate.value, estimate.low, estimate.high].map(|x| format::significant(x, 3));
    format!("{value} [{low}, {high}]")
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

const TUTORIAL: &str = "docs/tutorial/4-from-rust.md";

/// The page with every block after `<!-- examples/NAME.rs -->` replaced by that program, and how many there are.
fn with_programs(page: &str) -> (String, usize) {
    let (mut text, mut programs) = (String::new(), 0);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        let name = line.strip_prefix("<!-- examples/");
        if let Some(name) = name.and_then(|rest| rest.strip_suffix(" -->")) {
            let program = std::fs::read_to_string(root().join("examples").join(name)).unwrap();
            text += &format!("```rust\n{program}```\n");
            // The block that stood there.
            lines.by_ref().find(|line| *line == "```");
            programs += 1;
        }
    }
    (text, programs)
}

#[test]
fn the_tutorial_shows_the_programs_that_are_compiled() {
    let path = root().join(TUTORIAL);
    let stored = std::fs::read_to_string(&path).unwrap();
    let (current, programs) = with_programs(&stored);
    assert!(programs > 0, "{TUTORIAL} shows no program");
    if blessed() {
        std::fs::write(&path, current).unwrap();
    } else {
        assert!(stored == current, "{TUTORIAL} is not current: {ADVICE}");
    }
}
