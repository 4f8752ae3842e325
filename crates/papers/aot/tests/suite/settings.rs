//! Verdicts away from the defaults: settings at which a referee found a wrong one, corners, and every kind of
//! verdict.

use VerdictKind::{Inconclusive, OutOfScope, Refuted, Supported, Vacuous};
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::claim::VerdictKind;
use attnlab_lab::run::{CheckOptions, Silent, check};
use serde_json::{Value, json};

/// Id, settings, trials (0: the claim's own number), flag: beyond the hypotheses, and the verdict.
type Row = (&'static str, Value, u64, bool, VerdictKind);

fn assert_verdicts(rows: &[Row]) {
    let catalogue = Catalogue::new().with(attnlab_aot::room());
    for (id, set, trials, beyond, verdict) in rows {
        let claim = catalogue.claim(id).unwrap();
        let options = CheckOptions {
            trials: Some(*trials).filter(|t| *t > 0),
            beyond_hypotheses: *beyond,
            ..CheckOptions::default()
        };
        let report = check(&**claim, set.as_object().unwrap(), &options, &Silent);
        let report = report.unwrap_or_else(|e| panic!("{id} {set}: {e}"));
        assert_eq!(report.verdict, *verdict, "{id} {set}: {report:?}");
        assert!(report.as_expected(), "{id} {set}: {:?} was expected", report.expected);
    }
}

/// V1: an upper bound supports, and never refutes.
#[test]
fn an_upper_bound_does_not_refute() {
    let id = "aot.theorem1_bounded";
    assert_verdicts(&[
        (id, json!({"tokens": 20_000, "dim": 70}), 0, false, Supported),
        // Without the hypothesis on p the bound is above the promise.
        (id, json!({"tokens": 20_000, "dim": 40}), 0, false, OutOfScope),
        (id, json!({"tokens": 20_000, "dim": 40}), 0, true, Inconclusive),
    ]);
}

/// V2: K = O(1), and p large enough for τ.
#[test]
fn the_corrected_theorem_has_its_hypotheses() {
    let id = "aot.theorem1_bounded";
    let many = json!({"tokens": 1000, "clusters": 50, "dim": 100, "slack": 0.05, "eta": 0.05, "layers": 1000});
    assert_verdicts(&[
        (id, many, 1, false, OutOfScope),
        (id, json!({"tokens": 2000, "dim": 44, "tau": 0.99}), 20, false, OutOfScope),
        // Corners of the region: the least p at τ near 1 and near 1/2, many clusters, few tokens, a small α.
        (id, json!({"tokens": 400, "dim": 58, "tau": 0.99}), 0, false, Supported),
        (id, json!({"tokens": 400, "dim": 60, "tau": 0.501, "slack": 0.2}), 0, false, Supported),
        (id, json!({"tokens": 400, "clusters": 100, "dim": 60, "slack": 0.25}), 0, false, Supported),
        (id, json!({"tokens": 40, "dim": 60, "slack": 0.35}), 0, false, Supported),
        (id, json!({"tokens": 200_000, "dim": 100, "slack": 0.15}), 0, false, Supported),
        (id, json!({"slack": 0.58}), 0, false, Vacuous),
    ]);
}

/// V3: draws that are broken at θ = 1 are an atom of the law.
#[test]
fn the_law_of_the_horizon_has_atoms() {
    let id = "aot.horizon_law";
    assert_verdicts(&[
        (id, json!({"delta": 0.137}), 0, false, Supported),
        (id, json!({"delta": 1e-6}), 0, false, Supported),
        (id, json!({"tokens": 2, "dim": 3}), 50, false, OutOfScope),
        (id, json!({"dim": 10}), 50, false, OutOfScope),
    ]);
}

/// V4: beyond its range the law of the first softmax layer is not judged.
#[test]
fn the_softmax_rate_has_a_range() {
    let id = "aot.softmax_rate";
    assert_verdicts(&[
        (id, json!({"delta": 0.2}), 0, false, OutOfScope),
        (id, json!({"delta": 0.1}), 0, false, Supported),
        (id, json!({"delta": 0.001}), 0, false, Supported),
        (id, json!({"tokens": 200, "clusters": 2, "dim": 60, "delta": 0.05}), 0, false, Supported),
        (id, json!({"eta": 5}), 0, false, Supported),
        (id, json!({"dim": 1}), 0, false, OutOfScope),
        (id, json!({"tokens": 2, "clusters": 2}), 0, false, Supported),
    ]);
}

/// V12: what a bound proves is supported; without noise, and with one cluster, (8) holds.
#[test]
fn theorem_1_stands_where_it_is_true() {
    let id = "aot.theorem1";
    let small = |more: Value| {
        let mut set = json!({"tokens": 400, "dim": 100});
        set.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        set
    };
    assert_verdicts(&[
        (id, json!({"layers": 5, "columns": 20}), 1, false, Supported),
        (id, json!({"delta": 0, "columns": 20}), 1, false, Supported),
        (id, json!({"clusters": 1, "columns": 20}), 1, false, Supported),
        (id, json!({"tau": 1}), 1, false, OutOfScope),
        (id, small(json!({"delta": 0})), 0, true, Supported),
        (id, small(json!({"delta": 0, "layers": 20})), 0, true, Supported),
        (id, small(json!({"clusters": 1})), 0, true, Supported),
        (id, small(json!({"layers": 400})), 0, true, Vacuous),
        (id, small(json!({"layers": 3})), 0, true, Supported),
        (id, small(json!({})), 0, true, Refuted),
        (id, json!({"tokens": 2, "dim": 1, "layers": 1}), 0, true, Vacuous),
        (id, small(json!({"eta": 1e-9})), 0, true, Supported),
        (id, small(json!({"eta": 1e9})), 0, true, Refuted),
    ]);
}

/// V13: Lemma 3 is judged at the θ that is set.
#[test]
fn lemma_3_at_one_theta() {
    let id = "aot.lemma3";
    assert_verdicts(&[
        (id, json!({"theta": 1}), 1, false, Supported),
        (id, json!({"theta": 3}), 1, false, Supported),
        (id, json!({"theta": 100}), 1, false, Refuted),
        (id, json!({"theta": 1e300}), 1, false, Refuted),
        (id, json!({"delta": 0}), 1, false, Supported),
        (id, json!({"clusters": 1}), 1, false, Supported),
        ("aot.lemma3_bounded", json!({"theta": 4}), 1, false, OutOfScope),
        ("aot.lemma3_bounded", json!({"delta": 0}), 1, false, Supported),
    ]);
}

/// Joint events, and the identities at their corners.
#[test]
fn corners() {
    assert_verdicts(&[
        ("aot.lemma2_i", json!({"tokens": 200, "dim": 180, "columns": 0}), 20, true, Supported),
        ("aot.lemma2_iv", json!({"tokens": 200, "dim": 180, "columns": 0}), 20, true, Supported),
        ("aot.lemma2_16", json!({"dim": 8}), 2, true, Supported),
        ("aot.eq35", json!({"layers": 60}), 0, false, OutOfScope),
        ("aot.eq35", json!({"dim": 5}), 0, false, OutOfScope),
        ("aot.eq35", json!({"delta": 0}), 0, false, Supported),
        ("aot.eq35", json!({"clusters": 1}), 0, false, Supported),
        ("aot.mssa_is_mhsa", json!({"tokens": 1, "dim": 1, "clusters": 1}), 0, false, Supported),
        ("aot.mssa_is_mhsa", json!({"delta": 100}), 0, false, Supported),
        ("aot.eq9", json!({"points": 40}), 0, false, Supported),
        ("aot.eq9", json!({"points": 2, "dim": 1}), 0, false, Supported),
        ("aot.lemma1", json!({"dim": 1, "t": 0}), 0, false, Vacuous),
        ("aot.lemma1", json!({"dim": 1, "delta": 1e-9}), 0, false, Supported),
        ("aot.tau_interval", json!({"tokens": 3}), 0, false, Supported),
    ]);
}

#[test]
fn every_value_of_phi_is_an_identity() {
    let catalogue = Catalogue::new().with(attnlab_aot::room());
    let claim = catalogue.claim("aot.mssa_is_mhsa").unwrap();
    for phi in attnlab_theory::attention::Phi::NAMES {
        let set = json!({"phi": phi});
        let report = check(&**claim, set.as_object().unwrap(), &CheckOptions::default(), &Silent);
        assert_eq!(report.unwrap().verdict, Supported, "{phi}");
    }
}

/// No mutant is judged where its claim is refuted, so that a refuted mutant says something about the variant.
#[test]
fn claims_stand_where_their_mutants_fall() {
    for claim in attnlab_aot::claims::all() {
        for mutant in claim.mutants() {
            let set = mutant.set.iter().map(|(k, v)| (k.to_string(), v.clone()));
            let options = CheckOptions { trials: Some(2), beyond_hypotheses: true, ..CheckOptions::default() };
            let report = check(&*claim, &set.collect(), &options, &Silent);
            let verdict = report.map(|r| r.verdict);
            let id = &claim.sheet().id;
            assert!(!matches!(verdict, Ok(Refuted)), "{id}, mutant {}", mutant.name);
        }
    }
}

/// Every mutant falls within its default budget.
#[test]
fn mutants_fall() {
    let sheets = attnlab_lab::sheet_test::SheetTest::new(attnlab_aot::room());
    for claim in attnlab_aot::claims::all() {
        let id = claim.sheet().id.as_str();
        // Those of the claims on closed forms are in `claims`.
        if ["aot.tau_interval", "aot.softmax_rate", "aot.horizon_law"].contains(&id) {
            continue;
        }
        for mutant in claim.mutants() {
            let found = sheets.check_mutant(id, mutant.name).first;
            assert_eq!(found.verdict, Refuted, "{id}, mutant {}", mutant.name);
        }
    }
}
