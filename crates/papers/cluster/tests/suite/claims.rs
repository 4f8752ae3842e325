//! Every claim at its defaults, every mutant, and verdicts away from the defaults.

use attnlab_cluster::room;
use attnlab_lab::claim::VerdictKind::{self, OutOfScope, Refuted, Supported, Vacuous};
use attnlab_lab::run::{CheckOptions, CheckReport, Silent, check, mutant};
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
            assert!(found.killed(), "{id} {}: {:?}", one.name, found.first.verdict);
        }
    }
}

#[test]
fn verdicts_away_from_the_defaults() {
    let table: &[(&str, Value, VerdictKind)] = &[
        ("cluster.theorem6_8", json!({ "model": "usa", "beta": 8, "n": 2 }), Supported),
        ("cluster.theorem6_8", json!({ "beta": 0, "n": 64, "t": 0.01 }), Supported),
        ("cluster.theorem6_9", json!({ "n": 2, "d": 2048 }), Vacuous),
        ("cluster.theorem6_9_start", json!({ "n": 10, "d": 5 }), OutOfScope),
        ("cluster.deviation_law", json!({ "d": 10 }), OutOfScope),
        ("cluster.one_point", json!({ "d": 2, "model": "usa" }), Supported),
        ("cluster.one_point", json!({ "beta": 4, "t": 10 }), OutOfScope),
        ("cluster.pre_ln_rate", json!({ "model": "usa", "beta": 3 }), Supported),
        ("cluster.pre_ln_rate", json!({ "n": 6, "d": 3 }), OutOfScope),
        ("cluster.post_ln_rate", json!({ "model": "usa", "beta": 2 }), Supported),
        ("cluster.pair_masses", json!({ "mass_i": 0.2, "mass_j": 0.2 }), OutOfScope),
        ("cluster.pair_corrected", json!({ "mass_i": 0.2, "mass_j": 0.2, "K": 2 }), Supported),
        ("cluster.pair_corrected", json!({ "beta": 2 }), OutOfScope),
        ("cluster.pair_duration_law", json!({ "beta": 400, "mass_j": 0.5 }), Supported),
        ("cluster.critical_scaling", json!({ "kappa": 1, "n": 300 }), Supported),
        ("cluster.critical_scaling", json!({ "kappa": 2 }), Supported),
        ("cluster.critical_scaling", json!({ "kappa": 0.95, "n": 300 }), OutOfScope),
        ("cluster.critical_rate", json!({ "kappa": 1 }), Supported),
        ("cluster.critical_rate", json!({ "kappa": 1.4, "rho": 0.1 }), Supported),
        ("cluster.circle_modes", json!({ "model": "usa", "beta": 100, "k": 14 }), Supported),
        ("cluster.circle_modes", json!({ "n": 10 }), OutOfScope),
        ("cluster.fastest_mode_near", json!({ "beta": 1e-3 }), Supported),
        ("cluster.fastest_mode_sharp", json!({ "beta": 1000 }), Supported),
        ("cluster.causal", json!({ "d": 2, "n": 2 }), Supported),
        ("cluster.lemma_c1", json!({ "d": 2, "delta": 3 }), Supported),
        ("cluster.renyi_sphere", json!({ "delta": 2 }), Refuted),
    ];
    for (id, set, verdict) in table {
        let found = report(id, set);
        assert_eq!(found.verdict, *verdict, "{id} {set}: {:?} {:?}", found.witness, found.hypotheses);
    }
}
