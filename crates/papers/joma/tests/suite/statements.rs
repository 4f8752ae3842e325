//! Printed statements beside the theorems: numbers in their sheets, and closed forms by name.

use crate::{catalogue, claim};
use attnlab_joma::room;
use attnlab_joma::theory::{CriticalPoint, Isotropic, Radial, Shell, chance};
use attnlab_lab::sheet_test::{SheetTest, number, numbers};
use serde_json::{Value, json};

#[test]
fn the_components_of_figure_3() {
    let first = claim("joma.fig3").draws(json!({}), Some(1));
    let text = |name: &str| {
        let shown: Vec<String> = numbers(first[0].witness(), name).iter().map(|v| format!("{v:.2}")).collect();
        format!("{}, {}, {} and {}", shown[0], shown[1], shown[2], shown[3])
    };
    claim("joma.fig3").assert_printed(&[text("components"), text("1000_steps_later")]);
}

#[test]
fn the_theta_2_of_a_ball_at_its_edge() {
    assert_eq!(Isotropic::new(Radial::Ball, 4).unwrap().theta2((0.0, 1.0), 1.0), 0.0);
}

#[test]
fn critical_points() {
    let rate = numbers(claim("joma.lemma4_condition").draws(json!({}), Some(1))[0].witness(), "rate")[0];
    claim("joma.lemma4_condition").assert_printed(&[format!("rates of {rate:.1}")]);
    let point = CriticalPoint::relu(Isotropic::new(Radial::Student { nu: 3.0 }, 3).unwrap(), -3.0, 1.0).unwrap();
    let across = point.betas().one;
    claim("joma.theorem3_stable").assert_printed(&[format!("{:.3}, {:.3}", -point.joint_rate(), -across)]);
    let printed = point.betas_printed();
    let rates = [-(printed.one + printed.two), -printed.one];
    claim("joma.eq74").assert_printed(&[format!("+{:.4}", rates[0]), format!("{:.4} across", rates[1])]);
}

#[test]
fn convexity_of_g() {
    // The witness: G less the line through two of its points changes sign twice between them.
    let ring = Shell::new(2, 2.0, 0.4).unwrap();
    let place = |x: f64| (ring.theta1(x), ring.f(x));
    let (from, to) = (place(0.0), place(2.0));
    let slope = (to.1 - from.1) / (to.0 - from.0);
    let over = |x: f64| place(x).1 - from.1 - slope * (place(x).0 - from.0);
    assert_eq!([0.3, 0.575, 0.585, 1.475, 1.485, 1.9].map(|x| over(x) > 0.0), [false, false, true, true, false, false]);
    for (nu, minus) in [(1.5, 0.1), (4.0, -0.9)] {
        let point = CriticalPoint::relu(Isotropic::new(Radial::Student { nu }, 1).unwrap(), minus, 1.0).unwrap();
        claim("joma.e4_signs").assert_printed(&[format!("{:.3}", point.plus)]);
    }
}

/// The closed forms of the chance levels and of Fig. 4, by name; the dip of the authors' μ by their own formula is that of
/// `joma_entropy`, which integrates the flow.
#[test]
fn closed_forms_by_name() {
    let sheets = SheetTest::new(room());
    let eval = |id: &str, set: Value| sheets.formula(id, set);
    let best = eval("joma.largest_correlation", json!({"units": 400, "points": 30}));
    assert!((best - 0.521_642_701_4).abs() < 1e-9, "{best}");
    assert!(chance::largest_correlation(400, 2).is_err());
    assert!((eval("joma.stable_rank_chance", json!({"rows": 512, "columns": 128})) - 512.0 / 9.0).abs() < 1e-10);
    let student = json!({"law": "student", "nu": 3.0, "slopes": [0, 1], "rho": 0.7});
    // scipy.stats.t(3), as in the tests of `theory::isotropic`.
    assert!((eval("joma.theta1", student.clone()) - 0.732_836_500_847_618_2).abs() < 1e-12);
    assert!((eval("joma.theta2", student) - 0.473_921_686_608_990_3).abs() < 1e-12);
    assert!((eval("joma.eq58", json!({"law": "laplace"})) - 0.25).abs() < 1e-15);
    let g = json!({"law": "gaussian", "slopes": [0, 1], "y": 0.5});
    assert!((eval("joma.big_g", g) - (2.0 * std::f64::consts::PI).powf(-0.5)).abs() < 1e-12);
    let pair = json!({"mu_j": 1.0, "mu_k": 2.0, "t": 6.0});
    let rest = eval("joma.lambda_jk", pair.clone());
    assert!(rest.abs() < 0.864_326 && (eval("joma.lambda", pair) * rest) > 0.0);
}

/// Lemma 2's right side by name is the rate of (v, ξ) at the critical point of Theorem 3: zero there, and not as printed.
#[test]
fn the_rate_at_a_critical_point() {
    let catalogue = catalogue();
    let array = |id: &str, set: Value| -> Vec<f64> {
        let value = catalogue.formula(id).unwrap().evaluate(set.as_object().unwrap()).unwrap().value;
        value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    };
    let law = json!({"law": "student", "nu": 3.0, "slopes": [0, 1], "rho_minus": -3.0});
    let point = array("joma.critical_point", law);
    assert!((point[0] - 1.396_839).abs() < 1e-6 && (point[1] - 30.2267).abs() < 1e-4);
    let node = |length: f64| {
        json!({
            "law": "student", "nu": 3.0, "slopes": [0, 1], "weight": [length, 0.0], "xi": -3.0 * length,
            "means": [[point[0] + 3.0, 0.0], [0.0, 0.0]], "a": [1.0, -point[1]],
        })
    };
    let rate = array("joma.lemma2", node(2.0));
    assert!(rate.iter().all(|r| r.abs() < 1e-10), "{rate:?}");
    let printed = array("joma.lemma2_printed", node(2.0));
    assert!(printed.iter().any(|r| r.abs() > 0.1), "{printed:?}");
    let eigenvalues = array(
        "joma.joint_eigenvalues",
        json!({"law": "student", "nu": 3.0, "slopes": [0, 1], "rho_minus": -3.0, "length": 1.0}),
    );
    assert!((eigenvalues[0] + 5.594).abs() < 1e-3 && (eigenvalues[1] + 3.832).abs() < 1e-3);
    let eigenvalue = number(&claim("joma.theorem3_stable").check(json!({}), Some(1)).witness, "eigenvalues/2");
    assert!(eigenvalue.abs() < 1e-4, "{eigenvalue}");
}
