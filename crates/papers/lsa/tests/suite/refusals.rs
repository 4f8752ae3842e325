//! Input that claims and closed forms refuse, with the message that names it.

use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::run::{CheckOptions, Silent, check};
use serde_json::{Map, Value, json};

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn a_covariance_that_is_none_is_refused_with_what_is_wrong() {
    let catalogue = Catalogue::new().with(attnlab_lsa::room());
    let risk = catalogue.formula("lsa.risk").unwrap();
    for (covariance, message) in [
        (json!([[1, 2], [0, 1]]), "covariance[0][1] = 2: must be a symmetric matrix: [1][0] is 0"),
        (json!([[1, 2], [2, 1]]), "covariance = an eigenvalue -1: must be a symmetric matrix with eigenvalues > 0"),
        (json!([[1, 1], [1, 1]]), "covariance = an eigenvalue 0: must be a symmetric matrix with eigenvalues > 0"),
        (json!([[1, 2]]), "covariance has shape (1, 2), expected a square matrix"),
        (
            json!([[1, null], [2, 1]]),
            "covariance = [[1,null],[2,1]]: must be rows of equal length such as [[1, 0], [0, 1]], each entry \
             a finite number",
        ),
        (json!([[1]]), "task has shape 2, expected 1 entries, as the covariance has rows"),
    ] {
        let set = json!({"covariance": covariance, "N": 3, "M": 4, "task": [1, 2]});
        let error = risk.evaluate(&object(set)).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn parameters_that_do_not_fit_are_refused_with_the_reason() {
    let catalogue = Catalogue::new().with(attnlab_lsa::room());
    for (id, set, message) in [
        ("lsa.limit", json!({"condition": 0.5}), "condition = 0.5: must be a finite number >= 1"),
        ("lsa.limit", json!({"dim": 1}), "condition = 1000: must be 1 when dim = 1"),
        ("lsa.limit", json!({"N": 0}), "N = 0: must be a whole number from 1 to 9007199254740992"),
        ("lsa.limit", json!({"scale": -1}), "scale = -1: must be a finite number > 0"),
        (
            "lsa.limit",
            json!({"N": 3, "context": 4}),
            "context = 4: must be set once; it is another name of N. Write one of the two",
        ),
        // A flow on so many prompts.
        (
            "lsa.invariant",
            json!({"dim": 100, "prompts": 1_000_000}),
            "a check of 10 trials of about 24 days would take 236 days on one core: write smaller parameters, or \
             fewer trials",
        ),
        (
            "lsa.local_minimum",
            json!({"dim": 200}),
            "dim = 200: must be at most 25; the second derivative has (1 + 2 dim + dim²)² entries",
        ),
    ] {
        let claim = catalogue.claim(id).unwrap();
        let report = check(&**claim, &object(set), &CheckOptions::default(), &Silent);
        assert_eq!(report.unwrap_err().to_string(), message);
    }
}
