//! The closed forms against simulation and against independent numbers.

use crate::catalogue;
use attnlab_aot::rare_event::RareBreaks;
use attnlab_aot::theory::{Horizon, printed, softmax};
use attnlab_core::linalg::product;
use attnlab_core::rng::Streams;
use attnlab_core::special::normal_tail;
use attnlab_core::stats::{Estimate, mean};
use attnlab_theory::sample::Mixture;
use serde_json::{Map, Value, json};

/// δ at the upper end of (11).
fn bound(tokens: usize, dim: usize) -> f64 {
    ((tokens as f64).ln() / dim as f64).sqrt() / 8.0
}

/// Λ by simulation of single columns in its exact form.
fn simulated(law: &Horizon, theta: f64, trials: u64) -> Estimate {
    let Horizon { tokens, clusters, dim, delta, tau } = *law;
    let breaks = RareBreaks { tokens, clusters, dim, delta, tau };
    let draw = |trial| breaks.draw(theta, &Streams::new(7, "theory", 0, trial)).unwrap();
    mean(&(0..trials).map(draw).collect::<Vec<_>>(), 0.999).unwrap()
}

/// In every regime, Λ is within 1 % and the simulation's own interval of the simulated value: small
/// and large clusters, many clusters, τ near 1 and below 1/2, few dimensions.
#[test]
fn lambda_agrees_with_simulated_columns() {
    let settings = [
        (2000, 2, 900, 0.55),
        (2000, 2, 900, 0.9),
        (2000, 2, 900, 0.99),
        (2000, 2, 30, 0.55),
        (1000, 100, 30, 0.55),
        (200, 8, 60, 0.3),
        (200, 8, 60, 0.1),
        (60, 2, 60, 0.7),
    ];
    for (n, k, p, tau) in settings {
        let law = Horizon::new(n, k, p, bound(n, p), tau).unwrap();
        for probability in [0.001, 0.5] {
            let theta = law.theta(probability).unwrap();
            let (lambda, estimate) = (law.lambda(theta), simulated(&law, theta, 4000));
            let slack = 0.01 * estimate.value;
            let case = format!("N={n} K={k} p={p} tau={tau} theta={theta}: {lambda}, seen {estimate:?}");
            assert!((estimate.low - slack..estimate.high + slack).contains(&lambda), "{case}");
        }
    }
}

/// The setting of the paper's own hypotheses: 200 columns are enough for 10 % at Λ = 1e-3.
#[test]
fn rare_breaks_at_the_papers_size() {
    let law = Horizon::new(200_000, 2, 1300, bound(200_000, 1300), 0.55).unwrap();
    let theta = law.theta(1e-3).unwrap();
    let estimate = simulated(&law, theta, 200);
    assert!(estimate.high - estimate.low < 0.1 * estimate.value, "{estimate:?}");
    assert!(estimate.covers(law.lambda(theta)), "{estimate:?}");
}

/// Noise columns of a full draw in which the pattern (30) is broken at `theta`, straight from the
/// definition: the largest softmax weight of the column is above τ.
fn broken_columns(mixture: &Mixture, theta: f64, tau: f64, streams: &Streams) -> f64 {
    let mut broken = 0;
    for k in 0..mixture.clusters() {
        let mut y = mixture.head::<f64>(k, streams);
        let cluster = mixture.cluster(k);
        for i in cluster.clone() {
            y.column_mut(i).mapv_inplace(|x| theta * x);
        }
        let scores = product(y.t(), y.view());
        for j in (0..mixture.tokens()).filter(|j| !cluster.contains(j)) {
            let column = scores.column(j);
            let most = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut sum = 0.0;
            let is_below = |x: &f64| {
                sum += (x - most).exp();
                sum < 1.0 / tau
            };
            broken += usize::from(column.iter().all(is_below));
        }
    }
    broken as f64
}

#[test]
fn lambda_agrees_with_full_draws() {
    for (n, k, p, tau) in [(200, 2, 40, 0.55), (120, 4, 60, 0.8)] {
        let delta = bound(n, p);
        let law = Horizon::new(n, k, p, delta, tau).unwrap();
        let theta = law.theta(0.7).unwrap();
        let mixture = Mixture::balanced(n, k, p, delta).unwrap();
        let count = |trial| broken_columns(&mixture, theta, tau, &Streams::new(3, "direct", 0, trial));
        let counts: Vec<f64> = (0..1000).map(count).collect();
        let estimate = mean(&counts, 0.999).unwrap();
        assert!(estimate.covers(law.lambda(theta)), "{} {estimate:?}", law.lambda(theta));
        // The Poisson step: no column is broken with probability e^-Λ = .3.
        let intact = counts.iter().map(|c| f64::from(u8::from(*c == 0.0))).collect::<Vec<_>>();
        let intact = mean(&intact, 0.999).unwrap();
        assert!(intact.low - 0.03 < 0.3 && 0.3 < intact.high + 0.03, "{intact:?}");
    }
}

