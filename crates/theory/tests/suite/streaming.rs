//! Tests of the fast path against the plain f64 definitions in `attention`, and of its documented properties.

use attnlab_core::linalg::{normal_matrix, orthonormal_bases, product, qr_q};
use attnlab_core::rng::{Generator, Streams};
use attnlab_theory::attention::mssa::unit_columns;
use attnlab_theory::attention::{
    HardThreshold, Hardmax, Linear, Mask, Mhsa, Mssa, Phi, ReluNormalised, Softmax, ThresholdedSoftmax,
};
use ndarray::{Array2, ArrayView2, Axis, ShapeBuilder, array, s};
use proptest::prelude::*;
use std::io::Write;
use std::process::Command;

fn phis() -> [Phi; 9] {
    [
        Softmax.into(),
        HardThreshold { tau: 0.8 }.into(),
        ThresholdedSoftmax { tau: 0.55 }.into(),
        ThresholdedSoftmax { tau: 0.1 }.into(),
        ThresholdedSoftmax { tau: 0.003 }.into(),
        ThresholdedSoftmax { tau: 1.0 }.into(),
        Hardmax.into(),
        Linear.into(),
        ReluNormalised.into(),
    ]
}

fn rng(seed: u64) -> Generator {
    Streams::new(seed, "streaming test", 0, 0).part("tokens", 0)
}

/// Every layer for each φ, mask and query normalisation.
fn layers() -> impl Iterator<Item = Mssa> {
    phis().into_iter().flat_map(|phi| {
        [Mask::None, Mask::Causal].into_iter().flat_map(move |mask| {
            [false, true].map(|normalise_queries| Mssa { phi: phi.clone(), eta: 0.5, mask, normalise_queries })
        })
    })
}

/// Tokens (p, n) of length about `length`, so that scores reach length².
fn tokens(p: usize, n: usize, length: f64, seed: u64) -> Array2<f64> {
    normal_matrix(p, n, &mut rng(seed)) * (length / (p as f64).sqrt())
}

fn plain_head(layer: &Mssa, y: ArrayView2<f64>) -> Array2<f64> {
    product(y, layer.weights(y).view())
}

pub(super) fn largest(a: &Array2<f64>) -> f64 {
    a.iter().fold(0.0, |m, x| m.max(x.abs()))
}

/// Σ_i |y_i| w_ij bounds the terms that column j sums up; its largest value is the scale against
/// which rounding is to be judged.
fn scale(layer: &Mssa, y: ArrayView2<f64>) -> f64 {
    largest(&product(y.mapv(f64::abs).view(), layer.weights(y).mapv(f64::abs).view()))
}

#[test]
fn f64_agrees_with_the_plain_definition() {
    // 96 is a whole block, 97 one column more, 250 ragged; (1, 1) the smallest problem of all.
    for (p, n) in [(1, 1), (1, 70), (3, 2), (7, 64), (5, 65), (20, 150), (200, 97)] {
        for length in [0.3, 2.0, 6.0] {
            let y = tokens(p, n, length, 1);
            for layer in layers() {
                let fast = layer.stream_head(y.view()).unwrap();
                let gap = largest(&(&fast.output - &plain_head(&layer, y.view())));
                let bound = 1e-12 * scale(&layer, y.view()).max(1e-300);
                assert!(gap <= bound, "{layer:?} ({p}, {n}) length {length}: {gap} > {bound}");
            }
        }
    }
}

