use super::*;
use crate::catalogue::{Catalogue, Room};
use crate::claim::VerdictKind::{self, Refuted, Supported};
use crate::run::{Silent, grid::GridOptions};
use crate::sweep::{self, Sweep};
use crate::toy;
use attnlab_core::stats::{Estimate, binomial};
use std::path::Path;

fn share(name: &str, held: u64, trials: u64, verdict: VerdictKind) -> JudgedItem {
    JudgedItem {
        name: name.into(),
        parameters: Map::new(),
        build: Some("1".into()),
        seed: 0,
        budget: "fixed".into(),
        trials,
        informative: trials,
        failures: trials - held,
        verdict,
        estimate: binomial(held, trials, 0.95).ok(),
        estimated: Estimated::Share,
        evidence: held,
    }
}

fn valued(name: &str, value: f64, half: f64, estimated: Estimated) -> JudgedItem {
    let level = if estimated == Estimated::Computed { 1.0 } else { 0.95 };
    JudgedItem {
        estimate: Some(Estimate { value, low: value - half, high: value + half, level }),
        estimated,
        evidence: value.to_bits(),
        ..share(name, 20, 20, Supported)
    }
}

fn side(seed: u64, items: Vec<JudgedItem>) -> JudgedRun {
    let items = items.into_iter().map(|item| JudgedItem { seed, ..item }).collect();
    JudgedRun { path: "runs".into(), kind: RunKind::Verdicts, seed, builds: vec!["1".into()], notes: vec![], items }
}

fn changes(comparison: &Comparison) -> Vec<(&str, Change)> {
    comparison.items.iter().map(|item| (item.name.as_str(), item.change)).collect()
}

#[test]
fn kinds_of_changes_are_told_apart() {
    let stopped = |item: JudgedItem| JudgedItem { budget: "until decided".into(), ..item };
    let a = vec![
        share("equal", 40, 40, Supported),
        share("fell", 40, 40, Supported),
        share("less", 40, 40, Supported),
        share("gone", 1, 2, Refuted),
        valued("mean", 1.0, 0.02, Estimated::Mean),
        valued("wide", 1.0, 1.0, Estimated::Mean),
        valued("exact", 1.0, 0.1, Estimated::Computed),
        valued("slope", 1.0, 0.1, Estimated::Other),
        valued("method", 1.0, 0.1, Estimated::Computed),
        stopped(share("stopped", 40, 40, Supported)),
    ];
    let b = vec![
        share("equal", 40, 40, Supported),
        share("fell", 39, 40, Refuted),
        share("less", 10, 40, Supported),
        share("new", 1, 2, Refuted),
        valued("mean", 1.2, 0.02, Estimated::Mean),
        valued("wide", 1.2, 1.0, Estimated::Mean),
        valued("exact", 1.0 + f64::EPSILON, 0.1, Estimated::Computed),
        valued("slope", 2.0, 0.1, Estimated::Other),
        valued("method", 1.1, 0.1, Estimated::Mean),
        share("stopped", 10, 40, Supported),
    ];
    let expected = [
        ("fell", Change::Verdict),
        ("less", Change::Estimate),
        ("mean", Change::Estimate),
        ("exact", Change::Estimate),
        ("slope", Change::Estimate),
        ("method", Change::Untested),
        ("stopped", Change::Untested),
        ("gone", Change::OnlyA),
        ("new", Change::OnlyB),
        ("wide", Change::Same),
        ("equal", Change::Equal),
    ];
    let comparison = Comparison::new(side(0, a), side(1, b), 0.95).unwrap();
    assert_eq!(changes(&comparison), expected);
    // Shares and means of both sides, and the slope.
    assert_eq!(comparison.tests, 6);
    assert!(comparison.changed());
    let sentence = &comparison.sentences()[2];
    assert!(sentence.starts_with("9 verdicts compared; verdict changed: 1; estimate changed: 4; "), "{sentence}");
    let tables = comparison.tables();
    assert_eq!(tables.len(), 8);
    assert_eq!(tables[1].title, "Verdict changed: 1");
}

#[test]
fn one_computation_must_give_the_same_bits() {
    let items = |held| vec![share("c", held, 40, Supported)];
    let again = Comparison::new(side(0, items(39)), side(0, items(39)), 0.95).unwrap();
    assert_eq!((changes(&again), again.tests), (vec![("c", Change::Equal)], 0));
    let broken = Comparison::new(side(0, items(39)), side(0, items(40)), 0.95).unwrap();
    assert_eq!((changes(&broken), broken.tests), (vec![("c", Change::Unrepeated)], 0));
    assert!(broken.sentences().iter().any(|s| s.contains("must give the same bits")));
    // Another build may draw otherwise.
    let build = |item: JudgedItem| JudgedItem { build: Some("2".into()), ..item };
    let newer = items(40).into_iter().map(build).collect();
    let other = Comparison::new(side(0, items(39)), side(0, newer), 0.95).unwrap();
    assert_eq!((changes(&other), other.tests), (vec![("c", Change::Same)], 1));
}

