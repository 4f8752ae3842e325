//! Every claim in the registry: complete, as expected at its defaults, and able to fail.

use attnlab::claim::{Claim, Domain, Params};
use attnlab::run::{CheckOptions, Silent, check, mutants};
use std::collections::HashSet;

fn each(mut body: impl FnMut(&dyn Claim, &'static str)) {
    for claim in crate::common::claims() {
        body(&*claim, &claim.sheet().id);
    }
}

#[test]
fn every_claim_has_a_source_a_statement_and_mutants() {
    let mut ids = HashSet::new();
    each(|claim, id| {
        let card = claim.sheet();
        assert!(ids.insert(id), "{id} twice");
        assert!(id.contains('.') && !card.place.is_empty() && !card.title.is_empty());
        assert!(!card.source().is_empty() && card.statement.len() > 20, "{id}");
        assert_eq!(card.statement.matches('$').count() % 2, 0, "{id}: unbalanced $");
        let mutants = claim.mutants();
        assert!(!mutants.is_empty(), "{id} has no mutant: its check may be unable to fail");
        let names: HashSet<_> = mutants.iter().map(|m| m.name).collect();
        assert_eq!(names.len(), mutants.len(), "{id}: two mutants of one name");
        let schema = claim.schema();
        let declared: HashSet<_> = schema.iter().map(|s| s.name).collect();
        assert_eq!(declared.len(), schema.len(), "{id}: a parameter twice");
        assert!(Params::resolve(&schema, &Default::default()).is_ok(), "{id}: defaults");
        for spec in schema {
            assert!(!spec.doc().is_empty(), "{id}: {} is not explained", spec.name);
        }
    });
}

#[test]
fn every_claim_finds_what_we_expect_at_its_defaults() {
    each(|claim, id| {
        let params = Params::resolve(&claim.schema(), &Default::default()).unwrap();
        assert_eq!(claim.expected(&params), claim.sheet().expected, "{id}: card and parameters");
        let report = check(claim, &Default::default(), &CheckOptions::default(), &Silent).unwrap();
        assert_eq!(report.verdict, claim.sheet().expected, "{id}: {report:#?}");
        assert!(claim.memory(&params) < 1 << 30, "{id} needs too much memory at its defaults");
        println!("{id}: {:?}, {} trials, {:.2} s", report.verdict, report.trials, report.wall_s);
    });
}

#[test]
fn every_mutant_is_refuted_within_its_default_budget() {
    each(|claim, id| {
        for report in mutants(claim, &CheckOptions::default(), 1, &Silent).unwrap() {
            let (name, first) = (report.mutant, &report.first);
            assert!(report.killed(), "{id}, mutant {name} survived: {first:#?}");
            println!("{id}, {name}: {} of {}, {:.2} s", first.failures, first.trials, first.wall_s);
        }
    });
}

/// Small settings with every column in sight: the closed forms and the simulation must not
/// contradict each other anywhere, in scope or out of it.
#[test]
fn closed_forms_and_simulation_agree_at_small_sizes() {
    let settings: [&[(&str, f64)]; 7] = [
        &[("tokens", 12.0), ("clusters", 2.0), ("dim", 3.0), ("delta", 0.5)],
        &[("tokens", 12.0), ("clusters", 4.0), ("dim", 3.0), ("delta", 0.0)],
        &[("tokens", 12.0), ("clusters", 12.0), ("dim", 3.0), ("delta", 0.3)],
        &[("tokens", 12.0), ("clusters", 1.0), ("dim", 3.0), ("delta", 0.3)],
        &[("tokens", 60.0), ("clusters", 3.0), ("dim", 20.0), ("delta", 0.4)],
        &[("tokens", 200.0), ("clusters", 2.0), ("dim", 60.0), ("delta", 0.1)],
        &[("tokens", 60.0), ("clusters", 3.0), ("dim", 2.0), ("delta", 2.0)],
    ];
    each(|claim, id| {
        if !id.starts_with("aot.lemma2") {
            return;
        }
        for setting in settings {
            let mut set = serde_json::Map::new();
            for (name, value) in setting {
                set.insert(name.to_string(), (*value).into());
            }
            set.insert("columns".into(), 0.into());
            let params = Params::resolve(&claim.schema(), &set).unwrap();
            let computed = claim.computed(&params).expect("Lemma 2 is computed");
            // 99.9 %: 11 claims in 7 settings must not fail by chance.
            let options =
                CheckOptions { trials: Some(150), level: 0.999, beyond_hypotheses: true, ..Default::default() };
            let report = check(claim, &set, &options, &Silent).unwrap();
            let held = report.trials - report.failures;
            let seen = attnlab::stats::binomial(held, report.trials, 0.999).unwrap();
            assert!(seen.high >= 1.0 - computed.failure.high, "{id} {set:?}: {report:#?}");
            assert!(seen.low <= 1.0 - computed.failure.low, "{id} {set:?}: {report:#?}");
        }
    });
}

#[test]
fn impossible_settings_are_refused_with_advice() {
    each(|claim, id| {
        let has = |name: &str| claim.schema().iter().any(|s| s.name == name);
        if has("tokens") && has("clusters") && id.starts_with("aot.") {
            let set = serde_json::json!({"tokens": 101, "clusters": 2});
            let set = set.as_object().unwrap();
            let refused = check(claim, set, &CheckOptions::default(), &Silent).unwrap_err();
            assert!(refused.to_string().contains("multiple of clusters"), "{id}: {refused}");
        }
        for spec in claim.schema() {
            let wrong = match spec.domain {
                Domain::Whole(..) => serde_json::json!(-1),
                _ => serde_json::json!([[{}]]),
            };
            let set = serde_json::Map::from_iter([(spec.name.to_string(), wrong)]);
            let refused = check(claim, &set, &CheckOptions::default(), &Silent).unwrap_err();
            assert!(refused.to_string().contains(spec.name), "{id}: {refused}");
        }
    });
}