#[test]
fn rare_breaks_refuses_what_it_cannot_draw() {
    let good = RareBreaks { tokens: 20, clusters: 2, dim: 5, delta: 0.1, tau: 0.5 };
    let streams = Streams::new(0, "bad", 0, 0);
    assert!(good.draw(2.0, &streams).is_ok());
    for bad in [
        RareBreaks { tokens: 21, ..good },
        RareBreaks { clusters: 1, ..good },
        RareBreaks { clusters: 0, ..good },
        RareBreaks { dim: 0, ..good },
        RareBreaks { delta: f64::NAN, ..good },
        RareBreaks { tau: 1.0, ..good },
    ] {
        assert!(bad.draw(2.0, &streams).is_err(), "{bad:?}");
    }
    assert!(good.draw(f64::INFINITY, &streams).is_err());
}

/// Ordered pairs, counted in full draws.
#[test]
fn self_matches_are_ordered_pairs() {
    let (n, k, p) = (120, 2, 8);
    let mixture = Mixture::balanced(n, k, p, 0.0).unwrap();
    let matches = |trial| {
        let streams = Streams::new(11, "pairs", 0, trial);
        let count = |head| {
            let y = mixture.head::<f64>(head, &streams);
            let gram = product(y.t(), y.view());
            let keys = mixture.cluster(head);
            let pairs = keys.clone().flat_map(|i| keys.clone().map(move |j| (i, j)));
            pairs.filter(|&(i, j)| i != j && gram[[i, j]] >= gram[[i, i]]).count()
        };
        (count(0) + count(1)) as f64
    };
    let estimate = mean(&(0..600).map(matches).collect::<Vec<_>>(), 0.999).unwrap();
    assert!(estimate.covers(printed::self_match_lambda(n, k, p)), "{estimate:?}");
}

/// scipy: 0.5*N*(N/K-1)*scipy.special.betainc(p/2, 0.5, 0.5) = log 2 at p = 23.25, 32.20, 36.0, 45.0
/// and 70.9 for N = 200, 1000, 2000, 10^4 and 10^6 (K = 2); the audit has the same.
#[test]
fn dimensions_that_the_pattern_needs() {
    let ln2 = std::f64::consts::LN_2;
    for (n, p) in [(200, 23), (1000, 32), (2000, 35), (10_000, 44), (1_000_000, 70)] {
        assert!(printed::self_match_lambda(n, 2, p) > ln2, "{n} {p}");
        assert!(printed::self_match_lambda(n, 2, p + 2) < ln2, "{n} {p}");
    }
}

/// The audit's values at δ = c √(log N / p)/8 and η = .5, by formula (hand-coded in NumPy there)
/// and within its rounding; its simulations agree to .005.
#[test]
fn first_softmax_layer_of_the_audit() {
    for (n, k, p, c, factor) in [
        (600, 2, 120, 1.0, 1.096),
        (1000, 4, 200, 1.0, 1.259),
        (1600, 8, 200, 0.5, 1.329),
        (2000, 20, 200, 0.25, 1.357),
        (1000, 2, 900, 1.0, 0.895),
        (1200, 2, 200, 0.05, 0.171),
    ] {
        let gain = softmax::first_layer(n, k, p, c * bound(n, p), 0.5);
        assert!((gain - factor).abs() < 0.003, "{n} {k} {p} {c}: {gain}");
    }
}

fn eval(id: &str, set: Value) -> attnlab_core::Result<Value> {
    let set: Map<String, Value> = set.as_object().cloned().unwrap_or_default();
    Ok(catalogue().formula(id)?.evaluate(&set)?.value)
}

