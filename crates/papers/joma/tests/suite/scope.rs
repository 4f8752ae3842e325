//! The scope of the claims: verdicts away from the defaults, hypotheses that fail, critical points of other activations, refused parameters.

use attnlab_core::Result;
use attnlab_joma::theory::Activation;
use attnlab_lab::claim::VerdictKind;
use attnlab_lab::run::{CheckOptions, CheckReport, Silent, check};
use attnlab_lab::sheet_test::SheetTest;
use serde_json::{Value, json};

fn run_with(id: &str, set: Value, trials: u64, beyond_hypotheses: bool) -> Result<CheckReport> {
    let options = CheckOptions { trials: Some(trials), beyond_hypotheses, ..CheckOptions::default() };
    check(&**crate::catalogue().claim(id).unwrap(), set.as_object().unwrap(), &options, &Silent)
}

fn run_claim(id: &str, set: Value) -> Result<CheckReport> {
    run_with(id, set, 8, false)
}

/// Broken on purpose: the shares of the assumptions in the drift add up.
#[test]
fn the_drift_is_shared_among_the_assumptions() {
    let report = run_with("joma.theorem1_softmax_corrected", json!({"data": "random"}), 8, true).unwrap();
    assert_eq!(report.verdict, VerdictKind::Refuted);
    let shares = ["attention uncorrelated with the gradient at every node", "constant mean attention"];
    let sum: f64 = shares.iter().map(|name| report.witness[&format!("share: {name}")].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-6, "{:?}", report.witness);
}

/// Theorem 3 and Lemma 4 under every homogeneous activation: leaky ReLU and |x| have critical points of their
/// own, |x| even for Gaussian inputs, and the linear activation has none.
#[test]
fn critical_points_of_all_homogeneous_activations() {
    for id in ["joma.theorem3_corrected", "joma.theorem3_definite_corrected", "joma.lemma4_corrected"] {
        for set in [
            json!({"activation": "leaky-relu"}),
            json!({"activation": "absolute"}),
            json!({"activation": "absolute", "law": "gaussian"}),
        ] {
            let report = run_claim(id, set.clone()).unwrap();
            assert_eq!(report.verdict, VerdictKind::Supported, "{id} {set}");
            assert!(!report.witness.contains_key("none"), "{id} {set}");
        }
        assert_eq!(run_claim(id, json!({"activation": "linear"})).unwrap().verdict, VerdictKind::OutOfScope, "{id}");
    }
}

#[test]
fn refused_parameters_are_named() {
    let refused = |set: Value| run_claim("joma.theorem1_exp", set).unwrap_err().to_string();
    let message = refused(json!({"coherence": 1.0}));
    assert!(message.starts_with("coherence = 1.0: must be"), "{message}");
    // Six orthonormal embeddings leave room for an overlap of at most 1/√6 with each.
    let message = refused(json!({"query_overlap": 0.5}));
    assert!(message.starts_with("query_overlap = 0.5: must be a number in (-0.408"), "{message}");
    let error = run_claim("joma.theorem1_softmax", json!({"gradient": "cross-entropy"})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "gradient = cross-entropy: must be stationary when data = exact; these data give the gradient"
    );
    let error = run_claim("joma.entropy", json!({"low": 5.0})).unwrap_err();
    assert_eq!(error.to_string(), "low = 5: must be a number > 0 and at most high = 4");
    // Steps that take for ever.
    for set in
        [json!({"step": 1e-300}), json!({"until": 1e-300}), json!({"tokens": 200, "nodes": 100, "samples": 1000})]
    {
        assert!(refused(set.clone()).contains(": must "), "{}", refused(set));
    }
}

#[test]
fn every_verdict_is_that_of_the_sheet() {
    SheetTest::new(attnlab_joma::room()).assert_checked();
}

/// Rounding, kinks and dead nodes: identities hold under every activation.
#[test]
fn identities_under_every_activation() {
    for activation in Activation::NAMES {
        for (id, trials) in [
            ("joma.eq9", 60),
            ("joma.eq60", 9),
            ("joma.eq17_corrected", 60),
            ("joma.theorem1_exp", 9),
            ("joma.theorem1_linear", 9),
        ] {
            let report = run_with(id, json!({"activation": activation}), trials, false).unwrap();
            assert_eq!(report.verdict, VerdictKind::Supported, "{id} {activation}: {:?}", report.witness);
        }
    }
}
