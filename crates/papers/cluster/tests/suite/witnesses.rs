//! Numbers in the sheets, held to what the program computes.

use attnlab_cluster::room;
use attnlab_lab::sheet_test::{SheetTest, estimate, number, setting};
use serde_json::json;

fn sheets() -> SheetTest {
    SheetTest::new(room())
}

#[test]
fn the_promised_probability() {
    let sheets = sheets();
    let report = sheets.check("cluster.theorem6_9", json!({}), None);
    let [n, d] = ["n", "d"].map(|name| setting(&report, name));
    let promised = 1.0 - 2.0 * n * n * d.powf(-1.0 / 64.0);
    // (2n²)^64 at n = 2.
    let positive = 8.0_f64.powi(64);
    sheets.assert_printed(
        "cluster.theorem6_9",
        &[
            format!("$n = {n}$, $d = {d}$ the promised probability is {promised:.1}"),
            format!("{} of {} draws", report.trials - report.failures, report.trials),
        ],
    );
    assert!((6.2e57..6.3e57).contains(&positive), "{positive}");
}

#[test]
fn the_printed_law_of_the_closest_pair() {
    let sheets = sheets();
    let clock = sheets.check("cluster.pair_clock", json!({}), None);
    let [beta, start] = ["beta", "angle"].map(|name| setting(&clock, name));
    sheets.assert_printed(
        "cluster.pair_clock",
        &[
            format!(
                "$\\beta = {beta}$, $\\theta_0 = {start}$ the angle is halved at s = {:.4};",
                number(&clock.witness, "s")
            ),
            format!("has an angle of {:.3} there", number(&clock.witness, "printed_angle")),
        ],
    );
    assert!((number(&clock.witness, "angle") / start - 0.5).abs() < 1e-6);
    let masses = sheets.check("cluster.pair_masses", json!({}), None);
    let [beta, start, a, b, s] = ["beta", "angle", "mass_i", "mass_j", "s"].map(|name| setting(&masses, name));
    sheets.assert_printed(
        "cluster.pair_masses",
        &[
            format!("$\\beta = {beta}$, $\\theta_0 = {start}$, masses {a} and {b}"),
            format!("the angle at s = {s} is {:.3};", number(&masses.witness, "angle")),
            format!("the printed law has {:.3}", number(&masses.witness, "printed_angle")),
        ],
    );
    let contact = sheets.check("cluster.pair_contact", json!({}), None);
    let [start, s] = ["angle", "s"].map(|name| setting(&contact, name));
    sheets.assert_printed(
        "cluster.pair_contact",
        &[
            format!("$\\theta_0 = {start}$ the angle at s = {s}"),
            format!("is {:.2e},", number(&contact.witness, "angle")),
        ],
    );
}

#[test]
fn the_printed_number_of_centres() {
    let sheets = sheets();
    let report = sheets.check("cluster.renyi_sphere", json!({}), None);
    let delta = setting(&report, "delta");
    let half = (0.5 * delta).sin().powi(2);
    sheets.assert_printed(
        "cluster.renyi_sphere",
        &[
            format!("At δ = {delta} the printed value is {:.2};", 1.0 / (3.0 * half)),
            format!("the mean number of centres is {}", estimate(&report, 2)),
            // 3 sin²(δ/2) = 1.
            format!("$\\delta > {:.2}$", 2.0 * 3.0_f64.powf(-0.5).asin()),
        ],
    );
}

/// "The exponents -0.2 and -0.1" of `cluster.critical_rate`.
#[test]
fn slow_rates_near_the_critical_factor() {
    let exponent = |kappa: f64| {
        let at = |n: f64| attnlab_cluster::theory::long_context::LongContext { n, rho: 0.5, gamma: kappa / 0.5 };
        (at(1e12).law() / at(1e10).law()).ln() / 100.0_f64.ln()
    };
    let sheets = sheets();
    sheets.assert_printed(
        "cluster.critical_rate",
        &[format!("falls like $n^{{{:.1}}}$ and $n^{{{:.1}}}$", exponent(0.9), exponent(1.1))],
    );
}
