//! Numbers in the sheets, held to what the program computes.

use attnlab_cluster::room;
use attnlab_cluster::theory::long_context::LongContext;
use attnlab_lab::run::CheckReport;
use attnlab_lab::sheet_test::{ClaimTest, SheetTest, estimate, number, setting};
use serde_json::json;

/// A claim and its check at the defaults.
fn checked(id: &str) -> (ClaimTest, CheckReport) {
    let claim = SheetTest::new(room()).claim(id);
    let report = claim.check(json!({}), None);
    (claim, report)
}

#[test]
fn the_promised_probability() {
    let (claim, report) = checked("cluster.theorem6_9");
    let [n, d] = ["n", "d"].map(|name| setting(&report, name));
    let promised = 1.0 - 2.0 * n * n * d.powf(-1.0 / 64.0);
    claim.assert_printed(&[
        format!("$n = {n}$, $d = {d}$ the promised probability is {promised:.1}"),
        format!("{} of {} draws", report.trials - report.failures, report.trials),
    ]);
    // "d > 6.3·10⁵⁷ for two tokens": (2n²)⁶⁴ at n = 2.
    assert!((6.2e57..6.3e57).contains(&8.0_f64.powi(64)));
}

#[test]
fn the_printed_unit_of_time() {
    let (claim, report) = checked("cluster.pair_clock");
    let [beta, start] = ["beta", "angle"].map(|name| setting(&report, name));
    let [s, angle, printed] = ["s", "angle", "printed_angle"].map(|name| number(&report.witness, name));
    claim.assert_printed(&[
        format!("$\\beta = {beta}$, $\\theta_0 = {start}$ the angle is halved at s = {s:.4};"),
        format!("has an angle of {printed:.3} there"),
    ]);
    assert!((angle / start - 0.5).abs() < 1e-6);
}

#[test]
fn the_printed_law_without_masses() {
    let (claim, report) = checked("cluster.pair_masses");
    let [beta, start, a, b, s] = ["beta", "angle", "mass_i", "mass_j", "s"].map(|name| setting(&report, name));
    let [angle, printed] = ["angle", "printed_angle"].map(|name| number(&report.witness, name));
    claim.assert_printed(&[
        format!("$\\beta = {beta}$, $\\theta_0 = {start}$, masses {a} and {b}"),
        format!("the angle at s = {s} is {angle:.3};"),
        format!("the printed law has {printed:.3}"),
    ]);
}

#[test]
fn the_printed_contact() {
    let (claim, report) = checked("cluster.pair_contact");
    let [start, s] = ["angle", "s"].map(|name| setting(&report, name));
    claim.assert_printed(&[
        format!("$\\theta_0 = {start}$ the angle at s = {s}"),
        format!("is {:.2e},", number(&report.witness, "angle")),
    ]);
}

#[test]
fn the_printed_number_of_centres() {
    let (claim, report) = checked("cluster.renyi_sphere");
    let delta = setting(&report, "delta");
    let half = (0.5 * delta).sin().powi(2);
    claim.assert_printed(&[
        format!("At δ = {delta} the printed value is {:.2};", 1.0 / (3.0 * half)),
        format!("the mean number of centres is {}", estimate(&report, 2)),
        // 3 sin²(δ/2) = 1.
        format!("$\\delta > {:.2}$", 2.0 * 3.0_f64.powf(-0.5).asin()),
    ]);
}

/// The exponents of the distance near the critical factor.
#[test]
fn slow_rates_near_the_critical_factor() {
    let exponent = |kappa: f64| {
        let law = |n: f64| LongContext { n, rho: 0.5, gamma: kappa / 0.5 }.law();
        (law(1e12) / law(1e10)).ln() / 100.0_f64.ln()
    };
    SheetTest::new(room()).claim("cluster.critical_rate").assert_printed(&[format!(
        "falls like $n^{{{:.1}}}$ and $n^{{{:.1}}}$",
        exponent(0.9),
        exponent(1.1)
    )]);
}
