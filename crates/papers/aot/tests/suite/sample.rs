//! `attnlab sample` and `attnlab horizon` on its files: the same draw everywhere.

use crate::catalogue;
use crate::drawn::Files;
use attnlab_aot::horizon::{horizon, horizon_of_tokens};
use attnlab_aot::unroll::Data;
use attnlab_core::rng::Streams;
use attnlab_lab::run::{CheckOptions, Silent, check};
use attnlab_theory::attention::streaming::Cpu;
use attnlab_theory::sample::Mixture;
use serde_json::{Value, json};
use std::fs;

/// The coefficients in the files are those of `horizon` to the bit of f32, but for entries that lie within 1e-15 of
/// the middle between two floats; the horizon is the same.
#[test]
fn a_sampled_draw_is_that_of_the_horizon() {
    let files = Files::small();
    let data = files.data();
    let mixture = Mixture::balanced(400, 2, 40, 0.05).unwrap();
    let streams = Streams::new(3, "aot.horizon", 0, 0);
    let drawn = mixture.draw(&streams).unwrap();
    assert_eq!(data.tokens, drawn.tokens);
    assert_eq!((&data.bases, &data.labels), (&drawn.bases, &drawn.labels));
    for k in 0..2 {
        let y = data.bases[k].t().dot(&data.tokens).mapv(|x| x as f32);
        let head = mixture.head::<f32>(k, &streams);
        assert!(y.iter().zip(&head).filter(|(a, b)| a != b).count() <= 2);
    }
    let expected = horizon(&mixture, 0.5, 0.55, 3, &Silent).unwrap();
    let of_files = horizon_of_tokens(&Cpu, &data, 0.5, 0.55, &Silent).unwrap();
    let theta = |x: Option<f64>| x.unwrap();
    assert!(theta(expected.theta_crit) > 1.5);
    assert!((theta(of_files.theta_crit) / theta(expected.theta_crit) - 1.0).abs() < 1e-6);
    let (a, b) = (of_files.witness.unwrap(), expected.witness.unwrap());
    assert_eq!((a.layer, a.head, a.column, a.row), (b.layer, b.head, b.column, b.row));
    assert!((a.weight - b.weight).abs() < 1e-5);
    assert_eq!((of_files.seed, of_files.delta), (None, None));
    let text: Value = serde_json::from_str(&fs::read_to_string(files.path_of("draw.json")).unwrap()).unwrap();
    assert_eq!(text["seed"], 3);
    assert_eq!(text["dims"], json!([40, 40]));
}

/// Tokens in another order have the same horizon, with the caller's indices in its witness.
#[test]
fn clusters_may_be_mixed() {
    let data = Files::small().data();
    let order: Vec<usize> = (0..400).map(|i| (i * 7) % 400).collect();
    let labels = order.iter().map(|i| data.labels[*i]).collect();
    let mixed = Data::new(data.tokens.select(ndarray::Axis(1), &order), data.bases.clone(), labels).unwrap();
    let plain = horizon_of_tokens(&Cpu, &data, 0.5, 0.55, &Silent).unwrap();
    let of_mixed = horizon_of_tokens(&Cpu, &mixed, 0.5, 0.55, &Silent).unwrap();
    let (a, b) = (plain.witness.unwrap(), of_mixed.witness.unwrap());
    assert!((plain.theta_crit.unwrap() / of_mixed.theta_crit.unwrap() - 1.0).abs() < 1e-6);
    assert_eq!((order[b.column], order[b.row]), (a.column, a.row));
}

/// The witness of a check is recomputed from the files of its trial.
#[test]
fn a_witness_is_rechecked_from_its_files() {
    let set = ["--set", "tokens=400", "--set", "dim=40"];
    let files = Files::sampled(&[&["--claim", "aot.theorem1", "--seed", "5"], &set[..]].concat());
    let catalogue = catalogue();
    let claim = catalogue.claim("aot.theorem1").unwrap();
    let params = json!({"tokens": 400, "dim": 40});
    let options = CheckOptions { seed: 5, trials: Some(1), beyond_hypotheses: true, ..CheckOptions::default() };
    let report = check(&**claim, params.as_object().unwrap(), &options, &Silent).unwrap();
    let of_files = horizon_of_tokens(&Cpu, &files.data(), 0.5, 0.55, &Silent).unwrap();
    let theta = report.witness["theta_crit"].as_f64().unwrap();
    assert!((of_files.theta_crit.unwrap() / theta - 1.0).abs() < 1e-6);
    assert_eq!(report.witness["column"], of_files.witness.unwrap().column);
}

#[test]
fn every_relation_of_the_bases_is_sampled() {
    for (relation, c) in [("orthonormal", None), ("independent", None), ("coherent", Some("0.3"))] {
        let mut arguments = vec!["--tokens", "40", "--dim", "4", "--relation", relation];
        arguments.extend(c.map(|c| ["--coherence", c]).iter().flatten());
        let files = Files::sampled(&arguments);
        assert_eq!(files.data().tokens.ncols(), 40);
    }
    let wide = Files::sampled(&["--tokens", "40", "--dim", "4", "--ambient", "11"]);
    assert_eq!(wide.data().tokens.dim(), (11, 40));
}