#[test]
fn f32_agrees_within_its_rounding() {
    for (p, n) in [(1, 1), (1, 70), (5, 97), (32, 250), (96, 331)] {
        for length in [0.3, 2.0, 4.0] {
            let y32 = tokens(p, n, length, 2).mapv(|x| x as f32);
            let y = y32.mapv(f64::from);
            for layer in layers() {
                let fast = layer.stream_head(y32.view()).unwrap();
                let gap = largest(&(&fast.output.mapv(f64::from) - &plain_head(&layer, y.view())));
                // A score errs by γ_p|y_i||y_j|, a smooth weight relatively by twice that (exactly
                // the score's error for the linear φ), the sums over keys by another n roundings. A
                // discontinuous φ makes its decisions in f64 and then only sums.
                let longest2 = y.axis_iter(Axis(1)).map(|c| c.dot(&c)).fold(0.0, f64::max);
                let u = f64::from(f32::EPSILON) / 2.0;
                let norms = scale(&layer, y.view()).max(f64::from(f32::MIN_POSITIVE));
                let bound = match layer.phi.name() {
                    "softmax" => u * norms * (2.0 * (p + 6) as f64 * longest2 + (n + 16) as f64),
                    "linear" | "relu-normalised" => u * norms * 8.0 * ((p + n + 16) as f64),
                    _ => u * norms * 80.0,
                };
                assert!(gap <= bound, "{layer:?} ({p}, {n}) length {length}: {gap} > {bound}");
            }
        }
    }
}

/// The result must not depend on the number of threads, to the bit.
#[test]
fn one_two_and_three_threads_agree_to_the_bit() {
    let y = tokens(24, 500, 4.0, 3).mapv(|x| x as f32);
    let bases = orthonormal_bases(40, &[10, 10, 10], &mut rng(4)).unwrap();
    let ambient = tokens(40, 300, 5.0, 5);
    let run = |threads| {
        crate::on_threads(threads, || {
            let heads: Vec<_> = layers().map(|l| l.stream_head(y.view()).unwrap()).collect();
            let whole: Vec<_> = layers().map(|l| l.stream(ambient.view(), &bases).unwrap()).collect();
            let mut coefficients = vec![y.clone(), y.slice(s![..8, ..]).to_owned()];
            let redecided = Mssa::new(Softmax, 0.5).apply_coefficients(&mut coefficients);
            (heads, whole, coefficients, redecided.unwrap())
        })
    };
    let single = run(1);
    assert!(single == run(2) && single == run(3));
}

#[test]
fn coefficients_equal_the_ambient_form_for_orthonormal_bases() {
    let bases = orthonormal_bases(30, &[6, 9, 7], &mut rng(6)).unwrap();
    let mut z = tokens(30, 130, 4.0, 7);
    for layer in layers() {
        let mut heads: Vec<_> = bases.iter().map(|u| product(u.t(), z.view())).collect();
        layer.apply_coefficients(&mut heads).unwrap();
        let next = layer.stream(z.view(), &bases).unwrap().output;
        let plain = layer.apply(z.view(), &bases).unwrap();
        let tol = 1e-12 * largest(&plain);
        assert!(largest(&(&next - &plain)) < tol, "{layer:?} ambient");
        for (u, y) in bases.iter().zip(&heads) {
            assert!(largest(&(&product(u.t(), next.view()) - y)) < tol, "{layer:?} coefficients");
        }
        // Two layers deep too: softmax keeps the tokens bounded.
        if layer.phi == Softmax.into() {
            z = next;
        }
    }
}

#[test]
fn the_ambient_form_takes_any_bases() {
    let z = tokens(12, 90, 2.0, 8);
    let bases = [normal_matrix(12, 5, &mut rng(9)) * 0.3, normal_matrix(12, 20, &mut rng(10)) * 0.2];
    for layer in layers() {
        let fast = layer.stream(z.view(), &bases).unwrap().output;
        let plain = layer.apply(z.view(), &bases).unwrap();
        assert!(largest(&(&fast - &plain)) < 1e-11 * largest(&plain), "{layer:?}");
    }
    let wrong = Mssa::new(Softmax, 0.5).stream(z.view(), &[Array2::zeros((11, 2))]);
    assert!(wrong.unwrap_err().to_string().contains("bases[0]"));
    let wrong = Mssa::new(ThresholdedSoftmax { tau: 1.5 }, 0.5).stream_head(z.view());
    assert!(wrong.unwrap_err().to_string().contains("tau"));
}

