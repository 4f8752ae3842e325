//! Verdicts away from the defaults, and the time that they take.

use attnlab_cluster::room;
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::claim::Params;
use attnlab_lab::sheet_test::SheetTest;
use serde_json::{Value, json};

#[test]
fn every_verdict_is_that_of_the_sheet() {
    SheetTest::new(room()).assert_checked();
}

/// Settings whose trials take seconds are known as such, and those by default as short.
#[test]
fn time_is_estimated() {
    let catalogue = Catalogue::new().with(room());
    for (id, set) in [
        ("cluster.theorem6_8", json!({"n": 64})),
        ("cluster.circle_modes", json!({"n": 4000})),
        ("cluster.theorem6_9", json!({"n": 64, "d": 2048, "t": 100})),
        ("cluster.one_point", json!({"n": 64, "d": 64, "beta": 4})),
        ("cluster.causal", json!({"n": 64, "d": 32, "beta": 2})),
        ("cluster.lemma_c1", json!({"d": 8, "delta": 0.5})),
    ] {
        let claim = catalogue.claim(id).unwrap();
        let seconds = |set: &Value| claim.seconds(&Params::resolve(&claim.schema(), set.as_object().unwrap()).unwrap());
        assert!(seconds(&set) > 0.5, "{id}: {}", seconds(&set));
        assert!(seconds(&json!({})) < 0.3, "{id}: {}", seconds(&json!({})));
    }
}
