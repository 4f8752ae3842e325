//! Numbers in the sheets, held to what the program computes.

use attnlab_core::special::ln_sphere_mean;
use attnlab_denoising::room;
use attnlab_denoising::theory::{linear, sphere};
use attnlab_lab::run::CheckReport;
use attnlab_lab::sheet_test::{ClaimTest, SheetTest, estimate, grouped, number, setting};
use serde_json::{Value, json};
use std::path::Path;

fn sheets() -> SheetTest {
    SheetTest::new(room())
}

fn claim(id: &str) -> ClaimTest {
    sheets().claim(id)
}

/// A claim and its check at the defaults.
fn checked(id: &str) -> (ClaimTest, CheckReport) {
    let claim = claim(id);
    let report = claim.check(json!({}), None);
    (claim, report)
}

/// "F of T", F trials of T that did not hold.
fn failures(report: &CheckReport) -> String {
    format!("{} of {}", report.failures, report.trials)
}

/// An estimate in TeX, such as `$-0.91$ $[-0.94, -0.88]$`.
fn in_tex(report: &CheckReport, decimals: usize) -> String {
    let written = estimate(report, decimals);
    let (value, interval) = written.split_once(' ').unwrap();
    if report.estimate.value < 0.0 { format!("${value}$ ${interval}$") } else { format!("{value} ${interval}$") }
}

#[test]
fn the_energy_of_linear_attention() {
    let (claim, paper) = checked("denoise.a23");
    let [n, d, length, tokens, noise] = ["n", "d", "L", "sigma0_2", "sigma_z2"].map(|name| setting(&paper, name));
    let held = format!("{} of {}", paper.trials - paper.failures, paper.trials);
    let ours = claim.check(json!({ "sigma_z2": 0.1 }), None);
    let excess = -number(&ours.witness, "energies/0/least_curvature");
    let needed = |noise: f64| linear::definite_but(d as usize, tokens, noise, 0.1);
    claim.assert_printed(&[
        format!("$n = {n}$, $d = {d}$, $L = {length}$, $\\sigma_0^2 = {tokens}$, $\\sigma_Z^2 = {noise}$"),
        format!("definite in {held} draws"),
        format!("in {} draws, by {excess:.2} in the first", failures(&ours)),
        format!("at every $d$: {:.0} at", needed(noise)),
        format!("it is {}", grouped(round_to(needed(0.1), 100.0) as u64)),
    ]);
}

fn round_to(x: f64, unit: f64) -> f64 {
    (x / unit).round() * unit
}

/// Largest asymmetry of a numerical Jacobian that is symmetric: the truncation of the five-point rule at the step of
/// the claim, beside which rounding (1e-16 over a step of 0.01) does not count.
const TRUNCATION: f64 = 1e-7;

/// Largest defect of a condition that holds: products of matrices of order one, n rounding errors per entry.
const ROUNDING: f64 = 1e-13;

#[test]
fn the_jacobian_of_a_softmax_layer() {
    let (claim, report) = checked("denoise.a25");
    let asymmetry = |weights: &str| number(&report.witness, &format!("{weights}/asymmetry_of_the_numerical_jacobian"));
    let defect = |weights: &str| number(&report.witness, &format!("{weights}/defect_of_the_condition"));
    let (transposed, equal) = ("W_KQ = c W_PV^T", "W_KQ = W_PV");
    let [n, length] = ["n", "L"].map(|name| setting(&report, name));
    // The digits of these errors depend on the machine: the sheet prints bounds.
    assert!(asymmetry(transposed) < TRUNCATION && defect(equal) < ROUNDING);
    claim.assert_printed(&[
        format!("($n = {n}$, $L = {length}$, first trial)"),
        format!("is symmetric to {TRUNCATION:e},"),
        format!("by a share of {:.2}. $W_{{KQ}}", defect(transposed)),
        format!("holds to {ROUNDING:e}, and"),
        format!("by a share of {:.2}. Both", asymmetry(equal)),
        format!("in {} trials", failures(&report)),
    ]);
}