#[test]
fn streaming_mhsa_equals_the_plain_one() {
    let z = tokens(10, 140, 2.0, 11);
    for phi in phis() {
        for mask in [Mask::None, Mask::Causal] {
            // Untied weights of ragged shapes: p = 4 and 3, v = 5 and 2.
            let w = |rows: usize, seed| normal_matrix(rows, 10, &mut rng(seed)) * 0.5;
            let layer = Mhsa {
                w_q: vec![w(4, 12), w(3, 13)],
                w_k: vec![w(4, 14), w(3, 15)],
                w_v: vec![w(5, 16), w(2, 17)],
                w_o: normal_matrix(10, 7, &mut rng(18)),
                phi: phi.clone(),
                eta: 0.3,
                scale: 0.5,
                mask,
            };
            let plain = layer.apply(z.view()).unwrap();
            let fast = layer.stream(z.view()).unwrap().output;
            assert!(largest(&(&fast - &plain)) < 1e-11 * largest(&plain), "{phi:?} {mask:?}");
        }
        let bases = orthonormal_bases(10, &[4, 4], &mut rng(19)).unwrap();
        let tied = Mhsa::tied(&bases, phi.clone(), 0.3).unwrap().stream(z.view()).unwrap().output;
        let mssa = Mssa::new(phi.clone(), 0.3).stream(z.view(), &bases).unwrap().output;
        assert!(largest(&(&tied - &mssa)) < 1e-12 * largest(&mssa), "{phi:?} tied");
    }
    let mut wrong = Mhsa::tied(&[Array2::eye(10)], Softmax, 1.0).unwrap();
    wrong.w_o = Array2::zeros((10, 9));
    assert!(wrong.stream(z.view()).unwrap_err().to_string().contains("w_o"));
}

/// Copies of one token have exactly equal scores, whatever the tile.
#[test]
fn hardmax_splits_exact_ties_evenly() {
    for n in [3, 96, 200, 401] {
        let mut y = tokens(9, n, 2.0, 20);
        let copy = y.column(1).mapv(|x| 3.0 * x);
        let copies: Vec<usize> = [0, n / 2, n - 1].into_iter().collect();
        for &j in &copies {
            y.column_mut(j).assign(&copy);
        }
        let layer = Mssa::new(Hardmax, 0.5);
        let fast = layer.stream_head(y.view()).unwrap();
        assert!(fast.redecided >= 3);
        for &j in &copies {
            assert!(largest(&(&fast.output.column(j) - &copy).insert_axis(Axis(1))) < 1e-12);
        }
        let y32 = y.mapv(|x| x as f32);
        assert!(layer.stream_head(y32.view()).unwrap().redecided >= 3);
    }
    // Two others tie for the first token, which attends to their mean and not to one of them.
    let y = array![[1.0, 3.0, 3.0], [0.0, 1.0, -1.0]];
    assert_eq!(Mssa::new(Hardmax, 0.5).stream_head(y.view()).unwrap().output.column(0), array![3.0, 0.0]);
    // Tokens of length zero tie with everything: each attends to the mean.
    let flat = Mssa::new(Hardmax, 0.5).stream_head(Array2::<f32>::zeros((4, 130)).view()).unwrap();
    assert_eq!((largest(&flat.output.mapv(f64::from)), flat.redecided), (0.0, 130));
}

/// Two equal tokens far from the rest share the weight: exactly 1/2 each, which does not exceed 1/2.
#[test]
fn a_weight_equal_to_tau_does_not_exceed_it() {
    let mut y = Array2::<f64>::eye(80) * 9.0;
    let twin = y.column(7).to_owned();
    y.column_mut(71).assign(&twin);
    let check = |tau: f64, twins: f64| {
        let layer = Mssa::new(ThresholdedSoftmax { tau }, 0.5);
        for (fast, redecided) in [
            layer.stream_head(y.view()).map(|s| (s.output, s.redecided)).unwrap(),
            layer.stream_head(y.mapv(|x| x as f32).view()).map(|s| (s.output.mapv(f64::from), s.redecided)).unwrap(),
        ] {
            assert_eq!(fast, plain_head(&layer, y.view()).mapv(|x| f64::from(x as f32)));
            assert_eq!(fast[[7, 7]], twins * 9.0);
            assert_eq!(fast[[3, 3]], f64::from(tau as f32) * 9.0);
            assert!(redecided <= 2, "{redecided} at {tau}");
        }
    };
    // Weights of the twins are 1/2 - 1e-34, which is 1/2 in f64; both pass any smaller τ.
    check(0.5, 0.0);
    check(0.25, 2.0 * 0.25);
    check(0.515625, 0.0);
}

