//! Closed forms against independent values.

use attnlab_lab::sheet_test::SheetTest;
use attnlab_memory::room;
use attnlab_memory::theory::ramsauer::Capacity;
use attnlab_memory::theory::sphere::{ln_mean, scatter, threshold};
use serde_json::{Value, json};

fn assert_near(id: &str, set: Value, expected: f64) {
    let found = SheetTest::new(room()).formula(id, set.clone());
    assert!((found / expected - 1.0).abs() < 1e-8, "{id} {set}: {found} {expected}");
}

/// Values of mpmath 1.3 at 30 digits:
/// `b = 2*K**2*beta/5; c = b/lambertw(exp(a + log(b)))`, `exp(-k)*hyp0f1(d/2, k*k/4)`.
#[test]
fn formulas_are_those_of_mpmath() {
    assert_near("memory.ramsauer_capacity", json!({ "d": 20, "K": 3, "beta": 1, "p": 0.001 }), 7.41297376084647);
    assert_near("memory.ramsauer_capacity", json!({ "d": 75, "K": 1, "beta": 1, "p": 0.001 }), 10.9732492390663);
    assert_near("memory.ramsauer_capacity", json!({ "d": 20, "K": 1, "beta": 0.001, "p": 0.1 }), 3.11509104767915);
    assert_near("memory.others_weight", json!({ "d": 12, "lambda": 0.5 }), 0.00975400333884464);
    assert_near("memory.others_weight", json!({ "d": 2, "lambda": 1 }), 0.308508322553671);
    assert_near("memory.others_weight", json!({ "d": 500, "lambda": 1.5 }), 3.45545058851441e-171);
    assert_near("memory.alpha1", json!({ "lambda": 0.01 }), 0.00995000249966673);
    assert_near("memory.alpha1", json!({ "lambda": 0.4 }), 0.325338716644267);
    assert_near("memory.alpha1", json!({ "lambda": 1 }), 0.622571923779907);
    assert_near("memory.alpha1", json!({ "lambda": 20 }), 2.00411581131718);
}

/// The mean over the sphere, by Simpson's rule in the angle.
#[test]
fn the_mean_weight_is_an_integral() {
    for (d, kappa) in [(2, 0.3), (2, 40.0), (3, 7.0), (12, 6.0), (40, 120.0), (200, 3.0)] {
        let n = 200_000;
        let h = std::f64::consts::PI / f64::from(n);
        let (mut sum, mut norm) = (0.0, 0.0);
        for i in 0..=n {
            let (sin, cos) = (h * f64::from(i)).sin_cos();
            let weight = match i {
                0 => 1.0,
                i if i == n => 1.0,
                i => 2.0 + 2.0 * f64::from(i % 2),
            };
            let density = weight * sin.abs().powi(d - 2);
            norm += density;
            sum += density * (kappa * (cos - 1.0)).exp();
        }
        let found = ln_mean(d as usize, kappa);
        assert!((found - (sum / norm).ln()).abs() < 1e-9, "{d} {kappa}: {found} {}", (sum / norm).ln());
        assert!(scatter(d as usize, kappa) > 0.0);
    }
}

/// The threshold is the limit of the exact mean, with a distance of order 1/d.
#[test]
fn the_threshold_is_the_limit() {
    for lambda in [0.05, 0.4, 1.0, 5.0] {
        let off = |d: usize| -ln_mean(d, lambda * d as f64) / d as f64 - threshold(lambda);
        assert!(off(4000).abs() < 1e-3, "{lambda}: {}", off(4000));
        assert!((off(1000) / off(4000) - 4.0).abs() < 0.5, "{lambda}");
    }
}

/// The promise of Theorem 3 grows as β M² → 0, as (2e β M²)^{-1/2}.
#[test]
fn the_hot_promise_grows() {
    for beta in [1e-3, 1e-5] {
        let found = Capacity::new(20, 1.0, beta, 0.1).unwrap();
        let limit = (2.0 * std::f64::consts::E * beta * 19.0).powf(-0.5);
        assert!((found.ln_patterns.exp() / limit - 1.0).abs() < 0.05 + 50.0 * beta);
        assert!(found.margin > 0.0);
    }
}