#[test]
fn clusters_of_unequal_variance() {
    let (claim, report) = checked("denoise.clusters");
    let variances = report.parameters["variances"].as_array().unwrap();
    let [a, b, c] = [0, 1, 2].map(|i| &variances[i]);
    claim.assert_printed(&[
        format!("Three clusters in $\\mathbb{{R}}^{}$", setting(&report, "n")),
        format!("variances {a}, {b} and {c}, $\\sigma_Z^2 = {}$", setting(&report, "sigma_z2")),
        format!("in {} trials", failures(&report)),
        format!("at worst by {:.0} % of", 100.0 * number(&report.witness, "relative_gap")),
    ]);
}

#[test]
fn the_minima_of_figure_3() {
    let (claim, report) = checked("denoise.fig3");
    for draw in claim.draws(json!({}), None) {
        let [minima, shared] = ["minima", "shared_by"].map(|n| number(draw.witness(), n));
        // The effective number of tokens, as a whole number that of all of them.
        assert_eq!((minima, shared.round()), (1.0, setting(&report, "L")));
    }
    let little = claim.check(json!({ "sigma_z2": 0.1 }), None);
    let several = little.trials - little.failures;
    let noise = setting(&report, "sigma_z2");
    claim.assert_printed(&[
        format!("{} contexts have a single minimum", failures(&report)),
        format!("shared by all {} tokens", setting(&report, "L")),
        format!("At $\\sigma_Z^2 = 0.1$ {several} of {} contexts", little.trials),
        format!("$\\alpha\\beta R^2 = {}$ the only", 1.0 / noise),
        format!("$\\beta = {}$ the landscape", 1.0 / 0.1),
    ]);
}

/// The losses are those of the committed rows of `denoise_landscape_loss`, over the prompts of its settings.
#[test]
fn the_losses_of_figure_3() {
    let settings: toml::Table = include_str!("../../src/experiments/landscape/settings.toml").parse().unwrap();
    let prompts = settings["prompts"].as_integer().unwrap();
    let one_step = |panel: &str| landscape_loss(panel, "steps of (8) from the query");
    let [zero, ..] = landscape_loss("a", "predicting zero");
    let [value, low, high] = one_step("a");
    let [little, ..] = one_step("b");
    claim("denoise.fig3").assert_printed(&[
        format!("Over {} prompts", grouped(prompts as u64)),
        format!("loses {value:.3} [{low:.3}, {high:.3}], where predicting zero loses {zero}"),
        format!("one step loses {little:.3}"),
    ]);
}