/// The f32 decision is the f64 decision: τ is put within f32 rounding of a weight, on either side.
#[test]
fn doubtful_f32_decisions_are_made_again() {
    let y32 = tokens(40, 300, 4.2, 21).mapv(|x| x as f32);
    let y = y32.mapv(f64::from);
    let weights = Mssa::new(Softmax, 0.5).weights(y.view());
    let mut decisions = 0;
    for (low, high) in [(0.5, 0.9), (0.1, 0.3), (0.002, 0.01)] {
        let inside = weights.iter().copied().filter(|w| (low..high).contains(w)).take(5);
        for w in inside.collect::<Vec<_>>() {
            for tau in [w * (1.0 - 1e-9), w * (1.0 + 1e-9)] {
                let layer = Mssa::new(ThresholdedSoftmax { tau }, 0.5);
                let fast = layer.stream_head(y32.view()).unwrap();
                let gap = largest(&(&fast.output.mapv(f64::from) - &plain_head(&layer, y.view())));
                assert!(gap < 1e-5 * tau, "tau {tau}: {gap}");
                assert!(fast.redecided >= 1);
                decisions += 1;
            }
        }
    }
    assert!(decisions >= 20, "only {decisions} weights near a threshold");
    // The raw threshold: entries, not columns.
    let score = product(y.t(), y.view())[[3, 200]].abs();
    let layer = Mssa::new(HardThreshold { tau: score }, 0.5);
    let fast = layer.stream_head(y32.view()).unwrap();
    let gap = largest(&(&fast.output.mapv(f64::from) - &plain_head(&layer, y.view())));
    assert!(gap < 1e-3 * score, "{gap}"); // one wrong entry would leave a gap of about τ · 0.5
}

#[test]
fn large_scores_do_not_overflow() {
    let mut y32 = tokens(6, 150, 1.0, 22).mapv(|x| 1e4 * x as f32);
    // One short token: its scores lie far below all others.
    y32.column_mut(5).mapv_inplace(|x| x * 1e-6);
    let y = y32.mapv(f64::from);
    for layer in layers() {
        let fast = layer.stream_head(y32.view()).unwrap().output.mapv(f64::from);
        assert!(fast.iter().all(|x| x.is_finite()), "{layer:?}");
        let gap = largest(&(&layer.stream_head(y.view()).unwrap().output - &plain_head(&layer, y.view())));
        // Scores of 1e8 err by 1e-8 in f64, and so do the weights.
        assert!(gap <= 1e-6 * scale(&layer, y.view()), "{layer:?}: {gap}");
    }
}

#[test]
fn nothing_panics_on_odd_input() {
    for layer in layers() {
        for shape in [(3, 0), (0, 5), (0, 0)] {
            assert_eq!(layer.stream_head(Array2::<f64>::zeros(shape.f()).view()).unwrap().output.dim(), shape);
        }
        let mut y = tokens(3, 70, 1.0, 23);
        y[[1, 40]] = f64::NAN;
        y[[2, 50]] = f64::INFINITY;
        layer.stream_head(y.view()).unwrap();
        // Row-major memory, a view with steps and a reversed one give what their values say.
        let y = tokens(6, 140, 2.0, 24);
        for view in [y.slice(s![..;2, ..]), y.slice(s![.., ..;-1])] {
            let mut standard = Array2::zeros(view.dim());
            standard.assign(&view);
            assert_eq!(layer.stream_head(view).unwrap(), layer.stream_head(standard.view()).unwrap());
        }
    }
}

