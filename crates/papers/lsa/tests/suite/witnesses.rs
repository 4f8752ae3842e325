//! Numbers in the sheets, held to what the program computes.

use attnlab_lab::sheet_test::{ClaimTest, SheetTest, estimate, grouped, number, numbers, setting};
use attnlab_lsa::room;
use serde_json::json;

fn claim(id: &str) -> ClaimTest {
    SheetTest::new(room()).claim(id)
}

/// "The gradient vanishes" at weights 0, and the ratio "falls a hundredfold for each tenfold step".
#[test]
fn the_ratio_on_the_way_to_weights_0() {
    for draw in claim("lsa.pl_printed").draws(json!({ "weights": "anywhere" }), None) {
        assert_eq!(number(draw.witness(), "ratio_at_weights_0"), 0.0);
        let ratios = numbers(draw.witness(), "ratio_at_scales_shrinking_tenfold");
        for pair in ratios.windows(2) {
            let fall = (pair[0] / pair[1]).log10();
            // A hundredfold up to a quarter, the first terms of a series in the scale.
            assert!((fall - 2.0).abs() < 0.1, "{ratios:?}");
        }
    }
}

#[test]
fn the_risk_with_the_printed_powers() {
    let claim = claim("lsa.risk_printed");
    let report = claim.check(json!({}), None);
    let [dim, context, examples] = ["dim", "N", "M"].map(|name| setting(&report, name));
    let target = report.parameters["target"].as_str().unwrap();
    claim.assert_printed(&[
        format!("At d = {dim}, N = {context}, M = {examples} with a {target} target"),
        format!("is {} of the printed one", estimate(&report, 3)),
    ]);
}

#[test]
fn the_column_sums_of_the_displays() {
    let claim = claim("notes.attention_columns");
    let sums = |display: &str| numbers(claim.draws(json!({ "display": display }), None)[0].witness(), "sums");
    let span = |display: &str| {
        let (low, high) =
            sums(display).into_iter().fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
        format!("{low:.3} to {high:.3}")
    };
    claim.assert_printed(&[
        format!("from {};", span("simple")),
        format!("display=two-maps` they are {},", span("two-maps")),
        "with `one-map` and `multi-head` they are 1".to_string(),
    ]);
    for display in ["one-map", "multi-head"] {
        assert!(sums(display).iter().all(|sum| (sum - 1.0).abs() < 1e-14));
    }
}

#[test]
fn the_cost_of_learned_similarity() {
    let claim = claim("notes.attention_cost");
    let report = claim.check(json!({}), None);
    let [n, d, k, with, without] =
        ["N", "D", "K", "with_U", "without_U"].map(|name| number(&report.witness, name) as u64);
    assert_eq!((costs(n, d, k), k < d.div_ceil(2)), ((with, without), true));
    let (small, small_without) = costs(10, 100, 45);
    claim.assert_printed(&[
        format!("N = {n}, D = {d}, K = {k} < D/2"),
        format!("{} multiplications with the map", grouped(with)),
        format!("and {} without", grouped(without)),
        format!("they are {} and {}", grouped(small), grouped(small_without)),
    ]);
}

/// Multiplications with and without the map to K dimensions: NKD + N²K and N²D.
fn costs(n: u64, d: u64, k: u64) -> (u64, u64) {
    (n * k * d + n * n * k, n * n * d)
}

#[test]
fn the_norm_that_the_printed_block_adds() {
    let claim = claim("notes.residual");
    let report = claim.check(json!({}), None);
    let [added, tokens] =
        ["norm_of_what_is_added_beside_the_stages", "norm_of_x"].map(|name| number(&report.witness, name));
    claim.assert_printed(&[format!("MHSA and MLP: {added:.1}, where that of the tokens is {tokens:.1}")]);
}
