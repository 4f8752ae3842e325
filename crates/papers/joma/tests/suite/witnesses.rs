//! Numbers in the sheets, held to what the program computes.

use attnlab_joma::dynamics::Salient;
use attnlab_joma::room;
use attnlab_joma::theory::convergence::{lambda, log_inverse_gap, remainder};
use attnlab_joma::theory::{CriticalPoint, Isotropic, Radial, critical};
use attnlab_lab::sheet_test::{SheetTest, estimate, number, numbers};
use attnlab_theory::dynamics::flow::{Flow, Method, Watch};
use attnlab_theory::measure::softmax_entropy;
use serde_json::json;

const RELU: (f64, f64) = (0.0, 1.0);

fn sheets() -> SheetTest {
    SheetTest::new(room())
}

#[test]
fn the_critical_point_of_theorem_3() {
    let law = Isotropic::new(Radial::Student { nu: 3.0 }, 3).unwrap();
    let point = CriticalPoint::relu(law, -3.0, 1.0).unwrap();
    let (true_rates, printed) = (point.betas(), point.betas_printed());
    let along = |b: attnlab_joma::theory::Betas| b.one + b.two;
    sheets().assert_printed(
        "joma.theorem3",
        &[
            format!("{:.6}", point.plus),
            format!("{:.4}", point.weight),
            format!("{:.5} along", -along(true_rates)),
            format!("{:.5} across", -true_rates.one),
            format!("+{:.5} and {:.5}", -along(printed), -printed.one),
        ],
    );
    sheets().assert_printed("joma.theorem3_definite", &[format!("{:.2}", along(printed))]);
    sheets().assert_printed("joma.lemma4_range", &[format!("{:.1}", point.weight)]);
}

#[test]
fn the_threshold_of_theorem_4() {
    let printed = 4.506_628_274_631 * (-4.0_f64).exp();
    let corrected = 4.506_628_274_631 * 2.0_f64.exp();
    let big_lambda = |gap: f64| {
        let (mut low, mut high) = (0.0, 10.0);
        for _ in 0..100 {
            let t = 0.5 * (low + high);
            match log_inverse_gap(2.0, t) < gap {
                true => low = t,
                false => high = t,
            }
        }
        lambda(1.0, 2.0, low).abs()
    };
    let tenth = 0.1 * (-printed).exp();
    sheets().assert_printed(
        "joma.theorem4_threshold",
        &[
            format!("is {:.3};", (-printed).exp()),
            format!("= {tenth:.3}$, $|\\Lambda| = {:.2}$", big_lambda(-tenth.ln())),
            format!("= {:.3}$, $|\\Lambda| = {:.2}$", (-10.0 * printed).exp(), big_lambda(10.0 * printed)),
            format!("{:.1e}", (-corrected).exp()),
        ],
    );
    // F - e^{-μ²} ln(1/δ) at μ = 2, δ = 1e-8.
    let off = remainder(1e-8, 2.0) + ((-2.0_f64).exp() - (-4.0_f64).exp()) * 1e8_f64.ln();
    sheets().assert_printed("joma.eq88_text", &[format!("{off:.3}")]);
}

#[test]
fn isotropic_laws() {
    let normal = Isotropic::new(Radial::Gaussian, 4).unwrap();
    let (r, length) = (0.15, 2.274);
    let exact = normal.theta1(RELU, r / length);
    let printed = normal.theta1(RELU, r) / length;
    sheets().assert_printed("joma.lemma1", &[format!("exactly {exact:.4}, printed {printed:.4}")]);
    let existence = |radial, dim| critical::existence(&Isotropic::new(radial, dim).unwrap());
    sheets().assert_printed(
        "joma.lemma4_existence",
        &[
            format!("Gaussian {:.3}", existence(Radial::Gaussian, 1)),
            format!("ball {:.3}", existence(Radial::Ball, 1)),
            // ln 2 times the density 1/4.
            format!("logistic {:.3}", 0.25 * 2.0_f64.ln()),
        ],
    );
    assert!((existence(Radial::Student { nu: 2.0 }, 3) - 0.25).abs() < 1e-12);
    let report = sheets().check("joma.lemma2", json!({}), None);
    sheets().assert_printed("joma.lemma2", &[estimate(&report, 3)]);
    let report = sheets().check("joma.lemma4", json!({}), None);
    let terms = numbers(&report.witness, "terms");
    assert!((terms[0] / terms[1] - 1.0).abs() < 1e-6);
    sheets().assert_printed(
        "joma.lemma4",
        &[format!("= {:.3}$", number(&report.witness, "length")), format!("are {:.3}", terms[0])],
    );
}

