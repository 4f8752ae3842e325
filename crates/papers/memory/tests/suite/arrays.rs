//! Claims on arrays in place of draws.

use attnlab_lab::claim::{Arrays, Claim, OnArrays};
use attnlab_lab::witness;
use attnlab_memory::claims;
use ndarray::{Array2, array};
use std::sync::Arc;

fn claim(id: &str) -> Arc<dyn Claim> {
    claims::all().into_iter().find(|c| c.sheet().id == id).expect("a claim of this room")
}

fn on(id: &str, patterns: Array2<f64>, queries: Option<Array2<f64>>, beta: f64) -> OnArrays {
    let mut arrays = Arrays::default();
    arrays.push("patterns", patterns);
    queries.into_iter().for_each(|q| arrays.push("queries", q));
    OnArrays::judge(&*claim(id), &witness! { "beta" => beta }, &arrays, true).unwrap()
}

/// Two patterns ±1 on a line: an update of s is tanh(βs), and its fixed point at β = 2 is s* = .957504024 (mpmath.findroot).
/// From s = 1 the distance from the pattern is 1 − tanh 2 = .03597242, the first bound 2 exp(−2(2 − 2(1 − s*))) = .04341853,
/// of which three quarters are below the distance; the pattern is 1 − s* = .04249598 from the fixed point, and its bound
/// 2e exp(−4) = .09957.
#[test]
fn two_patterns_on_a_line_are_the_hyperbolic_tangent() {
    let judgement = on("memory.theorem5", array![[1.0, -1.0]], Some(array![[1.0]]), 2.0);
    assert_eq!((judgement.verdict, judgement.holds), ("holds", 1));
    assert_eq!(judgement.closest.unwrap().sides, "0.0359724 ≤ 0.0434185, tolerance 1e-11");
    assert_eq!(judgement.mutants["three-quarters"], "fails");
    let judgement = on("memory.theorem5_fixed_point", array![[1.0, -1.0]], None, 2.0);
    assert_eq!((judgement.verdict, judgement.holds), ("holds", 2));
    assert!(judgement.closest.unwrap().sides.starts_with("0.042496 ≤ 0.0995741"));
}

/// The energy of the same memory is s²/2 − (1/β) ln(2 cosh βs): from s = 0.3 at β = 2 it falls from −.4302805 to −.4711046.
#[test]
fn the_energy_of_two_patterns_falls() {
    let judgement = on("memory.theorem1", array![[1.0, -1.0]], Some(array![[0.3]]), 2.0);
    let energy = |s: f64| 0.5 * s * s - 0.5 * (2.0 * (2.0 * s).cosh()).ln();
    let fell = energy(0.3) - energy(0.6_f64.tanh());
    let case = judgement.closest.unwrap();
    // Energies of order 1, each rounded a dozen times.
    assert!((case.witness["fell_by"].as_f64().unwrap() - fell).abs() < 1e-14, "{case:?} {fell}");
}

/// Two patterns in one place have no separation, and one alone has no other: nothing is said. The third one is judged for the
/// query beside it.
#[test]
fn of_patterns_without_separation_nothing_is_said() {
    let judgement = on("memory.theorem4", array![[1.0, 1.0]], Some(array![[0.9, 0.8]]), 3.0);
    assert_eq!((judgement.verdict, judgement.silent["the bound exceeds 2M"]), ("says nothing", 2));
    let judgement = on("memory.theorem5", array![[1.0]], Some(array![[1.0]]), 3.0);
    assert_eq!((judgement.verdict, judgement.silent["there is one pattern only"]), ("says nothing", 1));
    let judgement = on("memory.theorem5", array![[1.0, 1.0, -1.0]], Some(array![[0.9, -1.0]]), 3.0);
    assert_eq!((judgement.holds, judgement.silent["the bound exceeds 2M"]), (1, 1));
    assert_eq!(judgement.closest.unwrap().witness["pattern"], 2);
}

/// The pattern of a query is the one of least bound, which need not be the nearest: of .74 the nearest pattern is .5 with
/// Δ − 2|ξ − x|M = (.25 − .5) − .48, and 1 has (1 − .5) − .52.
#[test]
fn the_pattern_of_a_query_has_the_least_bound() {
    let judgement = on("memory.theorem4", array![[1.0, 0.5, -1.0]], Some(array![[0.74]]), 0.05);
    assert_eq!((judgement.verdict, &judgement.closest.unwrap().witness["pattern"]), ("holds", &0.into()));
}

#[test]
fn what_does_not_fit_is_named() {
    let judge = |arrays: &[(&str, Array2<f64>)], beta: f64| {
        let mut taken = Arrays::default();
        arrays.iter().for_each(|(name, a)| taken.push(*name, a.clone()));
        let set = witness! { "beta" => beta };
        OnArrays::judge(&*claim("memory.theorem5"), &set, &taken, false).unwrap_err().to_string()
    };
    let (x, q) = (("patterns", array![[1.0, -1.0]]), ("queries", array![[1.0]]));
    for (arrays, words) in [
        (vec![x.clone()], "queries = 0 arrays: must be one array"),
        (vec![x.clone(), x.clone(), q.clone()], "patterns = 2 arrays: must be one array"),
        (vec![x.clone(), ("queries", array![[1.0], [2.0]])], "(1, ..), as patterns has 1 rows"),
        (vec![x.clone(), ("queries", array![[f64::NAN]])], "queries[0, 0] = NaN: must be a finite number"),
        (vec![x.clone(), ("queries", Array2::zeros((1, 0)))], "queries has shape (1, 0)"),
    ] {
        let message = judge(&arrays, 2.0);
        assert!(message.contains(words), "{message}");
    }
    assert!(judge(&[x, q], -1.0).contains("beta = -1.0"));
    let mut other = Arrays::default();
    other.push("keys", array![[1.0]]);
    let error = other.ensure_taken(std::iter::once(&*claim("memory.theorem5"))).unwrap_err().to_string();
    assert!(error.contains("unknown array 'keys'"), "{error}");
}
