//! Closed forms against independent values, and certificates of storage on patterns with known fixed points.

use attnlab_lab::sheet_test::SheetTest;
use attnlab_memory::room;
use attnlab_memory::theory::ramsauer::Capacity;
use attnlab_memory::theory::sphere::{ln_mean, scatter, threshold};
use attnlab_memory::theory::stored::{Storage, storage};
use ndarray::array;
use serde_json::json;
use std::f64::consts::{E, PI};

/// Values of mpmath 1.3 at 30 digits: `b = 2*K**2*beta/5; c = b/lambertw(exp(a + log(b)))`,
/// `exp(-k)*hyp0f1(d/2, k*k/4)`.
#[test]
fn formulas_are_those_of_mpmath() {
    let room = SheetTest::new(room());
    for (id, set, expected) in [
        ("memory.ramsauer_capacity", json!({ "d": 20, "K": 3, "beta": 1, "p": 0.001 }), 7.41297376084647),
        ("memory.ramsauer_capacity", json!({ "d": 75, "K": 1, "beta": 1, "p": 0.001 }), 10.9732492390663),
        ("memory.ramsauer_capacity", json!({ "d": 20, "K": 1, "beta": 0.001, "p": 0.1 }), 3.11509104767915),
        ("memory.others_weight", json!({ "d": 12, "lambda": 0.5 }), 0.00975400333884464),
        ("memory.others_weight", json!({ "d": 2, "lambda": 1 }), 0.308508322553671),
        ("memory.others_weight", json!({ "d": 500, "lambda": 1.5 }), 3.45545058851441e-171),
        ("memory.alpha1", json!({ "lambda": 0.01 }), 0.00995000249966673),
        ("memory.alpha1", json!({ "lambda": 0.4 }), 0.325338716644267),
        ("memory.alpha1", json!({ "lambda": 1 }), 0.622571923779907),
        ("memory.alpha1", json!({ "lambda": 20 }), 2.00411581131718),
    ] {
        let value = room.formula(id, set.clone());
        assert!((value / expected - 1.0).abs() < 1e-8, "{id} {set}: {value} {expected}");
    }
}

/// The mean over the sphere, by Simpson's rule in the angle.
#[test]
fn the_mean_weight_is_an_integral() {
    for (d, kappa) in [(2, 0.3), (2, 40.0), (3, 7.0), (12, 6.0), (40, 120.0), (200, 3.0)] {
        let n = 200_000;
        let h = PI / f64::from(n);
        let (mut sum, mut norm) = (0.0, 0.0);
        for i in 0..=n {
            let (sin, cos) = (h * f64::from(i)).sin_cos();
            let weight = if i == 0 || i == n { 1.0 } else { 2.0 + 2.0 * f64::from(i % 2) };
            let density = weight * sin.abs().powi(d - 2);
            norm += density;
            sum += density * (kappa * (cos - 1.0)).exp();
        }
        let (value, expected) = (ln_mean(d as usize, kappa), (sum / norm).ln());
        assert!((value - expected).abs() < 1e-9, "{d} {kappa}: {value} {expected}");
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

/// With s = β M² the promise of Theorem 3 is (2es)^{-1/2} e^{(d-1)W/4}, and 0 ≤ W ≤ be^a ≤ b where 2esp ≤ 1.
#[test]
fn the_promise_grows_as_the_strength_falls() {
    let (d, p) = (20, 0.1);
    for strength in [0.02, 1e-4, 1e-8] {
        let capacity = Capacity::new(d, 1.0, strength / (d - 1) as f64, p).unwrap();
        let excess = capacity.ln_patterns + 0.5 * (2.0 * E * strength).ln();
        assert!(excess >= -1e-12 && excess <= 0.1 * strength + 1e-12, "{strength}: {excess}");
        assert!(capacity.margin > 0.0);
    }
}

#[test]
fn few_patterns_by_hand() {
    let apart = array![[2.0, -2.0], [0.0, 0.0]];
    // β M² = 4β: below 1/4 a contraction; the fixed points ± exist for β > 1/4 and are far apart at 1.
    assert!(matches!(storage(apart.view(), 0.2).unwrap(), Storage::NotAll(_)));
    assert_eq!(storage(apart.view(), 1.0).unwrap(), Storage::All);
    // Two close patterns share their mean, and a far one changes nothing.
    let (sin, cos) = 0.15_f64.sin_cos();
    let close = array![[2.0, 2.0 * cos, -2.0], [0.0, 2.0 * sin, 0.0]];
    assert_eq!(storage(close.view(), 1.0).unwrap(), Storage::NotAll("two patterns have one fixed point"));
    assert_eq!(storage(close.view(), 400.0).unwrap(), Storage::All);
    assert_eq!(storage(array![[3.0]].view(), 1e-3).unwrap(), Storage::All);
}
