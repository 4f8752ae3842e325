//! Every claim in the registry: complete, as expected at its defaults, and able to fail.

use crate::common::names_word;
use attnlab::claim::{Arrays, Claim, Domain, OnArrays, Params, VerdictKind};
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

/// Trials of a claim or mutant here. `attnlab reproduce` judges them with their default budgets, and its exit status
/// counts; two trials execute everything and cannot contradict what is expected.
const FEW_TRIALS: u64 = 2;

/// Seconds of a trial that is enough alone, where events are counted.
const LONG: f64 = 1.0;

fn with_trials(trials: u64) -> CheckOptions {
    CheckOptions { trials: Some(trials), ..CheckOptions::default() }
}

/// `reproduce` judges the defaults.
#[test]
fn no_sheet_is_checked_at_its_defaults_again() {
    each(|claim, id| {
        for setting in claim.sheet().checked().unwrap() {
            let as_reproduced = (setting.seed, setting.trials, setting.beyond_hypotheses) == (0, None, false);
            let says_more = !setting.set.is_empty() || !as_reproduced || !setting.entries.is_empty();
            assert!(says_more, "{id}: remove from the sheet: {}", setting.line);
        }
    });
}

#[test]
fn few_trials_of_a_claim_do_not_contradict_what_we_expect() {
    each(|claim, id| {
        let params = Params::resolve(&claim.schema(), &Default::default()).unwrap();
        let expected = claim.sheet().expected;
        assert_eq!(claim.expected(&params), expected, "{id}: sheet and parameters");
        assert!(claim.memory(&params) < 1 << 30, "{id} needs too much memory at its defaults");
        let is_long = claim.seconds(&params) > LONG && claim.counts_events(&params);
        let options = with_trials(if is_long { 1 } else { FEW_TRIALS });
        let report = check(claim, &Default::default(), &options, &Silent).unwrap();
        assert!(allowed(report.verdict, expected), "{id}: {report:#?}");
    });
}

#[test]
fn few_trials_of_a_mutant_do_not_support_it() {
    each(|claim, id| {
        for report in mutants(claim, &with_trials(FEW_TRIALS), 1, &Silent).unwrap() {
            let first = &report.first;
            assert!(allowed(first.verdict, first.expected), "{id}, mutant {}: {first:#?}", report.mutant);
        }
    });
}

/// Returns `true` for the expected verdict, and for that of too few trials.
fn allowed(verdict: VerdictKind, expected: VerdictKind) -> bool {
    verdict == expected || verdict == VerdictKind::Inconclusive
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
            let mut set: serde_json::Map<String, serde_json::Value> =
                setting.iter().map(|(name, value)| (name.to_string(), (*value).into())).collect();
            set.insert("columns".into(), 0.into());
            let params = Params::resolve(&claim.schema(), &set).unwrap();
            let computed = claim.computed(&params).expect("Lemma 2 is computed");
            // 99.9 %: 11 claims in 7 settings must not fail by chance.
            let options =
                CheckOptions { trials: Some(150), level: 0.999, beyond_hypotheses: true, ..Default::default() };
            let report = check(claim, &set, &options, &Silent).unwrap();
            let interval = attnlab::stats::binomial(report.trials - report.failures, report.trials, 0.999).unwrap();
            assert!(interval.high >= 1.0 - computed.failure.high, "{id} {set:?}: {report:#?}");
            assert!(interval.low <= 1.0 - computed.failure.low, "{id} {set:?}: {report:#?}");
        }
    });
}

#[test]
fn impossible_settings_are_refused_with_advice() {
    each(|claim, id| {
        let has = |name: &str| claim.schema().iter().any(|s| s.name == name);
        if has("tokens") && has("clusters") && id.starts_with("aot.") {
            let set = serde_json::json!({"tokens": 101, "clusters": 2});
            let refused = check(claim, set.as_object().unwrap(), &CheckOptions::default(), &Silent).unwrap_err();
            assert!(refused.to_string().contains("multiple of clusters"), "{id}: {refused}");
        }
        for spec in claim.schema() {
            let is_whole = matches!(spec.domain, Domain::Whole(..));
            let wrong = if is_whole { serde_json::json!(-1) } else { serde_json::json!([[{}]]) };
            let set = serde_json::Map::from_iter([(spec.name.to_string(), wrong)]);
            let refused = check(claim, &set, &CheckOptions::default(), &Silent).unwrap_err();
            assert!(names_word(&refused.to_string(), spec.name), "{id}: {refused}");
        }
    });
}

/// Arrays of shapes that fit nothing, and of numbers at both ends of their range, are refused or judged, by every claim
/// and mutant that takes arrays; and what an array takes the place of is a parameter of the claim.
#[test]
fn claims_on_arrays_judge_or_refuse_whatever_they_are_given() {
    let (mut takers, mut holding) = (0, 0);
    each(|claim, id| {
        let (specs, schema) = (claim.takes(), claim.schema());
        takers += usize::from(!specs.is_empty());
        let mut held = 0;
        for spec in specs {
            let declared = |name: &&&str| schema.iter().any(|s| s.name == **name);
            assert_eq!(spec.replaces.iter().filter(declared).count(), spec.replaces.len(), "{id}: {}", spec.name);
        }
        let shapes = [(0, 0), (1, 1), (2, 3), (3, 2)];
        for (rows, columns) in shapes.iter().flat_map(|a| shapes.map(|b| (*a, b))) {
            for size in [0.0, 0.5, 1e150, f64::MAX] {
                let mut arrays = Arrays::default();
                for (i, spec) in specs.iter().enumerate() {
                    let entry = |(r, c): (usize, usize)| size * (1.0 - ((r + 2 * c) % 3) as f64);
                    let shape = if i == 0 { rows } else { columns };
                    arrays.push(spec.name, ndarray::Array2::from_shape_fn(shape, entry));
                }
                if let Ok(judgement) = OnArrays::judge(claim, &Default::default(), &arrays, true) {
                    assert!(judgement.cases() > 0, "{id}");
                    assert_eq!(judgement.fails, 0, "{id} is true: {judgement:?}");
                    held += judgement.holds;
                }
            }
        }
        holding += usize::from(held > 0);
    });
    // Tokens of one row alone are left to the room of `cluster.rank_collapse`.
    assert_eq!((takers, holding), (7, 6));
}
