//! Answers of the page, natively: known ones, refusals, and what must hold between them.

use attnlab_lab::run::Silent;
use attnlab_page::answer;
use serde_json::{Value, json};

fn asked(request: Value) -> Value {
    serde_json::from_str(&answer(&request.to_string(), &Silent)).unwrap()
}

fn value(request: Value) -> Value {
    let mut answer = asked(request);
    assert!(answer.get("error").is_none(), "{answer}");
    answer["value"].take()
}

fn with(mut request: Value, more: Value) -> Value {
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

#[test]
fn refusals_name_what_is_wrong() {
    let law = json!({"do": "law", "tokens": 601, "clusters": 2, "dim": 64, "delta": 0.04, "eta": 0.5, "tau": 0.55});
    let landscape = json!({"do": "landscape", "context": 3, "sigma_z2": 0.1, "alpha": 1, "side": 9, "reach": 2});
    for (request, text) in [
        (json!({"do": "fly"}), "must be a request of the page"),
        (json!({"do": "check", "id": "aot.lemma"}), "aot.lemma1"),
        (json!({"do": "check", "id": "aot.lemma1", "set": {"dim": -1}}), "dim = -1"),
        (json!({"do": "check", "id": "aot.lemma1", "trials": 0}), "trials = 0"),
        (json!({"do": "check", "id": "aot.lemma1", "trails": 9}), "trails"),
        (law.clone(), "must be a positive multiple of clusters = 2"),
        (with(law.clone(), json!({"tokens": 600, "eta": 1e-9})), "eta = 0.000000001: must be larger"),
        (with(law, json!({"tokens": 600, "dleta": 1})), "dleta"),
        (with(landscape.clone(), json!({"side": 1})), "side = 1"),
        (with(landscape, json!({"alpha": 0})), "alpha = 0"),
    ] {
        let refusal = asked(request);
        assert!(refusal["error"].as_str().is_some_and(|e| e.contains(text)), "{refusal} lacks {text}");
    }
    let refusal: Value = serde_json::from_str(&answer("{", &Silent)).unwrap();
    assert!(refusal["error"].as_str().unwrap().contains("request"), "{refusal}");
}

#[test]
fn every_claim_is_listed_and_shown() {
    let rooms = value(json!({"do": "catalogue"}));
    let claims: Vec<&Value> =
        rooms.as_array().unwrap().iter().flat_map(|room| room["claims"].as_array().unwrap()).collect();
    assert_eq!(claims.len(), attnlab::catalogue().claims().count());
    for claim in claims {
        let card = value(json!({"do": "show", "id": claim["id"]}));
        assert_eq!(card["statement"], claim["statement"]);
        assert!(card["parameters"].is_array() && card["statement_html"].is_string(), "{card}");
    }
}

#[test]
fn a_verdict_has_report_and_card() {
    let verdict = value(json!({"do": "check", "id": "aot.lemma1", "set": {"dim": 32}, "seed": 4, "trials": 3}));
    let report = &verdict["report"];
    assert_eq!((&report["verdict"], &report["seed"]), (&json!("supported"), &json!(4)));
    assert!(verdict["card"].as_str().unwrap().contains("attnlab check aot.lemma1 --seed 4 --set dim=32 --trials 3"));
}

/// N = 2000, K = 2, p = 900, δ = √(log N / p)/8: half of all draws keep to the theorem for 7 layers, as the
/// documentation of the law says.
#[test]
fn the_law_has_its_known_value() {
    let setting =
        json!({"do": "law", "tokens": 2000, "clusters": 2, "dim": 900, "delta": 0.011487, "eta": 0.5, "tau": 0.55});
    let law = value(setting.clone());
    assert_eq!(law["exact_updates"][1], 7);
    let layers = law["layers"].as_array().unwrap();
    let broken: Vec<f64> = layers.iter().map(|l| l["broken"].as_f64().unwrap()).collect();
    assert!(broken.is_sorted() && broken[0] < 0.001 && broken[broken.len() - 1] > 0.999, "{broken:?}");
    // The quick form is at most a layer off there.
    let sketch = value(with(setting, json!({"sketch": true})));
    assert!(sketch["exact_updates"][1].as_u64().unwrap().abs_diff(7) <= 1, "{sketch}");
}

/// A small step leaves the law at deep layers, which the list need not reach from 0.
#[test]
fn the_law_is_found_at_any_depth() {
    let law = |eta: f64| {
        value(json!({"do": "law", "tokens": 600, "clusters": 2, "dim": 64, "delta": 0.04, "eta": eta, "tau": 0.55}))
    };
    let updates = |eta: f64| law(eta)["exact_updates"][1].as_u64().unwrap();
    let (few, many) = (updates(0.5), updates(0.01));
    // ⌈ln θ / ln(1 + ητ)⌉ for the same θ.
    let bounds = [few - 1, few].map(|l| l as f64 * 1.275_f64.ln() / 1.0055_f64.ln());
    assert!((bounds[0]..bounds[1] + 1.0).contains(&(many as f64)), "{few} {many}");
    assert!(law(0.01)["layers"][0]["layer"].as_u64() > Some(0));
}

#[test]
fn a_draw_its_layers_and_its_attention_agree() {
    let setting = json!({"tokens": 240, "clusters": 2, "dim": 64, "delta": 0.05, "eta": 0.5, "tau": 0.55, "seed": 3});
    let asked = |what: &str, more: Value| value(with(with(json!({"do": what}), setting.clone()), more));
    let draw = asked("horizon", json!({}));
    let (exact, witness) = (draw["exact_updates"].as_u64().unwrap(), &draw["witness"]);
    // Theorem 1: every exact update multiplies the SNR by 1 + ητ; the next one does not.
    let snr = asked("layers", json!({"layers": exact + 1}));
    let off = |l: usize| {
        let at = |name: &str, k: usize| snr[name][l][k].as_f64().unwrap();
        (0..2).map(|k| (at("snr", k) / at("theorem", k) - 1.0).abs()).fold(0.0, f64::max)
    };
    assert!((0..=exact as usize).all(|l| off(l) < 1e-9) && off(exact as usize + 1) > 1e-3, "{snr}");
    // The weight that ends it is in the map.
    let map = asked("attention", json!({"head": witness["head"], "layer": exact}));
    let entry = map["entries"].as_array().unwrap().iter().find(|e| e[0] == witness["row"] && e[1] == witness["column"]);
    let weight = entry.unwrap()[2].as_f64().unwrap();
    assert!((weight / witness["weight"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{weight} {witness}");
    assert!(weight > 0.55);
}

/// One token has all the attention: whatever the query, one step leads to α times it, and there descent ends.
#[test]
fn a_context_of_one_token_is_retrieved() {
    let setting = json!({"context": 1, "sigma_z2": 0.25, "alpha": 0.5, "seed": 2, "side": 8, "reach": 1.5});
    let ground = value(with(json!({"do": "landscape"}), setting.clone()));
    assert_eq!((&ground["beta"], ground["energy"].as_array().unwrap().len()), (&json!(4.0), 64));
    let descent = value(with(json!({"do": "descent", "query": [0.3, -1.0], "steps": 3}), setting));
    let pair = |v: &Value| [v[0].as_f64().unwrap(), v[1].as_f64().unwrap()];
    let token = pair(&ground["context"][0]);
    for state in [&descent["path"][1], &descent["path"][3], &descent["end"], &ground["minima"][0]["state"]] {
        let state = pair(state);
        assert!((0..2).all(|i| (state[i] - 0.5 * token[i]).abs() < 1e-12), "{state:?} {token:?}");
    }
    assert_eq!(ground["minima"][0]["token"], 0);
    let energy: Vec<f64> = descent["energy"].as_array().unwrap().iter().map(|e| e.as_f64().unwrap()).collect();
    assert!(energy.is_sorted_by(|a, b| a + 1e-12 >= *b), "{energy:?}");
}
