//! Closed forms against scipy 1.17 and mpmath 1.3, by the commands beside them, and against each other.

use attnlab_cluster::room;
use attnlab_cluster::theory::equiangular::Equiangular;
use attnlab_cluster::theory::long_context::LongContext;
use attnlab_cluster::theory::{modes, pair};
use attnlab_lab::sheet_test::SheetTest;
use attnlab_theory::particles::Normalisation;
use proptest::prelude::*;
use serde_json::{Value, json};

fn value(id: &str, set: Value) -> f64 {
    SheetTest::new(room()).formula(id, set)
}

fn assert_near(id: &str, set: Value, expected: f64, relative: f64) {
    let value = value(id, set.clone());
    assert!((value / expected - 1.0).abs() < relative, "{id} {set}: {value} {expected}");
}

#[test]
fn equiangular_tokens() {
    // mpmath: the root of t = int du / rate(u); pre-LN: scipy's DOP853; deviations: central differences of the flow of the
    // Gram matrix in every entry.
    let set = |model, n, beta: f64, t: f64| json!({ "model": model, "n": n, "beta": beta, "t": t });
    assert_near("cluster.equiangular", set("sa", 8, 2.0, 5.0), 0.998645534025185, 1e-9);
    assert_near("cluster.equiangular", set("usa", 8, 2.0, 1.0), 0.911873179775829, 1e-9);
    assert_near("cluster.equiangular", set("sa", 32, 6.0, 20.0), 0.999999667282306, 1e-9);
    assert_near("cluster.equiangular", set("usa", 2, 0.5, 0.3), 0.31363519596812, 1e-9);
    assert_near("cluster.equiangular", set("sa", 2, 0.0, 0.7), 0.604367777117163, 1e-9);
    // Next to the start: 2 b t with b = e^-50/(1 + 9 e^-50).
    assert_near("cluster.equiangular", set("sa", 10, 50.0, 1.0), 3.857499695927838e-22, 1e-9);
    assert_near("cluster.pre_ln", set("sa", 6, 1.0, 100.0), 1.687382260588e-04, 1e-8);
    assert_near("cluster.pre_ln", set("usa", 6, 1.0, 50.0), 9.402186986225e-05, 1e-8);
    assert_near("cluster.deviation", set("sa", 5, 1.5, 1.2), 1.2871327792e+00, 1e-6);
    assert_near("cluster.deviation", set("usa", 4, 1.0, 0.8), 1.0114419713e+00, 1e-6);
    assert_near("cluster.deviation", set("sa", 2, 2.0, 1.0), 2.2638255999e+00, 1e-6);
    assert_near("cluster.deviation", set("usa", 3, 2.0, 0.3), 2.4195062643e+00, 1e-6);
}

/// The largest mean squared deviation over time falls with n, at every β: `cluster.theorem6_9`.
#[test]
fn the_largest_deviation_falls_with_n() {
    let largest = |model, n, beta| {
        let law = Equiangular { model, n, beta };
        let times: Vec<f64> = (1..100).map(|percent| law.time_to(1.0 - f64::from(percent) / 100.0).unwrap()).collect();
        law.deviation(&times).unwrap().into_iter().fold(1.0, f64::max)
    };
    for model in Normalisation::ALL {
        for beta in [1.0, 3.0, 6.0] {
            let by_n = [2, 8, 32, 128].map(|n| largest(model, n, beta));
            assert!(by_n.is_sorted_by(|a, b| a > b), "{model:?} {beta}: {by_n:?}");
        }
    }
}

#[test]
fn pairs_and_layers() {
    // 2 atan(tan(.4) exp(-(1/3 + 3) .2)) in mpmath
    let set = json!({ "angle": 0.8, "mass_i": 0.1, "mass_j": 0.3, "s": 0.2 });
    assert_near("cluster.pair_angle", set, 0.42750633386262526, 1e-13);
    let set = json!({ "angle": 0.8, "mass_i": 0.1, "mass_j": 0.3 });
    assert_near("cluster.pair_duration", set, 0.582977340154998, 1e-13);
    // By the weights of every token, in mpmath with 40 digits.
    assert_near("cluster.long_context", json!({ "n": 10, "rho": 0.3, "gamma": 0.7 }), 0.9461881089765453, 1e-11);
    assert_near("cluster.long_context", json!({ "n": 1000000, "rho": 0.0, "gamma": 3.0 }), 2.000000000001e-18, 1e-11);
    assert_near("cluster.long_context", json!({ "n": 1000, "rho": 0.5, "gamma": 2.0 }), 0.8002799679807885, 1e-11);
    assert_near("cluster.long_context", json!({ "n": 50, "rho": 0.0, "gamma": 0.9 }), 0.09697891294155858, 1e-11);
    assert_near("cluster.long_context", json!({ "n": 100000, "rho": 0.8, "gamma": 12.0 }), 0.8000000320000765, 1e-11);
}

