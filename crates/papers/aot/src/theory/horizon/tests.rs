use super::*;
use crate::theory::printed::delta_limit;
use attnlab_core::quadrature::integrate;
use attnlab_core::special::normal_tail;

/// The law with δ at the upper end of (11).
fn law(tokens: usize, clusters: usize, dim: usize, tau: f64) -> Horizon {
    Horizon::new(tokens, clusters, dim, delta_limit(tokens as f64, dim as f64), tau).unwrap()
}

/// With n = 1 the column breaks iff θσg exceeds ℓ + ln B: for N = K, B = e^{σ²} + N - 2 up to noise of 1e-7, and
/// P = Q((ℓ + ln B)/(θσ)) without any approximation. The integrand jumps in x, at every θ.
#[test]
fn one_token_a_cluster_in_closed_form() {
    for (tokens, tau, sigma) in [(2, 0.7, 0.5), (2, 0.99, 0.2), (4, 0.3, 0.03), (17, 0.5, 1.0), (1000, 0.01, 2.0_f64)] {
        let law = Horizon::new(tokens, tokens, 5, 1e-7, tau).unwrap();
        let ln_b = ((sigma * sigma).exp() + tokens as f64 - 2.0).ln();
        for s in [0.3, 0.5, 1.0, 3.2, 5.6, 59.0, 387.7, 1081.7, 2900.0] {
            let (exact, p) = (normal_tail((law.logit() + ln_b) / s), law.column(s / sigma, sigma));
            assert!((p / exact - 1.0).abs() < 1e-6, "{tokens} {s}: {p} {exact}");
        }
    }
}

/// The average over σ against a fine Riemann sum over χ_p.
#[test]
fn the_average_over_sigma_is_accurate() {
    for (p, theta) in [(2, 4.0), (30, 3.0), (900, 1.0)] {
        let law = Horizon::new(40, 2, p, 1.5 / (p as f64).sqrt(), 0.6).unwrap();
        let (h, from) = (0.05, ((p as f64).sqrt() - 6.0).max(0.0));
        let term = |i: u32| {
            let r = from + (f64::from(i) + 0.5) * h;
            ln_chi_density(p as f64, r).exp() * law.column(theta, law.delta * r) * h
        };
        let sum: f64 = (0..280).map(term).sum();
        let average = law.lambda(theta) / law.noise_columns();
        assert!((average / sum - 1.0).abs() < 1e-5, "{p}: {average} {sum}");
    }
}

/// With n = 1 as above and p = 1, |e| g is a product of two normals, of density K_0(|x|)/π. mpmath:
/// quad(besselk(0, x), [a, inf])/pi with a = (ln(7/3) + ln 16)/(θδ). For large θδ the average rises next to 0.
#[test]
fn the_average_over_one_dimension_in_closed_form() {
    let law = Horizon::new(17, 17, 1, 1e-9, 0.7).unwrap();
    let known = [
        (0.5, 9.873_911_012_089_81e-5),
        (30.0, 0.375_749_007_075_799_7),
        (388.0, 0.482_803_806_446_276_34),
        (1e5, 0.499_869_307_520_673_1),
    ];
    for (theta_delta, exact) in known {
        let average = law.lambda(theta_delta / law.delta) / law.noise_columns();
        assert!((average / exact - 1.0).abs() < 1e-7, "{theta_delta}: {average} {exact}");
    }
}

/// Against panels in ln r, where the average over few dimensions rises next to 0: with these, 0.2.0 was off by .2 %.
#[test]
fn the_average_sees_a_rise_near_zero() {
    for (p, theta_delta) in [(1, 388.0), (1, 20.0), (2, 388.0), (3, 60.0)] {
        let law = Horizon::new(3000, 3, p, 0.149, 0.01).unwrap();
        let theta = theta_delta / law.delta;
        let f = |y: f64| (ln_chi_density(p as f64, y.exp()) + y).exp() * law.column(theta, law.delta * y.exp());
        let exact = integrate(f, -15.0, 2.5, 0.1, 1e-9);
        let average = law.lambda(theta) / law.noise_columns();
        assert!((average / exact - 1.0).abs() < 1e-6, "{p} {theta_delta}: {average} {exact}");
    }
}