#[test]
fn every_formula_by_name() {
    let horizon = |more: Value| {
        let mut set = json!({"tokens": 2000, "clusters": 2, "dim": 900, "delta": 0.011_487, "tau": 0.55});
        set.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        set
    };
    let number = |id: &str, set| eval(id, set).unwrap().as_f64().unwrap();
    let theta = number("aot.horizon_theta", horizon(json!({"probability": 0.5})));
    assert!((theta - 5.16).abs() < 0.01, "{theta}");
    let lambda = number("aot.horizon_lambda", horizon(json!({"theta": theta})));
    assert!((lambda - 2.0_f64.ln()).abs() < 1e-6);
    let set = horizon(json!({"probability": 0.5, "eta": 0.5}));
    assert_eq!(eval("aot.horizon_layers", set).unwrap(), json!(7));
    // K = 2, 3, 4, 8, 100 from mp.findroot(lambda n: n-8*mp.pi*K*K*mp.log(n)**3, 1e5*K*K), rounded up.
    for (k, n) in [(2, 177_515), (3, 514_452), (4, 1_077_702), (8, 6_142_737), (100, 2_554_341_734_u64)] {
        assert_eq!(eval("aot.min_tokens", json!({"clusters": k})).unwrap(), json!(n));
    }
    // (4/3)(1 - ln 4/ln 2000) = 1.0902
    let delta = bound(2000, 900);
    let set = json!({"tokens": 2000, "clusters": 2, "dim": 900, "delta": delta});
    assert!((number("aot.proof_theta", set) - 1.0902).abs() < 1e-4);
    let end = eval("aot.tau_upper", json!({"tokens": 2000, "dim": 40})).unwrap();
    // mpmath: 1/(1+2000*exp(-9*40/32)) = 0.97468..., log(1 - it) = -3.6763...
    let expected = 1.0 / (1.0 + 2000.0 * (-11.25_f64).exp());
    assert!((end[0].as_f64().unwrap() - expected).abs() < 1e-15);
    assert!((end[1].as_f64().unwrap() - (-expected).ln_1p()).abs() < 1e-13);
    // mp.betainc(18, .5, 0, .5, regularized=True) = 6.9495275971113784e-7
    let set = json!({"tokens": 2000, "clusters": 2, "dim": 36});
    let expected = 0.5 * 2000.0 * 999.0 * 6.949_527_597_111_378e-7;
    assert!((number("aot.self_match_lambda", set) / expected - 1.0).abs() < 1e-10);
    let set = json!({"tokens": 1000, "clusters": 4, "dim": 200, "delta": bound(1000, 200), "eta": 0.5});
    assert!((number("aot.softmax_first_layer", set) - 1.259).abs() < 0.003);
    // Of two tokens Λ is twice the mean of Q((ℓ + σ²)/(θσ)), whose σ is 1e-8 √p but for some 1e-8.
    let set =
        json!({"tokens": 2, "clusters": 2, "dim": 1_000_000_000_000_000_u64, "delta": 1e-8, "tau": 0.3, "theta": 5.0});
    let sigma = 1e-8 * 1e15_f64.sqrt();
    let exact = 2.0 * normal_tail(((0.3_f64 / 0.7).ln() + sigma * sigma) / (5.0 * sigma));
    assert!((number("aot.horizon_lambda", set) / exact - 1.0).abs() < 1e-6);
}

#[test]
fn eval_refuses_with_advice() {
    let message = |id: &str, set| eval(id, set).unwrap_err().to_string();
    let m = message("aot.horizon_lamda", json!({}));
    assert!(m.starts_with("unknown formula 'aot.horizon_lamda'; did you mean aot.horizon_lambda"), "{m}");
    let m = message("aot.min_tokens", json!({}));
    assert!(m.contains("--set clusters="), "{m}");
    assert!(message("aot.min_tokens", json!({"clusters": 0})).contains("clusters = 0"));
    assert!(message("aot.min_tokens", json!({"clusters": 1_000_000})).contains("from 1 to"));
    let set = json!({"tokens": 7, "clusters": 2, "dim": 9});
    assert!(message("aot.self_match_lambda", set).contains("multiple of clusters = 2"));
    let set = json!({"tokens": 1000, "clusters": 1, "dim": 300, "delta": 0.01, "eta": 0.5});
    assert!(message("aot.softmax_first_layer", set).starts_with("clusters = 1: must be a whole number >= 2"));
    let set = json!({"tokens": 2000, "clusters": 2, "dim": 900, "delta": 0.0115, "tau": 0.55, "probability": 0.5, "eta": 1e-30});
    assert!(message("aot.horizon_layers", set).starts_with("eta = 1e-30: must be larger"));
    for formula in attnlab_aot::formulas::formulas() {
        assert!(formula.id.contains('.') && !formula.source.is_empty());
    }
}