/// 20 000 tokens: a score matrix would take 1.6 GB even in f32.
#[test]
fn many_tokens_need_no_score_matrix() {
    const NAME: &str = "streaming::many_tokens_need_no_score_matrix";
    const ALONE: &str = "ATTNLAB_TEST_ALONE";
    let Some(before) = peak_memory() else {
        // `eprintln!` would be captured.
        let _ = writeln!(std::io::stderr(), "skipped: {NAME}: no VmHWM here");
        return;
    };
    // The peak is one of the whole process, in which other tests run: the measurement has a process of its own.
    if std::env::var_os(ALONE).is_none() {
        let mut alone = Command::new(std::env::current_exe().unwrap());
        alone.args([NAME, "--exact", "--nocapture"]).env(ALONE, "1");
        // Each thread has buffers.
        let output = alone.env("RAYON_NUM_THREADS", "2").output().unwrap();
        let [told, error] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).to_string());
        assert!(output.status.success() && told.contains("1 passed"), "{told}{error}");
        return;
    }
    let y = tokens(4, 20_000, 3.0, 25).mapv(|x| x as f32);
    let head = Mssa::new(ThresholdedSoftmax { tau: 0.55 }, 0.5).stream_head(y.view()).unwrap();
    assert_eq!(head.output.dim(), (4, 20_000));
    let more = peak_memory().unwrap() - before;
    assert!(more < 200 << 20, "{} MB more", more >> 20);
}

/// Largest resident memory of this process so far, in bytes (Linux only).
fn peak_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? << 10)
}

fn phi() -> impl Strategy<Value = Phi> {
    prop_oneof![
        Just(Softmax.into()),
        Just(Linear.into()),
        Just(ReluNormalised.into()),
        Just(Hardmax.into()),
        (0.001_f64..1.0).prop_map(|tau| ThresholdedSoftmax { tau }.into()),
        (0.1_f64..4.0).prop_map(|tau| HardThreshold { tau }.into()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Without a mask, tokens are a set: permuting them permutes the output.
    #[test]
    fn permutations_pass_through(phi in phi(), n in 1_usize..200, p in 1_usize..12, seed: u64, normalise_queries: bool) {
        let layer = Mssa { normalise_queries, ..Mssa::new(phi, 0.5) };
        let y = tokens(p, n, 2.0, seed);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|i| (*i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ seed));
        let out = layer.stream_head(y.view()).unwrap().output;
        let permuted = layer.stream_head(y.select(Axis(1), &order).view()).unwrap().output;
        let gap = largest(&(&permuted - &out.select(Axis(1), &order)));
        prop_assert!(gap <= 1e-12 * scale(&layer, y.view()), "{gap}");
    }

    /// Rotating tokens and bases together rotates the next tokens.
    #[test]
    fn rotations_pass_through(phi in phi(), n in 1_usize..150, seed: u64, causal: bool) {
        let d = 9;
        let mask = if causal { Mask::Causal } else { Mask::None };
        let layer = Mssa { mask, ..Mssa::new(phi, 0.5) };
        let z = tokens(d, n, 2.0, seed);
        let bases = orthonormal_bases(d, &[4, 3], &mut rng(seed ^ 1)).unwrap();
        let q = qr_q(normal_matrix(d, d, &mut rng(seed ^ 2)).view()).unwrap();
        let turned: Vec<_> = bases.iter().map(|u| product(q.view(), u.view())).collect();
        let out = layer.stream(z.view(), &bases).unwrap().output;
        let rotated = layer.stream(product(q.view(), z.view()).view(), &turned).unwrap().output;
        let gap = largest(&(&rotated - &product(q.view(), out.view())));
        prop_assert!(gap <= 1e-11 * largest(&out), "{gap}");
    }

    /// Column lengths do not matter to normalised queries.
    #[test]
    fn normalised_queries_have_unit_length(n in 1_usize..100, seed: u64) {
        let y = tokens(5, n, 3.0, seed);
        let layer = Mssa { normalise_queries: true, ..Mssa::new(Linear, 1.0) };
        let expected = product(y.view(), product(y.t(), unit_columns(y.view()).view()).view());
        let gap = largest(&(&layer.stream_head(y.view()).unwrap().output - &expected));
        prop_assert!(gap <= 1e-11 * largest(&expected), "{gap}");
    }
}
