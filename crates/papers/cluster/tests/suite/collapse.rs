//! Layers of pure attention in residual form.

use attnlab_cluster::room;
use attnlab_cluster::setting::{heads, rows};
use attnlab_cluster::theory::collapse::{Head, Tokens, composite_norm, constant};
use attnlab_core::rng::Streams;
use attnlab_lab::claim::{Arrays, OnArrays};
use attnlab_lab::sheet_test::SheetTest;
use ndarray::{Array1, Array2, array};

#[test]
fn a_layer_is_attention() {
    let (n, d) = (7, 4);
    let streams = Streams::new(1, "collapse", 0, 0);
    let (tokens, heads) = (rows(n, d, 1.0, &streams), heads(d, 2, 1.0, &streams));
    let plain_rows = &tokens.residuals + &tokens.shared;
    let mut plain = Array2::zeros((n, d));
    for head in &heads {
        let mut weights = plain_rows.dot(&head.scores).dot(&plain_rows.t()).mapv(f64::exp);
        for mut row in weights.rows_mut() {
            let total = row.sum();
            row /= total;
        }
        plain += &weights.dot(&plain_rows).dot(&head.values);
    }
    let after = tokens.layer(&heads);
    let error = (&after.residuals + &after.shared - &plain).fold(0.0_f64, |worst, x| worst.max(x.abs()));
    assert!(error < 1e-12, "{error}");
}

#[test]
fn small_residuals_are_cubed() {
    let streams = Streams::new(2, "collapse", 0, 0);
    let heads = heads(5, 2, 1.0, &streams);
    let after = |size: f64| composite_norm(rows(6, 5, size, &streams).layer(&heads).residuals.view());
    let ratio = after(1e-8) / after(1e-7);
    assert!((ratio / 1e-3 - 1.0).abs() < 1e-5, "{ratio}");
}

/// On a line two tokens at ±r have ‖res‖_{1,∞} = √2 r before and √2 r³ |A W| after a layer: an eighth of the bound.
#[test]
fn two_tokens_on_a_line_reach_an_eighth_of_the_bound() {
    let streams = Streams::new(3, "collapse", 0, 0);
    let (tokens, heads) = (rows(2, 1, 1e-9, &streams), heads(1, 1, 1.0, &streams));
    let [before, after] = [&tokens, &tokens.layer(&heads)].map(|tokens| composite_norm(tokens.residuals.view()));
    assert!((8.0 * after / (constant(&heads) * before.powi(3)) - 1.0).abs() < 1e-6);
}

/// h² of the counter-example, and the weight that the first token gets from tokens at 0.
const FAR: (f64, f64) = (12.5, 0.8);

/// Bounds from below the residuals of the counter-example after a layer, whichever row is taken off: its first column, from
/// the k tokens that left the first one and the k that did not, and a row, from two of the former.
fn at_least(k: f64) -> f64 {
    let (square, share) = FAR;
    let odds = (1.0 - share) / k * square.exp_m1();
    let column = k * share * odds / (1.0 + odds);
    let row = odds / (1.0 + odds);
    (square * column * row).sqrt()
}

/// Many tokens, one at h e_0, k at h e_i and k at 0, exceed the printed bound 4 h³ of the layer with A = W = 1.
#[test]
fn many_tokens_exceed_the_bound() {
    let (square, share) = FAR;
    let h = f64::sqrt(square);
    // At k = 40 the layer itself. Tokens at 0 get a share of e^{−25} of the weight.
    let k = 40;
    let residuals = Array2::from_shape_fn((2 * k + 1, k + 1), |(i, c)| if i == c { h } else { 0.0 });
    let log_weight = |c: usize| if c == 0 { share.ln() } else { ((1.0 - share) / k as f64).ln() };
    let shared = Array1::from_shape_fn(k + 1, |c| (25.0 + (k as f64).ln() + log_weight(c)) / h);
    let identity = || Array2::eye(k + 1);
    let heads = [Head { scores: identity(), values: identity() }];
    assert_eq!(constant(&heads), 4.0);
    let after = composite_norm(Tokens { shared, residuals }.layer(&heads).residuals.view());
    assert!(after >= at_least(k as f64) * (1.0 - 1e-9), "{after}");
    // Before the layer the norm is h at most, that of the residuals from 0.
    let excess = |k: f64| at_least(k) / (4.0 * h.powi(3));
    assert!(excess(2_000.0) < 1.0 && excess(5_000.0) > 1.0);
    let printed = format!("n = 20001, d = 10001 they are {:.1} times the bound", excess(10_000.0));
    SheetTest::new(room()).claim("cluster.rank_collapse").assert_printed(&[printed]);
}

/// Two tokens r and −r on a line, one head with A = W = 1: their residuals after the layer are ± r tanh r², and √2 times as
/// much is their composite norm; the bound is 4 (√2 r)³. At r = 1e-3 the distance of the logarithms is ln 8.
#[test]
fn arrays_of_a_user_are_judged_as_draws_are() {
    let claim = attnlab_cluster::claims::all().into_iter().find(|c| c.sheet().id == "cluster.rank_collapse").unwrap();
    let mut arrays = Arrays::default();
    arrays.push("tokens", array![[1e-3, -1e-3]]);
    arrays.push("scores", array![[1.0]]);
    arrays.push("values", array![[1.0]]);
    let judgement = OnArrays::judge(&*claim, &Default::default(), &arrays, true).unwrap();
    let witness = judgement.closest.unwrap().witness;
    let number = |name: &str| witness[name].as_f64().unwrap();
    // tanh r² is r² but for 1e-12 of it.
    assert!((number("ln_bound") - number("after").ln() - 8.0_f64.ln()).abs() < 1e-10);
    assert_eq!(
        (judgement.verdict, judgement.mutants["lowest"], judgement.mutants["fourth"]),
        ("holds", "fails", "fails")
    );
    arrays.push("values", array![[1.0]]);
    let error = OnArrays::judge(&*claim, &Default::default(), &arrays, true).unwrap_err().to_string();
    assert!(error.contains("must be as many as scores, 1"), "{error}");
}
