//! The generated documentation is that of the registry as it stands.

use attnlab::claim::{docs, registry};
use std::path::Path;

#[test]
fn generated_pages_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let claims = registry::claims();
    let mut pages = vec![
        ("claims/README.md".to_string(), docs::index(&claims)),
        ("DISCREPANCIES.md".to_string(), docs::discrepancies(&claims)),
    ];
    for claim in &claims {
        pages.push((
            format!("claims/{}", docs::file_name(&**claim)),
            docs::page(&**claim),
        ));
    }
    if std::env::var_os("ATTNLAB_BLESS").is_some() {
        let _ = std::fs::remove_dir_all(folder.join("claims"));
        std::fs::create_dir_all(folder.join("claims")).unwrap();
        for (name, text) in &pages {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }
    for (name, text) in &pages {
        let stored = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        let advice = "write it anew with ATTNLAB_BLESS=1 cargo test --test docs";
        assert!(
            stored == *text,
            "docs/{name} is not what the registry says: {advice}"
        );
    }
    let stored = std::fs::read_dir(folder.join("claims")).unwrap().count();
    assert_eq!(
        stored,
        claims.len() + 1,
        "docs/claims holds pages of claims that are gone"
    );
}

/// The tables of verdicts in the README name claims that there are, with the verdicts and mutants
/// that they have. (Their estimates are those of one run.)
#[test]
fn the_readme_has_the_verdicts_of_the_registry() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let mut rows = 0;
    for line in readme.lines().filter(|l| l.ends_with(" refuted |")) {
        let cells: Vec<&str> = line.trim_matches(['|', ' ']).split(" | ").collect();
        let [id, _, verdict, _, mutants] = cells[..] else {
            panic!("{line}");
        };
        let claim = registry::find(id.trim_matches('`')).unwrap();
        assert_eq!(
            verdict.trim_matches('*'),
            claim.card().expected.name(),
            "{id}"
        );
        let count = claim.mutants().len();
        assert_eq!(mutants, format!("{count} of {count} refuted"), "{id}");
        rows += 1;
    }
    assert!(rows > 30, "{rows}");
}

/// A statement that comes back refuted or vacuous must be explained.
#[test]
fn every_failing_print_has_its_discrepancy() {
    use attnlab::claim::VerdictKind;
    for claim in registry::claims() {
        let card = claim.card();
        if matches!(card.expected, VerdictKind::Refuted | VerdictKind::Vacuous) {
            assert!(
                claim.discrepancy().is_some(),
                "{} fails but does not say how",
                card.id
            );
        }
    }
}
