//! Every claim at its defaults, every mutant, and verdicts away from the defaults.

use attnlab_lab::audit::{self, Finding, Options, Summary};
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::claim::VerdictKind::{self, OutOfScope, Refuted, Supported};
use attnlab_lab::run::{CheckOptions, CheckReport, Silent, check, mutant};
use attnlab_memory::room;
use serde_json::{Value, json};

fn report(id: &str, set: &Value) -> CheckReport {
    let room = room();
    let claim = room.claims.iter().find(|c| c.sheet().id == id).unwrap();
    let found = check(&**claim, set.as_object().unwrap(), &CheckOptions::default(), &Silent);
    found.unwrap_or_else(|e| panic!("{id} {set}: {e}"))
}

#[test]
fn claims_come_out_as_expected() {
    for claim in room().claims {
        let found = report(&claim.sheet().id, &json!({}));
        assert!(found.as_expected(), "{}: {:?} {:?}", found.claim, found.verdict, found.witness);
    }
}

#[test]
fn mutants_are_refuted() {
    for claim in room().claims {
        for one in claim.mutants() {
            let id = &claim.sheet().id;
            let found = mutant(id, &one, &CheckOptions::default(), 1, &Silent).unwrap();
            assert!(found.killed(), "{id} {}: {:?} {:?}", one.name, found.first.verdict, found.first.estimate);
        }
    }
}

#[test]
fn verdicts_away_from_the_defaults() {
    let table: &[(&str, Value, VerdictKind)] = &[
        // The examples beside the theorem.
        ("memory.theorem3", json!({ "d": 20, "K": 3, "beta": 1, "p": 0.01 }), Supported),
        ("memory.theorem3_bounded", json!({ "d": 75, "K": 1, "beta": 1, "p": 0.01 }), Supported),
        ("memory.theorem3", json!({ "d": 3, "beta": 1e-4 }), Refuted),
        ("memory.theorem3", json!({ "beta": 0.2 }), OutOfScope),
        ("memory.theorem3_bounded", json!({ "beta": 0.001, "K": 1 }), OutOfScope),
        ("memory.theorem1", json!({ "beta": 50, "K": 5 }), Supported),
        ("memory.theorem1", json!({ "N": 1 }), Supported),
        ("memory.theorem4", json!({ "N": 2, "d": 2, "beta": 5 }), Supported),
        ("memory.own_weight", json!({ "lambda": 3 }), OutOfScope),
        ("memory.own_weight", json!({ "d": 3, "lambda": 2 }), Supported),
        ("memory.alpha1", json!({ "s": 0.05 }), OutOfScope),
        ("memory.alpha1", json!({ "lambda": 0.3, "s": 0.3 }), Supported),
    ];
    for (id, set, expected) in table {
        let found = report(id, set);
        assert_eq!(found.verdict, *expected, "{id} {set}: {:?} {:?}", found.estimate, found.witness);
    }
}

/// Every claim at random settings of its own: no true claim is refuted, and few checks are undecided.
#[test]
fn no_true_claim_is_refuted() {
    let catalogue = Catalogue::new().with(room());
    let settings = std::env::var("ATTNLAB_SETTINGS").map_or(12, |n| n.parse().unwrap());
    for claim in room().claims {
        let id = claim.sheet().id.clone();
        let folder = tempfile::tempdir().unwrap();
        let options = Options { out: folder.path().into(), only: vec![id.clone()], settings, ..Options::default() };
        let rows = audit::audit(&catalogue, &options, &Silent).unwrap().rows;
        let summary = Summary::of_rows(&rows).unwrap();
        println!("{id}: {:?}", summary.all);
        assert!(summary.surprises.is_empty(), "{id}: {:?}", summary.surprises);
        let open = summary.all.number(Finding::Inconclusive);
        assert!(open * 2 < summary.settings, "{id}: {open} undecided");
    }
}