#[test]
fn modes_of_the_circle() {
    // mpmath: k^2 besseli(k, beta) / beta, over besseli(0, beta)
    assert_near("cluster.mode_growth", json!({ "model": "usa", "beta": 3, "k": 2 }), 2.993616587906602, 1e-11);
    assert_near("cluster.mode_growth", json!({ "model": "sa", "beta": 40, "k": 9 }), 0.7294952178474145, 1e-11);
    assert_near("cluster.mode_growth", json!({ "model": "sa", "beta": 0.01, "k": 1 }), 0.4999937501041649, 1e-11);
    assert_near("cluster.mode_growth", json!({ "model": "sa", "beta": 1000, "k": 45 }), 0.7354550690944857, 1e-11);
    // The change from k to k + 1 is at the root of (k+1)^2 I_{k+1} = k^2 I_k: mpmath.
    for (below, above, k) in [(1.0444, 1.0445, 1.0), (15.236, 15.237, 5.0), (1275.249, 1275.250, 50.0)] {
        assert_eq!(value("cluster.fastest_mode", json!({ "beta": below })), k);
        assert_eq!(value("cluster.fastest_mode", json!({ "beta": above })), k + 1.0);
    }
}

#[test]
fn caps() {
    // mpmath: 2 / betainc((d-1)/2, 1/2, 0, sin(delta)^2, regularized=True)
    assert_near("cluster.renyi_centres", json!({ "d": 2, "delta": 0.6 }), 5.235987755982989, 1e-9);
    assert_near("cluster.renyi_centres", json!({ "d": 3, "delta": 0.6 }), 11.45053125149565, 1e-9);
    assert_near("cluster.renyi_centres", json!({ "d": 4, "delta": 0.5 }), 39.6342921803034, 1e-9);
    assert_near("cluster.renyi_centres", json!({ "d": 7, "delta": 1.2 }), 5.295069225972211, 1e-9);
    assert_near("cluster.renyi_centres", json!({ "d": 5, "delta": 2.5 }), 1.028480696593424, 1e-9);
    assert_near("cluster.renyi_centres", json!({ "d": 64, "delta": 1.3 }), 64.05605019182705, 1e-9);
    assert_near("cluster.renyi_centres", json!({ "d": 1000, "delta": 1.5 }), 79.30549303046799, 1e-9);
    // Next to a right angle, by the complement.
    assert_near("cluster.renyi_centres", json!({ "d": 100000, "delta": 1.5707962967948965 }), 2.000015138796232, 1e-12);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The search for the fastest mode against the rates of its neighbours.
    #[test]
    fn the_fastest_mode_outgrows_its_neighbours(log_beta in -3.0..4.0_f64) {
        let beta = 10_f64.powf(log_beta);
        let rate = |k| modes::rate(Normalisation::Softmax, beta, k);
        let k = modes::fastest(beta);
        // Rates of order k are products of k ratios.
        let slack = 1.0 + 1e-12 * k as f64;
        prop_assert!(rate(k) * slack >= rate(k + 1));
        prop_assert!(k == 1 || rate(k) * slack >= rate(k - 1));
    }

    /// A flow: two steps are one, and the masses may be exchanged.
    #[test]
    fn angles_compose(start in 0.1..3.0_f64, a in 0.05..1.0_f64, b in 0.05..1.0_f64, s in 0.0..0.2_f64, t in 0.0..0.2_f64) {
        let halfway = pair::angle(start, a, b, s);
        prop_assert!((pair::angle(halfway, b, a, t) - pair::angle(start, a, b, s + t)).abs() < 1e-12);
        prop_assert!(halfway <= start * (1.0 + 1e-12));
    }

    /// Attention draws tokens together: the cosine of two outputs is between that of the inputs and 1.
    #[test]
    fn outputs_are_closer_than_inputs(log_n in 0.7..30.0_f64, rho in 0.0..0.99_f64, gamma in 0.01..5.0_f64) {
        let layer = LongContext { n: log_n.exp().floor().max(2.0), rho, gamma };
        let cosine = layer.cosine();
        prop_assert!(cosine >= rho - 1e-14 && cosine <= 1.0, "{:?}: {}", layer, cosine);
        prop_assert!((layer.over_input() - (cosine - rho)).abs() < 1e-13);
    }
}