/// p = 1 with noise: the attention is lost with probability ∫ 2φ(r) (1 - (1 - Q(max(r + ε/r, 0)))^{n-1}) dr,
/// ε = ln((1-τ)/τ)/θ², by mpmath.
#[test]
fn short_tokens_are_seen() {
    let known = [
        (0.01, 100.0, 0.997_884_596_403_826_9),
        (0.01, 300.0, 0.997_987_177_928_006),
        (0.2, 100.0, 0.997_965_185_246_341_5),
    ];
    for (tau, theta, exact) in known {
        let lost = Horizon::new(2000, 2, 1, 0.1, tau).unwrap().signal_column_break(theta);
        assert!((lost - exact).abs() < 1e-6, "{tau} {theta}: {lost} {exact}");
    }
}

/// The shortest of many tokens in one dimension has a length of 1/n, and loses its attention nearly surely.
#[test]
fn the_shortest_of_many_tokens_is_seen() {
    for (tokens, dim) in [(1_000_000, 1), (100_000_000, 1), (10_000_000_000, 2)] {
        let lost = Horizon::new(tokens, 2, dim, 0.1, 0.55).unwrap().signal_break_at_least(1.0);
        assert!((lost - 1.0).abs() < 1e-6, "{tokens} {dim}: {lost}");
    }
}

/// The audit's simulated quantiles of θ_crit at N = 2000, K = 2, p = 900, τ = .55 are
/// 4.70/5.16/5.54 (10, 50, 90 %), with 7, 7 and 8 exact updates at η = .5 and 31 at η = .1.
#[test]
fn the_quantiles_of_the_audit() {
    let law = law(2000, 2, 900, 0.55);
    for (probability, theta, updates) in [(0.1, 4.70, 7), (0.5, 5.16, 7), (0.9, 5.54, 8)] {
        assert!((law.theta(probability).unwrap() - theta).abs() < 0.01);
        assert_eq!(law.exact_updates(0.5, probability).unwrap(), updates);
    }
    assert_eq!(law.exact_updates(0.1, 0.5).unwrap(), 31);
}

#[test]
fn theta_inverts_lambda_and_scales_with_delta() {
    let full = law(1000, 4, 200, 0.7);
    for probability in [1e-6, 0.01, 0.5, 0.999] {
        let back = -(-full.lambda(full.theta(probability).unwrap())).exp_m1();
        assert!((back / probability - 1.0).abs() < 1e-6, "{probability} {back}");
    }
    // θ enters through θδ, up to the self and noise scores: the audit's 10.42, 5.21, 2.61.
    let half = Horizon { delta: 0.5 * full.delta, ..full };
    let ratio = half.theta(0.5).unwrap() / full.theta(0.5).unwrap();
    assert!((ratio - 2.0).abs() < 0.02, "{ratio}");
}

/// θ_crit δ√p / √ln n of the audit: .694, .662, .633 and .616 at N = 10³, 10⁴, 10⁶ and 10⁹.
#[test]
fn convergence_to_the_large_n_constant_is_slow() {
    let mut last = f64::INFINITY;
    for (tokens, expected) in [(1000, 0.694), (10_000, 0.662), (1_000_000, 0.633), (1_000_000_000, 0.616)] {
        let law = law(tokens, 2, 1_000_000, 0.55);
        let ln_n = (law.per_cluster() as f64).ln();
        let constant = law.theta(0.5).unwrap() * law.typical_sigma() / ln_n.sqrt();
        assert!((constant - expected).abs() < 0.03, "{tokens} {constant}");
        assert!(constant < last && constant > LARGE_N_CONSTANT);
        last = constant;
    }
}

#[test]
fn extreme_parameters_give_numbers() {
    let million = Horizon::new(2_000_000, 2, 1000, 1e-6, 0.55).unwrap();
    assert_eq!(million.lambda(1.0), 0.0);
    let theta = million.theta(0.5).unwrap();
    assert!(theta > 1e4 && theta.is_finite());
    let many = Horizon::new(10_000, 100, 50, 0.05, 0.999_999).unwrap();
    assert!(many.theta(0.5).unwrap() > law(10_000, 100, 50, 0.9).theta(0.5).unwrap());
    let loud = Horizon::new(100, 2, 50, 3.0, 0.55).unwrap();
    assert!(loud.lambda(1.0).is_finite() && loud.lambda(1e6).is_finite());
    // The variance of the noise scores overflows; here there are none, and P = Q(1/s).
    let alone = Horizon::new(2, 2, 5, 1e200, 0.5).unwrap().column(0.05, 1.0);
    assert!((alone / normal_tail(20.0) - 1.0).abs() < 1e-6, "{alone}");
    let loudest = Horizon::new(2000, 2, 50, 1e300, 1.0 - 1e-16).unwrap().column(1.0, 1.0);
    assert!((0.0..=1.0).contains(&loudest), "{loudest}");
    // Each token its own cluster.
    assert!(Horizon::new(10, 10, 50, 0.1, 0.55).unwrap().theta(0.5).unwrap().is_finite());
    for x in [1e-8, 1e-3, 1.0, 1e3, 1e8] {
        let lambda = million.lambda(x);
        assert!((0.0..=million.noise_columns() * 1.0001).contains(&lambda), "{x} {lambda}");
    }
}

