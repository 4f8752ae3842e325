//! Sheets: their claims and parameters fit together, and their verdicts and numbers are those of the program.

use attnlab_lab::sheet_test::{SheetTest, number, setting};
use attnlab_memory::room;
use attnlab_memory::theory::ramsauer::Capacity;
use serde_json::json;

#[test]
fn sheets_claims_and_parameters_fit_together() {
    room().validate().unwrap();
}

#[test]
fn every_verdict_is_that_of_the_sheet() {
    SheetTest::new(room()).assert_checked();
}

#[test]
fn the_promise_to_a_contraction() {
    let claim = SheetTest::new(room()).claim("memory.theorem3");
    let report = claim.check(json!({}), None);
    let [d, k, beta, p] = ["d", "K", "beta", "p"].map(|name| setting(&report, name));
    let capacity = Capacity::new(d as usize, k, beta, p).unwrap();
    assert_eq!(report.failures, report.trials);
    claim.assert_printed(&[
        format!("At d = {d}, K = {k}, β = {beta}, p = {p}"),
        format!("M^2 = {:.3}", number(&report.witness, "beta_m2")),
        format!("c = {:.2}", capacity.ln_c.exp()),
        format!("c \\ge {:.2}", (capacity.ln_c - capacity.margin).exp()),
        format!("{} patterns", number(&report.witness, "patterns")),
        format!("Of {} draws none", report.trials),
    ]);
}

/// The promise is of two patterns at β M² = 1/(8e) and up to .047 at most, whatever d and p.
#[test]
fn the_range_of_the_failure() {
    for d in [2, 3, 20, 1000] {
        for p in [1e-3, 0.1, 1.0] {
            let margin = |strength: f64| Capacity::new(d, 1.0, strength / (d - 1) as f64, p).unwrap().margin;
            assert!(margin(1.0 / (8.0 * std::f64::consts::E)) >= -1e-12, "{d} {p}");
            for i in 0..=200 {
                let strength = 0.047 * (1.0_f64 / 0.047).powf(f64::from(i) / 200.0);
                assert!(margin(strength) < 0.0, "{d} {p} {strength}");
            }
        }
    }
}
