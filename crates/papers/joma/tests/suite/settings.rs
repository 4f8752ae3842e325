//! Verdicts away from the defaults: every command that a review found wrong, and the corners of each domain.

use attnlab_joma::room;
use attnlab_joma::theory::Activation;
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::claim::VerdictKind::{self, OutOfScope, Refuted, Supported};
use attnlab_lab::run::{CheckOptions, CheckReport, Silent, check};
use serde_json::{Value, json};

fn report(id: &str, set: &Value, options: &CheckOptions) -> CheckReport {
    let catalogue = Catalogue::new().with(room());
    let claim = catalogue.claim(id).unwrap();
    let found = check(&**claim, set.as_object().unwrap(), options, &Silent);
    found.unwrap_or_else(|error| panic!("check {id} {set}: {error}"))
}

fn with_trials(trials: u64) -> CheckOptions {
    CheckOptions { trials: Some(trials), ..CheckOptions::default() }
}

fn assert_verdicts(table: &[(&str, Value, VerdictKind)]) {
    for (id, set, expected) in table {
        let found = report(id, set, &CheckOptions::default());
        let why = &found.witness;
        assert_eq!(found.verdict, *expected, "check {id} {set}: {why:?}");
        assert_eq!(found.expected, *expected, "check {id} {set}");
    }
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
            let set = json!({ "activation": activation });
            let found = report(id, &set, &with_trials(trials));
            assert_eq!(found.verdict, Supported, "{id} {activation}: {:?}", found.witness);
        }
    }
    let found = report("joma.eq9", &json!({"activation": "relu"}), &with_trials(300));
    assert_eq!(found.verdict, Supported);
    assert_verdicts(&[("joma.near_orthogonal_terms", json!({"activation": "relu"}), Supported)]);
}

#[test]
fn small_layers() {
    assert_verdicts(&[
        ("joma.eq17", json!({"tokens": 1}), Supported),
        ("joma.eq17", json!({"samples": 1}), Supported),
        ("joma.eq17", json!({"tokens": 2, "samples": 2, "nodes": 1}), Refuted),
        ("joma.eq17_corrected", json!({"tokens": 1}), Supported),
        ("joma.eq9", json!({"tokens": 1, "samples": 1, "nodes": 1}), Supported),
        ("joma.eq60", json!({"tokens": 1, "samples": 1, "nodes": 2}), Supported),
        ("joma.theorem1_exp", json!({"tokens": 1, "samples": 1, "nodes": 1}), Supported),
        ("joma.theorem1_softmax_corrected", json!({"tokens": 1}), Supported),
        ("joma.theorem2_corrected", json!({"tokens": 2, "samples": 1}), Supported),
        ("joma.near_orthogonal", json!({"tokens": 2}), Supported),
        ("joma.near_orthogonal", json!({"tokens": 2, "epsilon": 0.9}), Supported),
    ]);
}

/// Every assumption of Theorem 1 is a hypothesis.
#[test]
fn theorem_1_out_of_scope() {
    assert_verdicts(&[
        ("joma.theorem1_exp", json!({"coherence": 0.2}), OutOfScope),
        ("joma.theorem1_exp", json!({"step": 0.05}), OutOfScope),
        ("joma.theorem1_linear", json!({"query_overlap": 0.2}), OutOfScope),
        ("joma.theorem1_softmax_corrected", json!({"data": "random"}), OutOfScope),
        ("joma.theorem1_softmax", json!({"data": "random"}), OutOfScope),
        ("joma.theorem1_softmax_corrected", json!({"activation": "tanh"}), OutOfScope),
        ("joma.theorem1_softmax_corrected", json!({"activation": "relu"}), Supported),
    ]);
}

/// Trials that see nothing give no support, and a step that takes for ever is refused.
#[test]
fn trials_without_information_do_not_support() {
    let beyond = CheckOptions { beyond_hypotheses: true, ..CheckOptions::default() };
    for id in ["joma.theorem3", "joma.theorem3_corrected", "joma.lemma4_corrected"] {
        let found = report(id, &json!({"law": "gaussian"}), &beyond);
        assert_eq!(found.verdict, VerdictKind::Inconclusive, "{id}");
        assert_eq!(found.informative, 0, "{id}");
    }
    let catalogue = Catalogue::new().with(room());
    let claim = catalogue.claim("joma.theorem1_exp").unwrap();
    for set in
        [json!({"step": 1e-300}), json!({"until": 1e-300}), json!({"tokens": 200, "nodes": 100, "samples": 1000})]
    {
        let options = CheckOptions::default();
        let refused = check(&**claim, set.as_object().unwrap(), &options, &Silent);
        let message = refused.unwrap_err().to_string();
        assert!(message.contains(": must "), "{message}");
    }
}

/// Statements that the paper makes, in readings that it would accept, at the printed setting and at the code's.
#[test]
fn fair_renderings() {
    assert_verdicts(&[
        ("joma.lemma4", json!({}), Supported),
        ("joma.lemma4", json!({"activation": "absolute", "law": "gaussian"}), Supported),
        ("joma.lemma4", json!({"activation": "leaky-relu"}), Supported),
        ("joma.theorem3_definite", json!({}), Supported),
        ("joma.theorem3_definite", json!({"activation": "absolute"}), Supported),
        ("joma.entropy", json!({}), Supported),
        ("joma.entropy", json!({"low": 0.5}), OutOfScope),
        ("joma.fig2", json!({}), Supported),
        ("joma.fig2", json!({"setting": "code"}), Supported),
        ("joma.fig2_amplitude", json!({}), Supported),
        ("joma.fig2_amplitude", json!({"setting": "code"}), Refuted),
        ("joma.fig2_components", json!({"setting": "code"}), Supported),
        ("joma.fig2_components_corrected", json!({"setting": "code"}), Supported),
        ("joma.fig2_components_corrected", json!({"inputs": "both", "setting": "code"}), OutOfScope),
        ("joma.fig2_components_corrected", json!({"inputs": "random"}), OutOfScope),
    ]);
}

#[test]
fn laws_and_dimensions() {
    let mut table = vec![
        ("joma.lemma2", json!({"length": 1}), Supported),
        ("joma.lemma2_corrected", json!({"activation": "tanh"}), OutOfScope),
        ("joma.lemma1_corrected", json!({"activation": "square"}), OutOfScope),
        ("joma.lemma1_corrected", json!({"activation": "tanh"}), Supported),
        ("joma.lemma4_existence", json!({"nu": 2.5}), OutOfScope),
        ("joma.lemma4_existence", json!({"nu": 1.9999}), Supported),
        ("joma.entropy_linear", json!({"low": 1.0, "high": 1.0}), OutOfScope),
        ("joma.entropy_linear", json!({"tokens": 2}), Supported),
        ("joma.entropy_linear", json!({"tokens": 1000, "low": 1e-3, "high": 20.0}), Supported),
        ("joma.theorem5_corrected", json!({"depth": 2, "classes": 1}), Supported),
        ("joma.theorem5_corrected", json!({"depth": 16, "classes": 1000}), Supported),
    ];
    for dim in [1, 2, 12] {
        for id in ["joma.lemma1_corrected", "joma.lemma3", "joma.lemma3_monotone_corrected"] {
            table.push((id, json!({ "dim": dim }), Supported));
        }
        table.push(("joma.lemma5_corrected", json!({ "dim": dim }), Supported));
        table.push(("joma.theorem3_corrected", json!({ "dim": dim }), Supported));
    }
    assert_verdicts(&table);
}
