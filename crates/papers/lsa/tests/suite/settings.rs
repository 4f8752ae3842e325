//! Verdicts away from the defaults: every command that a review found wrong, and the corners.

use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::claim::Params;
use attnlab_lab::claim::VerdictKind::{self, OutOfScope, Refuted, Supported};
use attnlab_lab::run::{CheckOptions, CheckReport, Silent, check};
use serde_json::{Value, json};

fn report(id: &str, set: &Value, seed: u64, trials: Option<u64>) -> CheckReport {
    let catalogue = Catalogue::new().with(attnlab_lsa::room());
    let claim = catalogue.claim(id).unwrap();
    let options = CheckOptions { seed, trials, ..CheckOptions::default() };
    let found = check(&**claim, set.as_object().unwrap(), &options, &Silent);
    found.unwrap_or_else(|error| panic!("check {id} {set}: {error}"))
}

fn assert_verdicts(table: &[(&str, Value, VerdictKind)]) {
    for (id, set, expected) in table {
        let found = report(id, set, 0, None);
        let why = &found.witness;
        assert_eq!(found.verdict, *expected, "check {id} {set}: {why:?}");
        assert_eq!(found.expected, *expected, "check {id} {set}");
    }
}

/// Flows at condition number 1000 in few dimensions, whose steps are 10⁶ long, and from weights below the
/// tolerance of the integrator.
#[test]
fn stiff_and_small_flows_have_verdicts() {
    let mut table = vec![
        ("lsa.limit", json!({"dim": 3, "condition": 200}), Supported),
        ("lsa.limit", json!({"dim": 1, "condition": 1}), Supported),
        ("lsa.limit", json!({"dim": 3, "condition": 1e6}), Supported),
        ("lsa.limit", json!({"N": 1}), Supported),
        ("lsa.limit", json!({"N": 1_000_000}), Supported),
        ("lsa.limit", json!({"scale": 1e-20}), Supported),
        ("lsa.limit", json!({"scale": 1e-300, "dim": 2, "condition": 2}), Supported),
        ("lsa.limit", json!({"scale": 2}), OutOfScope),
        ("lsa.any_start", json!({"scale": 1e-20}), Supported),
        ("lsa.any_start", json!({"scale": 1000}), Supported),
        ("lsa.any_start", json!({"dim": 2, "condition": 1000}), Supported),
        ("lsa.pl", json!({"dim": 3, "condition": 1000}), Supported),
        ("lsa.pl", json!({"dim": 1, "condition": 1}), Supported),
        ("lsa.pl", json!({"scale": 1e-20}), Supported),
    ];
    for dim in [2, 3, 4, 5, 10] {
        let set = json!({"dim": dim, "condition": 1000});
        table.push(("lsa.limit", set, Supported));
    }
    assert_verdicts(&table);
}

/// Seed 2310 ended with a squared gradient of 2.4e-12 at the fixed time 3000.
#[test]
fn local_minima_where_the_least_curvature_is_small() {
    for seed in [0, 2310] {
        let found = report("lsa.local_minimum", &json!({}), seed, None);
        assert_eq!(found.verdict, Supported, "seed {seed}: {:?}", found.witness);
    }
    assert_verdicts(&[
        ("lsa.local_minimum", json!({"dim": 2, "condition": 100, "N": 20}), Supported),
        ("lsa.local_minimum", json!({"perturbation": 10}), Supported),
        ("lsa.local_minimum", json!({"perturbation": 1e-8}), Supported),
        ("lsa.local_minimum", json!({"N": 1}), Supported),
        ("lsa.local_minimum", json!({"N": 8}), OutOfScope),
        ("lsa.local_minimum", json!({"N": 1000}), OutOfScope),
        ("lsa.local_minimum", json!({"condition": 1}), OutOfScope),
    ]);
}

/// The printed inequality along the flow and anywhere, and the risk as printed.
#[test]
fn readings_of_the_print() {
    assert_verdicts(&[
        ("lsa.pl_printed", json!({}), Supported),
        ("lsa.pl_printed", json!({"weights": "anywhere"}), Refuted),
        ("lsa.pl_printed", json!({"weights": "anywhere", "dim": 1, "condition": 1, "scale": 5}), Refuted),
        ("lsa.risk_printed", json!({"target": "linear", "prompts": 1000}), Refuted),
        ("lsa.risk_printed", json!({"scale": 2, "prompts": 1000}), OutOfScope),
        ("lsa.rate_m", json!({"scale": 2, "prompts": 1000}), OutOfScope),
        ("notes.attention_cost", json!({}), Refuted),
        ("notes.attention_cost", json!({"sizes": "long"}), Supported),
    ]);
}

#[test]
fn slopes_over_n_at_any_condition() {
    assert_verdicts(&[
        ("lsa.rate_n", json!({"condition": 100}), Supported),
        ("lsa.rate_n", json!({"dim": 1, "condition": 1}), Supported),
        ("lsa.rate_n", json!({"dim": 40}), Supported),
    ]);
}

/// Every target through the layer, and every display.
#[test]
fn every_choice_has_its_verdict() {
    let mut table = vec![];
    for target in ["linear", "quadratic", "sign", "relu"] {
        table.push(("lsa.risk", json!({ "target": target }), Supported));
    }
    for (display, verdict) in
        [("simple", Refuted), ("one-map", Supported), ("two-maps", Refuted), ("multi-head", Supported)]
    {
        table.push(("notes.attention_columns", json!({ "display": display }), verdict));
    }
    for (tokens, dim, heads) in [(1, 2, 1), (1, 2, 64), (50, 64, 8), (200, 3, 2)] {
        let set = json!({"tokens": tokens, "dim": dim, "heads": heads});
        table.push(("notes.residual_corrected", set.clone(), Supported));
        table.push(("notes.residual", set, Refuted));
    }
    assert_verdicts(&table);
}

/// Settings whose trials take seconds are known as such, and those by default as short.
#[test]
fn time_is_estimated() {
    let catalogue = Catalogue::new().with(attnlab_lsa::room());
    for (id, set) in [
        ("lsa.risk", json!({"dim": 500})),
        ("lsa.risk", json!({"M": 10_000_000})),
        ("lsa.rate_m", json!({"dim": 400})),
        ("lsa.query_shift", json!({"M": 1_000_000})),
        ("lsa.population_loss", json!({"N": 1_000_000_000})),
        ("lsa.empirical_limit", json!({"N": 1_000_000})),
        ("lsa.invariant", json!({"N": 1_000_000_000, "prompts": 1000})),
        ("notes.attention_columns", json!({"tokens": 10_000, "dim": 10_000})),
        ("notes.residual", json!({"tokens": 10_000, "dim": 4096})),
    ] {
        let claim = catalogue.claim(id).unwrap();
        let seconds = |set: &Value| {
            let params = Params::resolve(&claim.schema(), set.as_object().unwrap()).unwrap();
            claim.seconds(&params)
        };
        assert!(seconds(&set) > 1.0, "{id}: {}", seconds(&set));
        assert!(seconds(&json!({})) < 0.3, "{id}: {}", seconds(&json!({})));
    }
}