#[test]
fn bad_parameters_are_named() {
    let message = |r: Result<Horizon>| r.unwrap_err().to_string();
    assert!(message(Horizon::new(10, 1, 5, 0.1, 0.5)).contains("clusters = 1"));
    assert!(message(Horizon::new(11, 2, 5, 0.1, 0.5)).contains("multiple of clusters = 2"));
    assert!(message(Horizon::new(10, 2, 5, 0.0, 0.5)).contains("delta = 0"));
    assert!(message(Horizon::new(10, 2, 5, f64::NAN, 0.5)).contains("delta = NaN"));
    assert!(message(Horizon::new(10, 2, 5, 0.1, 1.0)).contains("tau = 1"));
    let law = Horizon::new(10, 2, 5, 0.1, 0.05).unwrap();
    assert!(law.theta(1.0).is_err() && law.exact_updates(0.0, 0.5).is_err());
    // τ < 1/N: equal weights already exceed it.
    let message = law.theta(0.5).unwrap_err().to_string();
    assert!(message.contains("equal weights"), "{message}");
    // Two columns of two tokens cannot be broken with near certainty.
    assert!(Horizon::new(2, 2, 5, 0.1, 0.9).unwrap().theta(0.999).is_err());
}

#[test]
fn the_other_breaks_vanish_in_the_papers_regime() {
    // All hypotheses of (11) hold here.
    let total = law(200_000, 2, 1300, 0.55).other_breaks(6.0).total();
    assert!(total < 1e-80, "{total:e}");
    // Where the signal's own columns break, the bound says so.
    assert!(law(2000, 2, 30, 0.55).other_breaks(1.0).signal_columns > 1.0);
    // Where the noise attends to itself, too: σ² = 16 > ln N + ...
    assert!(Horizon::new(100, 2, 64, 0.5, 0.55).unwrap().other_breaks(1.0).own_score > 1.0);
}

/// Signal columns alone, against a midpoint sum of step 1e-3 in Python (math.erfc, the cumulated density of χ_p), and
/// against the shares of 400 draws there in which some column broke, each at least the bound: 1, .4775 and .9975.
#[test]
fn tokens_lose_their_own_attention_without_noise_too() {
    let law = |(tokens, clusters, dim, tau), delta| Horizon { tokens, clusters, dim, delta, tau };
    for (setting, delta, theta, some, given) in [
        ((20, 1, 8, 0.55), 0.0, 1.0, 0.756_456, 0.177_632),
        ((40, 2, 16, 0.55), 0.0, 1.0, 0.239_544, 0.012_330_2),
        ((40, 2, 16, 0.55), 0.1, 1.0, 0.208_295, 0.011_363_1),
        // One token a cluster: only the keys of other clusters count, P(χ_3 < √log 16.5) in closed form.
        ((12, 12, 3, 0.6), 0.0, 1.0, 0.999_967, 0.577_053),
        ((60, 2, 8, 0.55), 0.0, 100.0, 0.979_439, 0.201_153),
    ] {
        let law = law(setting, delta);
        let (least, column) = (law.signal_break_at_least(theta), law.signal_column_break(theta));
        assert!((least / some - 1.0).abs() < 1e-4, "{setting:?}: {least}");
        assert!((column / given - 1.0).abs() < 1e-4, "{setting:?}: {column}");
        assert!(least <= law.break_bound(theta));
    }
    // No weight exceeds 1; equal weights 1/N exceed τ < 1/N; with K = 1 there are no noise columns.
    assert_eq!(law((60, 1, 60, 1.0), 0.0).break_at_least(1.0), 1.0);
    assert_eq!(law((60, 2, 60, 0.01), 0.0).break_at_least(1.0), 1.0);
    assert!(law((60, 1, 60, 0.01), 0.0).break_at_least(1.0) < 1e-3);
}
