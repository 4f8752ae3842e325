use super::*;
use crate::catalogue::{Catalogue, Room};
use crate::claim::VerdictKind;
use crate::run::{CheckOptions, Silent, check};
use crate::toy;
use attnlab_core::stats::Estimate;
use std::path::Path;

fn share(name: &str, held: u64, trials: u64, verdict: VerdictKind) -> Item {
    Item {
        name: name.into(),
        parameters: Map::new(),
        single: true,
        seed: 0,
        verdict: Some(verdict),
        estimate: attnlab_core::stats::binomial(held, trials, 0.95).ok(),
        measure: Measure::Share { held, trials },
    }
}

fn valued(name: &str, value: f64, measure: Measure) -> Item {
    Item {
        verdict: None,
        estimate: Some(Estimate {
            value,
            low: value - 0.1,
            high: value + 0.1,
            level: if measure == Measure::Computed { 1.0 } else { 0.95 },
        }),
        measure,
        ..share(name, 1, 1, VerdictKind::Supported)
    }
}

fn side(items: Vec<Item>) -> Side {
    Side { path: "runs".into(), items, ..Side::default() }
}

fn changes(a: Vec<Item>, b: Vec<Item>) -> Vec<(String, Change)> {
    let found = compare(side(a), side(b), 0.05).unwrap();
    let items = found.items.into_iter();
    items.map(|p| (p.name, p.change)).collect()
}

#[test]
fn kinds_of_changes_are_told_apart() {
    use VerdictKind::{Refuted, Supported};
    let error = |error| Measure::Mean { error, trials: 20 };
    let a = vec![
        share("same", 40, 40, Supported),
        share("fell", 40, 40, Supported),
        share("less", 40, 40, Supported),
        share("gone", 1, 2, Refuted),
        valued("mean", 1.0, error(0.01)),
        valued("wide", 1.0, error(0.5)),
        valued("exact", 1.0, Measure::Computed),
        valued("near", 1.0, Measure::Computed),
        valued("one", 1.0, Measure::Single),
        valued("slope", 1.0, Measure::Interval),
    ];
    let b = vec![
        share("same", 40, 40, Supported),
        share("fell", 39, 40, Refuted),
        share("less", 10, 40, Supported),
        share("new", 1, 2, Refuted),
        valued("mean", 1.2, error(0.01)),
        valued("wide", 1.2, error(0.5)),
        valued("exact", 1.3, Measure::Computed),
        valued("near", 1.1, Measure::Computed),
        valued("one", 1.2, Measure::Single),
        valued("slope", 2.0, Measure::Interval),
    ];
    let expected = [
        ("fell", Change::Verdict),
        ("less", Change::Estimate),
        ("mean", Change::Estimate),
        ("exact", Change::Estimate),
        ("slope", Change::Estimate),
        ("one", Change::Untested),
        ("gone", Change::OnlyA),
        ("new", Change::OnlyB),
        ("same", Change::Same),
        ("wide", Change::Same),
        ("near", Change::Same),
    ];
    let expected = expected.map(|(name, change)| (name.to_string(), change));
    assert_eq!(changes(a, b), expected);
}

/// One of twenty differences at p = .03 is chance.
#[test]
fn many_comparisons_are_adjusted_for() {
    let pairs = |less: u64| -> Vec<Item> {
        (0..20)
            .map(|i| {
                let held = if i == 3 { less } else { 18 };
                share(&format!("c{i}"), held, 20, VerdictKind::Supported)
            })
            .collect()
    };
    let found = compare(side(pairs(18)), side(pairs(11)), 0.05).unwrap();
    let test = found.items.iter().find(|p| p.name == "c3").unwrap().test.unwrap();
    assert!((test.p_value - 0.030_950_305).abs() < 1e-8, "{test:?}");
    assert!(test.adjusted > 0.6 && !found.changed(), "{test:?}");
    assert!(compare(side(pairs(18)), side(pairs(1)), 0.05).unwrap().changed());
}

#[test]
fn other_settings_are_compared_where_each_side_has_one() {
    let at = |tokens: u64| Item {
        parameters: Map::from_iter([("tokens".to_string(), tokens.into())]),
        ..share("c", 5, 10, VerdictKind::Supported)
    };
    let found = compare(side(vec![at(10)]), side(vec![at(20)]), 0.05).unwrap();
    assert_eq!(found.items[0].settings, "tokens: 10, 20");
    let found = changes(vec![at(10), at(30)], vec![at(20), at(30)]);
    assert_eq!(found.len(), 2, "{found:?}");
    let cell = |tokens| Item { single: false, ..at(tokens) };
    let error = compare(side(vec![cell(10)]), side(vec![cell(20)]), 0.05).unwrap_err();
    assert!(error.to_string().starts_with("B = runs: must hold"), "{error}");
}

#[test]
fn files_of_verdicts_are_read() {
    let room = Room::new("toy", toy::PAPERS).claims(vec![toy::fair_coin()]);
    let catalogue = Catalogue::new().with(room);
    let folder = tempfile::tempdir().unwrap();
    let saved = |name: &str, seed: u64| {
        let options = CheckOptions { seed, ..CheckOptions::default() };
        let claim = toy::fair_coin();
        let found = check(&*claim, &Map::new(), &options, &Silent).unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, serde_json::to_string(&found).unwrap()).unwrap();
        Side::read(&path, &catalogue).unwrap()
    };
    let [first, again, other] = [("a", 1), ("b", 1), ("c", 2)].map(|(n, s)| saved(n, s));
    assert!(matches!(first.items[0].measure, Measure::Mean { trials: 2000, .. }));
    let found = compare(first.clone(), again, 0.05).unwrap();
    assert!(found.equal_to_the_byte && !found.changed());
    assert!(found.sentence().starts_with("Equal to the byte"), "{}", found.sentence());
    let found = compare(first, other, 0.05).unwrap();
    assert!(!found.equal_to_the_byte && !found.changed());
    assert_eq!(found.tests, 1);
    let page = html(&found, "attnlab diff a c");
    assert!(page.contains("toy.fair") && page.contains("Welch"), "{page}");

    let refused = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        Side::read(&path, &catalogue).unwrap_err().to_string()
    };
    for (text, says) in [
        ("", "it is empty"),
        ("\n[1]\n", "line 2: must be a verdict as JSON"),
        ("{\"claim\": 3}", "line 1: must be a verdict as JSON"),
        ("\u{1}", "line 1"),
    ] {
        let error = refused("bad", text);
        assert!(error.contains(says) && error.contains("check --json"), "{error}");
    }
    assert!(Side::read(Path::new("/nowhere/at/all"), &catalogue).is_err());
    assert!(Side::read(folder.path(), &catalogue).is_err());
}