/// One of twenty differences at p = .031 is chance, at 20 times that. The p-value is that of the hypergeometric law in
/// whole numbers, as in `attnlab_core::stats::fisher`.
#[test]
fn many_comparisons_are_adjusted_for() {
    let item = |i, held| share(&format!("c{i}"), if i == 3 { held } else { 18 }, 20, Supported);
    let items = |held: u64| -> Vec<JudgedItem> { (0..20).map(|i| item(i, held)).collect() };
    let chance = Comparison::new(side(0, items(18)), side(1, items(11)), 0.95).unwrap();
    let test = chance.items.iter().find(|item| item.name == "c3").unwrap().test.unwrap();
    assert!((test.p_value - 0.030_950_305_143_853).abs() < 1e-12, "{test:?}");
    assert!((test.adjusted - 20.0 * test.p_value).abs() < 1e-12, "{test:?}");
    assert_eq!(chance.of_kind(Change::Estimate).count(), 0);
    let real = Comparison::new(side(0, items(18)), side(1, items(1)), 0.95).unwrap();
    assert_eq!(real.of_kind(Change::Estimate).count(), 1);
    // An estimate that changes is no verdict that does.
    assert!(!real.changed());
}

#[test]
fn sides_that_cannot_be_compared_are_refused() {
    let of_claim = |name: &str| side(0, vec![share(name, 1, 2, Supported)]);
    let message = |a, b, level| Comparison::new(a, b, level).unwrap_err().to_string();
    assert!(
        message(of_claim("a"), of_claim("b"), 0.95)
            .starts_with("B = runs: must have a verdict in common with A = runs;")
    );
    assert!(message(of_claim("a"), of_claim("a"), 1.0).starts_with("level = 1: must be"));
    let sweep = JudgedRun { kind: RunKind::Sweep, ..of_claim("a") };
    let of_one_kind = "B = runs: must hold verdicts of attnlab reproduce, as A = runs";
    assert!(message(of_claim("a"), sweep, 0.95).starts_with(of_one_kind));
    // The same claim at other parameters is another verdict.
    let with_tokens = |tokens: u64| JudgedItem {
        parameters: Map::from_iter([("tokens".to_string(), tokens.into())]),
        ..share("c", 5, 10, Supported)
    };
    let items = |tokens: [u64; 2]| tokens.map(with_tokens).to_vec();
    let comparison = Comparison::new(side(0, items([1, 2])), side(1, items([2, 3])), 0.95).unwrap();
    let changes: Vec<Change> = comparison.items.iter().map(|item| item.change).collect();
    assert_eq!(changes, [Change::OnlyA, Change::OnlyB, Change::Equal]);
}

#[test]
fn sweeps_are_compared_cell_by_cell() {
    let catalogue = Catalogue::new().with(Room::new("toy", toy::PAPERS).claims(vec![toy::fair_coin()]));
    let folder = tempfile::tempdir().unwrap();
    let swept = |name: &str, seed: u64, heads: &str| {
        let text = format!("claim = 'toy.fair'\ntrials = 400\nseed = {seed}\n[axes]\nheads = {heads}\n");
        let sweep = Sweep::parse(&text, "example.toml".as_ref()).unwrap();
        let out = folder.path().join(name);
        sweep::run(&sweep, &catalogue, &out, GridOptions::default(), &Silent).unwrap();
        JudgedRun::read("A", &out, &catalogue).unwrap()
    };
    let (a, again) = (swept("a", 0, "[0.2, 0.5]"), swept("again", 0, "[0.5, 0.2]"));
    assert_eq!(a.items[0].estimated, Estimated::Mean);
    let comparison = Comparison::new(a.clone(), again, 0.95).unwrap();
    assert_eq!(comparison.of_kind(Change::Equal).count(), 2);
    let comparison = Comparison::new(a, swept("other", 1, "[0.2, 0.9]"), 0.95).unwrap();
    assert_eq!((comparison.items.len(), comparison.tests, comparison.changed()), (3, 1, false));

    let refused = |path: &Path| JudgedRun::read("A", path, &catalogue).unwrap_err().to_string();
    let nowhere = folder.path().join("nowhere");
    let ends = "Give a folder that `attnlab reproduce` or `attnlab sweep` wrote";
    assert!(refused(&nowhere).contains("there is no such folder") && refused(&nowhere).ends_with(ends));
    assert!(refused(folder.path()).contains("it has no run.json"));
    let half = GridOptions { shard: "0/2".parse().unwrap(), ..GridOptions::default() };
    let out = folder.path().join("half");
    let sweep = Sweep::parse("claim = 'toy.fair'\ntrials = 400\n", "example.toml".as_ref()).unwrap();
    sweep::run(&sweep, &catalogue, &out, half, &Silent).unwrap();
    assert!(refused(&out).contains("200 of 400 trials are missing"));
}
