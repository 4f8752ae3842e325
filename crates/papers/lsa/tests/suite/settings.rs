//! Verdicts away from the defaults, and the time that they take.

use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::claim::Params;
use attnlab_lab::sheet_test::SheetTest;
use serde_json::{Value, json};

#[test]
fn every_verdict_is_that_of_the_sheet() {
    SheetTest::new(attnlab_lsa::room()).assert_checked();
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
        let seconds = |set: &Value| claim.seconds(&Params::resolve(&claim.schema(), set.as_object().unwrap()).unwrap());
        assert!(seconds(&set) > 1.0, "{id}: {}", seconds(&set));
        assert!(seconds(&json!({})) < 0.3, "{id}: {}", seconds(&json!({})));
    }
}
