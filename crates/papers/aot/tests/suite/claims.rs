//! The claims on the closed forms: their verdicts, and those of their mutants.

use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::claim::{Claim, VerdictKind};
use attnlab_lab::run::{CheckOptions, Silent, check};
use serde_json::{Map, Value};

fn verdict(claim: &dyn Claim, set: &[(&str, Value)]) -> VerdictKind {
    let set: Map<String, Value> = set.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    let options = CheckOptions::default();
    check(claim, &set, &options, &Silent).unwrap().verdict
}

/// Supported, and every mutant refuted, within the default budget.
fn stands(id: &str) {
    let catalogue = Catalogue::new().with(attnlab_aot::room());
    let claim = catalogue.claim(id).unwrap();
    assert_eq!(verdict(&**claim, &[]), VerdictKind::Supported, "{id}");
    for mutant in claim.mutants() {
        let found = verdict(&*mutant.claim, &mutant.set);
        assert_eq!(found, VerdictKind::Refuted, "{id}, mutant {}", mutant.name);
    }
}

#[test]
fn tau_interval() {
    stands("aot.tau_interval");
}

#[test]
fn softmax_rate() {
    stands("aot.softmax_rate");
}

#[test]
fn horizon_law() {
    stands("aot.horizon_law");
}
