//! Layers of pure attention in residual form.

use attnlab_cluster::setting::{heads, rows};
use attnlab_cluster::theory::collapse::{composite_norm, constant};
use attnlab_core::rng::Streams;
use ndarray::Array2;

/// The layer by its definition.
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
fn two_tokens_on_a_line_are_an_eighth_below_the_bound() {
    let streams = Streams::new(3, "collapse", 0, 0);
    let (tokens, heads) = (rows(2, 1, 1e-9, &streams), heads(1, 1, 1.0, &streams));
    let [before, after] = [&tokens, &tokens.layer(&heads)].map(|tokens| composite_norm(tokens.residuals.view()));
    assert!((8.0 * after / (constant(&heads) * before.powi(3)) - 1.0).abs() < 1e-6);
}