/// Mean loss of a predictor after one step with its interval, from the figure's committed rows.
fn landscape_loss(panel: &str, series: &str) -> [f64; 3] {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("plots/denoise_landscape_loss.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let column = |name: &str| header.iter().position(|h| *h == name).unwrap();
    let names = ["panel", "series", "x", "y", "low", "high"];
    let mut rows = lines.map(|fields| names.map(|name| fields[column(name)].to_string()));
    let row = rows.find(|row| row[0] == panel && row[1] == series && row[2] == "1").unwrap();
    [3, 4, 5].map(|i| row[i].parse().unwrap())
}

#[test]
fn the_minimum_of_figure_6() {
    let (claim, report) = checked("denoise.fig6");
    let [n, d, length, noise, prompts] = ["n", "d", "L", "sigma_z2", "prompts"].map(|name| setting(&report, name));
    let draws = claim.draws(json!({}), None);
    let span = |name: &str, decimals: usize| {
        let values = draws.iter().map(|draw| number(draw.witness(), name));
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
        format!("from {low:.decimals$} to {high:.decimals$}")
    };
    claim.assert_printed(&[
        format!("($n = {n}$, $d = {d}$, $\\sigma_Z^2 = {noise}$, $L = {length}$)"),
        format!("over {} draws of {prompts} prompts", report.trials),
        format!("is {}", in_tex(&report, 3)),
        format!("$\\beta_{{\\min}}$ {} and", span("beta_min", 1)),
        format!("$\\alpha$ {}, where $1/\\sigma_Z^2 = {}$", span("alpha_min", 2), 1.0 / noise),
    ]);
}

#[test]
fn the_range_of_figure_6() {
    let claim = claim("denoise.fig6");
    let mean = |set: Value| in_tex(&claim.check(set, None), 2);
    claim.assert_printed(&[
        format!("800 prompts the mean is {}", in_tex(&claim.check(json!({ "prompts": 800 }), None), 3)),
        format!("{} at $\\sigma_Z^2 = 0.2$", mean(json!({ "sigma_z2": 0.2 }))),
        format!("none is seen, {}", mean(json!({ "sigma_z2": 0.5 }))),
        format!("{} at $\\sigma_Z^2 = 1$", mean(json!({ "sigma_z2": 1 }))),
        format!("{} at $n = 2$, $d = 1$", mean(json!({ "n": 2, "d": 1 }))),
    ]);
}

#[test]
#[ignore = "20 s: .ci/full --only budgets"]
fn the_range_of_figure_6_for_many_tokens() {
    let claim = claim("denoise.fig6");
    let mean = in_tex(&claim.check(json!({ "L": 5000 }), None), 2);
    claim.assert_printed(&[format!("the mean is {mean} at $L = 5000$")]);
}

/// The effective number of tokens, $1/\sum_t g_t^2$, over L for large L: $M(\kappa)^2/M(2\kappa)$ with
/// $\kappa = \beta R\|\tilde x_\parallel\|$, at the root mean square of that norm.
#[test]
fn the_effective_number_of_tokens_of_figure_6() {
    let (d, beta) = (8, 10.0);
    let norm = mean_square_norm(d, 1.0, 1.0 / beta).sqrt();
    let ln_mean = |kappa: f64| ln_sphere_mean(sphere::order(d), kappa);
    let share = (2.0 * ln_mean(beta * norm) - ln_mean(2.0 * beta * norm)).exp();
    let of_figure = "for large $L$ at the setting of the figure and a query of norm";
    claim("denoise.fig6").assert_printed(&[format!("({:.1} % {of_figure} {norm:.2})", 100.0 * share)]);
}

/// $\mathbb E\|\tilde x_\parallel\|^2 = R^2 + (d + 1)\sigma_Z^2$.
fn mean_square_norm(d: usize, radius: f64, noise: f64) -> f64 {
    radius.powi(2) + (d + 1) as f64 * noise
}

#[test]
fn the_loss_on_a_subspace() {
    let (claim, report) = checked("denoise.prop2_loss");
    let [d, tokens, noise] = ["d", "sigma0_2", "sigma_z2"].map(|name| setting(&report, name));
    let set = json!({ "d": d as u64, "sigma0_2": tokens, "sigma_z2": noise });
    let printed = sheets().formula("denoise.linear_mmse", set);
    claim.assert_printed(&[
        format!("$d = {d}$, $\\sigma_0^2 = {tokens}$, $\\sigma_Z^2 = {noise}$"),
        format!("is {} times the printed {printed:.2}", estimate(&report, 3)),
    ]);
}

#[test]
fn the_bessel_functions_of_proposition_3() {
    let (claim, report) = checked("denoise.prop3_bessel");
    let [n, d, radius, noise] = ["n", "d", "R", "sigma_z2"].map(|name| setting(&report, name));
    let sphere = json!({ "d": d as u64, "R": radius, "sigma_z2": noise });
    let norm = format!("{:.2}", mean_square_norm(d as usize, radius, noise).sqrt());
    let coefficient = |id: &str| {
        let mut set = sphere.clone();
        set["norm"] = json!(norm.parse::<f64>().unwrap());
        sheets().formula(id, set)
    };
    let [printed, best] =
        ["denoise.sphere_mse_printed", "denoise.sphere_mmse"].map(|id| sheets().formula(id, sphere.clone()));
    let more = 100.0 * (printed / best - 1.0);
    claim.assert_printed(&[
        format!("At $d = {d}$, $R = {radius}$, $\\sigma_Z^2 = {noise}$"),
        format!("\\tilde X_\\parallel\\| = {norm}$"),
        format!("is {:.3} and", coefficient("denoise.sphere_shrinkage_printed")),
        format!("posterior mean's {:.3};", coefficient("denoise.sphere_shrinkage")),
        format!("loses {:.4} per component of {n}, {more:.0} % more", printed / n),
        format!("optimum's {:.4}", best / n),
    ]);
}

/// "Refuted in every draw" of `denoise.prop3_integral`: its one number is the dimension $d - 1$.
#[test]
fn the_sphere_of_one_dimension_less() {
    let mutant = claim("denoise.prop3_bessel_corrected").check_mutant("lower-orders");
    assert!(mutant.killed() && mutant.first.failures == mutant.first.trials);
}