#[test]
fn trained_layers() {
    let report = sheets().check("joma.theorem2", json!({}), None);
    let (least, largest) = (number(&report.witness, "least"), number(&report.witness, "largest"));
    sheets().assert_printed("joma.theorem2", &[format!("{least:.2} and {largest:.2}")]);
    // The first run, on smooth inputs.
    let first = sheets().draws("joma.fig2_components", json!({}), Some(1));
    let seen = |name: &str| number(first[0].witness(), &format!("{name}/0"));
    sheets().assert_printed(
        "joma.fig2_components",
        &[
            format!("{:.3} for $\\hat z_m$", seen("least_correlation")),
            format!("{:.3} for $\\hat z_{{m1}}$", seen("least_of_squares")),
            format!("{:.3} for $\\hat z_{{m2}}$", seen("least_of_norm")),
            format!("{:.3} at step 2000", seen("of_squares")),
            format!("has {:.3}", seen("correlation_at_the_end")),
        ],
    );
    for setting in ["text", "code"] {
        let drawn = json!({ "setting": setting });
        let drawn = sheets().draws("joma.fig2_amplitude", drawn, Some(1));
        let off = numbers(drawn[0].witness(), "relative_distance");
        let off = format!("{:.2} and {:.2}", off[0], off[1]);
        sheets().assert_printed("joma.fig2_amplitude", &[off]);
    }
}

#[test]
fn rebounds_of_the_entropy() {
    let report = sheets().check("joma.entropy", json!({}), Some(2000));
    sheets().assert_printed("joma.entropy", &[format!("{} of {}", report.failures, report.trials)]);
    // One component far above the others.
    let mut mu = vec![0.5; 10];
    mu[0] = 4.0;
    let flow = Salient::new(mu).unwrap();
    let entropy = |x: &[f64]| {
        let squares: Vec<f64> = flow.weights(x).iter().map(|v| v * v).collect();
        softmax_entropy(&squares)
    };
    let mut least = f64::INFINITY;
    let mut look = |_: f64, x: &[f64]| least = least.min(entropy(x));
    let integrator = Flow::new(Method::Tsit45).within(1e-8);
    let path = integrator.watched(&flow, &[0.0; 10], &[30.0], Watch::steps(&mut look));
    let rebound = entropy(path.unwrap().end()) - least;
    assert!(rebound < 1e-5, "{rebound}");
    // Targets below 1.
    let report = sheets().check("joma.entropy", json!({"low": 0.5, "high": 0.99}), Some(5));
    assert!(number(&report.witness, "drop") < 0.03 && report.failures == 5);
}

#[test]
fn the_limit_8_of_theorem_5() {
    let report = sheets().check("joma.eq8", json!({}), None);
    let [depth, height, exact, said] = ["L", "H", "exact", "said"].map(|n| number(&report.witness, n));
    let terms =
        [format!("L = {depth}, H = {height} that is {:.2e}", exact - said), format!("{:.2e}", (depth * 1e-4).powi(2))];
    sheets().assert_printed("joma.eq8", &terms);
}

#[test]
fn what_training_adds_to_table_1() {
    for id in ["joma.table1_gain", "joma.table1_excess"] {
        let report = sheets().check(id, json!({}), None);
        sheets().assert_printed(id, &[estimate(&report, 3)]);
    }
    let first = sheets().draws("joma.table1_gain", json!({}), Some(1));
    let scores = |names: [&str; 2]| {
        let [before, after] = names.map(|name| number(first[0].witness(), name));
        format!("from {before:.3} to {after:.3}")
    };
    sheets().assert_printed(
        "joma.table1_gain",
        &[scores(["untrained", "trained"]), scores(["permuted_untrained", "permuted_trained"])],
    );
}
