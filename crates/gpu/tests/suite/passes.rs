//! The passes on a GPU against the plain f64 definitions and the CPU's fast path. Without an adapter
//! these tests print a note and pass, unless ATTNLAB_REQUIRE_GPU=1.

use attnlab_core::linalg::{normal_matrix, orthonormal_bases, product};
use attnlab_core::rng::Streams;
use attnlab_gpu::{Gpu, Options, Precision};
use attnlab_theory::attention::horizon::HeadHorizon;
use attnlab_theory::attention::streaming::Machine;
use attnlab_theory::attention::streaming::horizon::horizon_of_head;
use attnlab_theory::attention::{
    HardThreshold, Hardmax, Linear, Mask, Mssa, Phi, ReluNormalised, Softmax, ThresholdedSoftmax,
};
use attnlab_theory::measure::{horizon_of_mixture, horizon_of_mixture_on, horizon_ticks_on};
use attnlab_theory::sample::{Bases, Mixture};
use ndarray::{Array2, ArrayView2, Axis};
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns an adapter, or `None` with a printed reason why the test does nothing.
pub(super) fn open(options: &Options) -> Option<Gpu> {
    found(Gpu::open(options))
}

/// Returns the adapter, or `None` after a line that says why the test does nothing.
fn found<G>(opened: Result<G, impl std::fmt::Display>) -> Option<G> {
    let error = match opened {
        Ok(gpu) => return Some(gpu),
        Err(error) => error,
    };
    let required = std::env::var("ATTNLAB_REQUIRE_GPU").is_ok_and(|v| v == "1");
    assert!(!required, "ATTNLAB_REQUIRE_GPU=1, but {error}");
    skipped(&error.to_string());
    None
}

/// Says that the test of this thread does nothing, and why; what `eprintln` writes is shown for a failed test alone.
fn skipped(reason: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {}: {reason}", std::thread::current().name().unwrap_or("a test"));
}

/// One device for most tests: kernels are compiled once. Scores are in f32.
pub(super) fn gpu() -> Option<&'static Gpu> {
    static GPU: OnceLock<Result<Gpu, String>> = OnceLock::new();
    found(GPU.get_or_init(|| Gpu::open(&SINGLE).map_err(|e| e.to_string())).as_ref())
}

const SINGLE: Options = Options { hardware_only: false, largest_binding: None, precision: Precision::Single };

/// Bindings so small that tokens, output and scores are split.
fn narrow(bytes: u64) -> Option<Gpu> {
    open(&Options { largest_binding: Some(bytes), ..SINGLE })
}

/// Scores in half precision: on matrix units where there are any, else in f32 from rounded numbers.
fn half() -> Option<&'static Gpu> {
    static GPU: OnceLock<Result<Gpu, String>> = OnceLock::new();
    let options = Options { precision: Precision::Half, ..SINGLE };
    found(GPU.get_or_init(|| Gpu::open(&options).map_err(|e| e.to_string())).as_ref())
}

fn phis() -> [Phi; 10] {
    [
        Softmax.into(),
        HardThreshold { tau: 0.8 }.into(),
        ThresholdedSoftmax { tau: 0.55 }.into(),
        ThresholdedSoftmax { tau: 0.5 }.into(),
        ThresholdedSoftmax { tau: 0.1 }.into(),
        ThresholdedSoftmax { tau: 0.003 }.into(),
        ThresholdedSoftmax { tau: 1.0 }.into(),
        Hardmax.into(),
        Linear.into(),
        ReluNormalised.into(),
    ]
}

fn layer(phi: impl Into<Phi>, mask: Mask, normalise_queries: bool) -> Mssa {
    Mssa { phi: phi.into(), eta: 0.5, mask, normalise_queries }
}

/// Every φ, plain and causal; and with normalised queries under some φ of each kind.
fn layers() -> Vec<Mssa> {
    let mut layers: Vec<_> = phis().map(|phi| layer(phi, Mask::None, false)).into();
    layers.extend(phis().map(|phi| layer(phi, Mask::Causal, false)));
    for phi in [Phi::from(Softmax), Linear.into(), HardThreshold { tau: 0.8 }.into()] {
        layers.push(layer(phi.clone(), Mask::None, true));
        layers.push(layer(phi, Mask::Causal, true));
    }
    layers
}

/// Tokens (p, n) of length about `length`, so that scores reach length².
fn tokens(p: usize, n: usize, length: f64, seed: u64) -> Array2<f32> {
    let mut rng = Streams::new(seed, "gpu test", 0, 0).part("tokens", 0);
    (normal_matrix(p, n, &mut rng) * (length / (p as f64).sqrt())).mapv(|x| x as f32)
}

fn largest(a: &Array2<f64>) -> f64 {
    a.iter().fold(0.0, |m, x| m.max(x.abs()))
}

/// Bounds the distance of f32 sums from the plain definition: as in the tests of `attnlab-theory`, with a
/// full unit for every operation, since a GPU may round towards zero.
fn bound(layer: &Mssa, y: ArrayView2<f64>) -> f64 {
    let (p, n) = y.dim();
    let weights = layer.weights(y).mapv(f64::abs);
    let norms = largest(&product(y.mapv(f64::abs).view(), weights.view()));
    let longest2 = y.axis_iter(Axis(1)).map(|c| c.dot(&c)).fold(0.0, f64::max);
    let u = f64::from(f32::EPSILON);
    let norms = norms.max(f64::from(f32::MIN_POSITIVE));
    match layer.phi.name() {
        "softmax" => u * norms * (2.0 * (p + 6) as f64 * longest2 + (n + 16) as f64),
        "linear" | "relu-normalised" => u * norms * 8.0 * ((p + n + 16) as f64),
        _ => u * norms * 80.0,
    }
}

fn assert_plain(gpu: &Gpu, layer: &Mssa, y: &Array2<f32>, case: &str) {
    let head = gpu.stream_head(layer, y.view()).unwrap();
    let wide = y.mapv(f64::from);
    let plain = product(wide.view(), layer.weights(wide.view()).view());
    let gap = largest(&(&head.output.mapv(f64::from) - &plain));
    let bound = bound(layer, wide.view());
    assert!(gap <= bound, "{case}: {layer:?} {:?}: {gap} > {bound}", y.dim());
}

#[test]
fn every_layer_agrees_with_the_plain_definition() {
    let Some(gpu) = gpu() else { return };
    // One token; less than a block; ragged blocks and coefficients; several squares; tiles of 64 and
    // of 128 coefficients and one more.
    for (p, n, length) in [(1, 1, 1.0), (3, 129, 3.0), (65, 300, 3.0), (128, 257, 0.5), (130, 600, 3.0)] {
        let y = tokens(p, n, length, 2);
        for layer in layers() {
            assert_plain(gpu, &layer, &y, "whole");
        }
    }
}

#[test]
fn small_bindings_change_nothing_but_the_order_of_sums() {
    // One block per square, several or one per buffer: every pair of buffers is met.
    let Some(gpu) = narrow(140_000) else { return };
    for (p, n) in [(40, 700), (200, 500)] {
        let y = tokens(p, n, 3.0, 3);
        for phi in phis() {
            for mask in [Mask::None, Mask::Causal] {
                assert_plain(&gpu, &layer(phi.clone(), mask, false), &y, "narrow");
            }
        }
    }
    // Squares of two blocks.
    let Some(gpu) = narrow(600_000) else { return };
    let y = tokens(64, 1500, 3.0, 3);
    for phi in [Phi::from(Softmax), ThresholdedSoftmax { tau: 0.1 }.into()] {
        assert_plain(&gpu, &Mssa::new(phi, 0.5), &y, "squares of two blocks");
    }
    let Some(gpu) = narrow(100_000) else { return };
    let layer = Mssa::new(Softmax, 0.5);
    let refused = gpu.stream_head(&layer, tokens(3, 300, 1.0, 4).view());
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("--backend cpu"), "{text}");
}

/// Same decisions as the CPU: the kept entries, not only numbers near them.
#[test]
fn thresholds_and_maxima_are_decided_as_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    decides_as_the_cpu(gpu, false);
}

/// Products that are a thousand times coarser change no decision; more decisions are left to f64.
#[test]
fn half_precision_changes_no_decision() {
    let Some(gpu) = half() else { return };
    let products = gpu.products();
    assert!(products.contains("f16"), "{products}");
    decides_as_the_cpu(gpu, true);
}

/// `coarse`: scores are in half precision, so that some columns must have been open.
fn decides_as_the_cpu(gpu: &Gpu, coarse: bool) {
    let mut y = tokens(48, 900, 3.0, 5);
    // Exact ties: copies of one token, which score alike wherever they sit.
    let copy = y.column(7).mapv(|x| 2.0 * x);
    for j in [7, 500, 899] {
        y.column_mut(j).assign(&copy);
    }
    for phi in phis() {
        if !phi.gpu().is_some_and(|pass| pass.decides()) {
            continue;
        }
        for mask in [Mask::None, Mask::Causal] {
            let layer = layer(phi.clone(), mask, false);
            let (here, there) = (layer.stream_head(y.view()).unwrap(), gpu.stream_head(&layer, y.view()).unwrap());
            for (j, (a, b)) in here.output.columns().into_iter().zip(there.output.columns()).enumerate() {
                let gap = (&a - &b).iter().fold(0.0_f32, |m, x| m.max(x.abs()));
                let size = a.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
                // Sums of several entries may be added in another order; an entry more or less shows.
                assert!(gap <= 5e-4 * size, "{layer:?} column {j}: {gap} of {size}");
            }
            if coarse && phi == (ThresholdedSoftmax { tau: 0.55 }).into() {
                assert!(there.redecided > 0 && there.redecided <= 900 / 64, "{there:?}");
            }
            if phi == Hardmax.into() {
                // With the causal mask token 7 does not see its copies.
                assert!(there.redecided >= 2, "{layer:?}");
                assert_eq!(here.output, there.output);
            }
        }
    }
}

/// Scores that sit on the threshold to rounding are decided one by one in f64.
#[test]
fn doubtful_scores_are_decided_in_f64() {
    let Some(gpu) = gpu() else { return };
    // <y_i, y_j> = x_i x_j + 1e-9-ish terms that f32 sums lose: 1 + tiny against tau = 1.
    let n = 300;
    let y = Array2::from_shape_fn((33, n), |(m, j)| match m {
        0 => 1.0,
        1 => 1e-5 * if j % 2 == 0 { 1.0 } else { -1.0 },
        _ => 0.0_f32,
    });
    let layer = Mssa::new(HardThreshold { tau: 1.0 }, 0.5);
    let head = gpu.stream_head(&layer, y.view()).unwrap();
    let wide = y.mapv(f64::from);
    let plain = product(wide.view(), layer.weights(wide.view()).view());
    assert_eq!(head.redecided, n * n);
    // Half of the scores are above 1 by 1e-10, half below.
    assert!((plain[[0, 0]] - 150.0).abs() < 1e-9);
    assert!(largest(&(head.output.mapv(f64::from) - &plain)) < 1e-3);
}

#[test]
fn the_ambient_layer_runs_on_the_gpu() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Streams::new(8, "gpu test", 0, 0).part("tokens", 0);
    let bases = orthonormal_bases(30, &[6, 9, 7], &mut rng).unwrap();
    let z = tokens(30, 400, 3.0, 9);
    let narrow: Vec<_> = bases.iter().map(|u| u.mapv(|x| x as f32)).collect();
    for phi in phis() {
        let layer = Mssa::new(phi.clone(), 0.5);
        let there = layer.stream_on(gpu, z.view(), &narrow).unwrap().output;
        let here = layer.stream(z.view(), &narrow).unwrap().output;
        let gap = largest(&(&there - &here).mapv(f64::from));
        assert!(gap < 1e-4 * largest(&here.mapv(f64::from)), "{phi:?}: {gap}");
    }
}

#[test]
fn bad_tokens_are_refused() {
    let Some(gpu) = gpu() else { return };
    let layer = Mssa::new(Softmax, 0.5);
    for bad in [f32::NAN, f32::INFINITY, 1e16] {
        let mut y = tokens(4, 20, 1.0, 10);
        y[[2, 11]] = bad;
        let text = gpu.stream_head(&layer, y.view()).unwrap_err().to_string();
        assert!(text.contains("token 11"), "{text}");
    }
    let wrong = Mssa::new(ThresholdedSoftmax { tau: 1.5 }, 0.5);
    let y = tokens(4, 20, 1.0, 10);
    let text = gpu.stream_head(&wrong, y.view()).unwrap_err().to_string();
    assert!(text.contains("tau"), "{text}");
}

fn mixture(counts: &[usize], dims: &[usize], delta: f64) -> Mixture {
    Mixture {
        counts: counts.to_vec(),
        dims: dims.to_vec(),
        ambient: dims.iter().sum(),
        delta,
        bases: Bases::Orthonormal,
    }
}

/// c √(log N / p): the scale of the theorem's δ.
fn noise(c: f64, tokens: usize, dim: usize) -> f64 {
    c * ((tokens as f64).ln() / dim as f64).sqrt()
}

/// Horizons from scores in half precision: the same first break, bounds that hold, and more columns
/// decided in f64.
#[test]
fn horizons_in_half_precision_are_the_cpus() {
    let (Some(half), Some(single)) = (half(), gpu()) else { return };
    let shapes: [(&[usize], &[usize], f64, f64); 4] = [
        (&[500, 500], &[200, 200], noise(0.125, 1000, 200), 0.55),
        (&[300, 700, 301], &[40, 100, 60], noise(0.25, 1301, 60), 0.7),
        (&[400, 400], &[30, 30], noise(0.5, 800, 30), 0.3),
        // No noise at all: the shortest tokens are 0.
        (&[300, 333], &[50, 50], 0.0, 0.6),
    ];
    let mut settled = [0, 0];
    for (trial, (counts, dims, delta, tau)) in shapes.into_iter().enumerate() {
        let m = mixture(counts, dims, delta);
        for k in 0..counts.len() {
            let y = m.head::<f32>(k, &Streams::new(7, "tests.gpu", 0, trial as u64));
            let here = horizon_of_head(y.view(), m.cluster(k), tau, || {}).unwrap();
            let there = half.horizon_of_head(y.view(), m.cluster(k), tau, &|| {});
            let there = there.unwrap();
            let case = format!("shape {trial}, head {k}");
            same_first(&here, &there, &case);
            bounds_overlap(&here, &there, &case);
            let fine = single.horizon_of_head(y.view(), m.cluster(k), tau, &|| {});
            settled[0] += there.redecided;
            settled[1] += fine.unwrap().redecided;
        }
    }
    assert!(settled[0] > settled[1], "{settled:?}");
}

/// Where the adapter has matrix units, they agree with f64 within the bound and are used.
#[test]
fn matrix_units_are_used_where_they_are_right() {
    let Some(gpu) = open(&Options::default()) else { return };
    let products = gpu.products();
    assert!(!products.contains("fail"), "{products}");
    let wanted = "16x16x16 F16 -> F32".to_string();
    if gpu.report().cooperative_matrices.contains(&wanted) {
        assert!(products.contains("matrix units of 16 x 16"), "{products}");
    } else {
        skipped(&format!("no {wanted} on {}", gpu.report().name));
    }
}

fn same_first(here: &HeadHorizon, there: &HeadHorizon, case: &str) {
    match (here.first, there.first) {
        (Some(a), Some(b)) => {
            assert_eq!((a.column, a.row, a.kind), (b.column, b.row, b.kind), "{case}");
            assert!((a.theta / b.theta - 1.0).abs() < 1e-12, "{case}: {a:?} {b:?}");
        }
        (a, b) => assert!(a.is_none() && b.is_none(), "{case}: {a:?} {b:?}"),
    }
}

fn bounds_overlap(here: &HeadHorizon, there: &HeadHorizon, case: &str) {
    for (j, (a, b)) in here.theta.iter().zip(&there.theta).enumerate() {
        let slack = 1e-12 * a.low.min(b.low).min(1e6);
        assert!(a.low <= b.high + slack && b.low <= a.high + slack, "{case}, column {j}: {a:?} {b:?}");
    }
}

/// The bounds of every column overlap with the CPU's, the estimates agree, the first is the same.
fn same_head(here: &HeadHorizon, there: &HeadHorizon, case: &str) {
    same_first(here, there, case);
    bounds_overlap(here, there, case);
    for (j, (a, b)) in here.theta.iter().zip(&there.theta).enumerate() {
        if a.high.is_finite() && b.high.is_finite() && a.value < 5.0 {
            assert!((a.value / b.value - 1.0).abs() < 1e-4, "{case}, {j}: {a:?} {b:?}");
        }
    }
}

#[test]
fn horizons_are_the_cpus() {
    let shapes: [(&[usize], &[usize], f64, f64); 8] = [
        (&[500, 500], &[200, 200], noise(0.125, 1000, 200), 0.55),
        (&[300, 700, 301], &[40, 100, 60], noise(0.25, 1301, 60), 0.7),
        (&[1000, 1], &[80, 80], noise(0.25, 1001, 80), 0.55),
        (&[400, 400], &[30, 30], noise(0.5, 800, 30), 0.3),
        (&[400, 400], &[300, 300], noise(0.0625, 800, 300), 0.99),
        (&[600, 600], &[200, 200], 0.5, 0.55),
        (&[300, 333], &[50, 50], 0.0, 0.6),
        (&[700], &[20], 0.1, 0.55),
    ];
    let whole = gpu();
    let split = narrow(160_000);
    let (Some(whole), Some(split)) = (whole, split) else { return };
    for (trial, (counts, dims, delta, tau)) in shapes.into_iter().enumerate() {
        let m = mixture(counts, dims, delta);
        for k in 0..counts.len() {
            let y = m.head::<f32>(k, &Streams::new(7, "tests.gpu", 0, trial as u64));
            let here = horizon_of_head(y.view(), m.cluster(k), tau, || {}).unwrap();
            for gpu in [whole, &split] {
                let there = gpu.horizon_of_head(y.view(), m.cluster(k), tau, &|| {});
                let there = there.unwrap();
                let case = format!("shape {trial}, head {k}");
                same_head(&here, &there, &case);
                assert!(there.redecided <= 96, "{case}: {} columns", there.redecided);
            }
        }
    }
}

/// The size: identical layer, head, column and key; θ to 1e-4 (it is equal to rounding).
fn same_draw(tokens: usize, dim: usize) {
    let Some(gpu) = gpu() else { return };
    let m = Mixture::balanced(tokens, 2, dim, noise(0.125, tokens, dim)).unwrap();
    let streams = Streams::new(11, "tests.gpu", 0, 0);
    let (eta, tau) = (0.5, 0.55);
    let here = horizon_of_mixture(&m, tau, &streams, || {}).unwrap();
    let ticks = AtomicU64::new(0);
    let tick = || {
        ticks.fetch_add(1, Ordering::Relaxed);
    };
    let there = horizon_of_mixture_on(gpu, &m, tau, &streams, &tick).unwrap();
    assert_eq!(ticks.into_inner(), horizon_ticks_on(gpu, &m));
    let ((head, a), (other, b)) = (here.first().unwrap(), there.first().unwrap());
    assert_eq!((head, a.column, a.row), (other, b.column, b.row));
    assert!((a.theta - b.theta).abs() < 1e-4);
    assert_eq!(here.exact_updates(eta, tau), there.exact_updates(eta, tau));
    for (here, there) in here.heads.iter().zip(&there.heads) {
        same_head(here, there, &format!("N = {tokens}"));
    }
}

#[test]
fn the_horizon_of_4096_tokens_is_the_cpus() {
    same_draw(4096, 200);
}

#[test]
#[ignore = "minutes on a software adapter: run it on a card with --ignored"]
fn the_horizon_of_20000_tokens_is_the_cpus() {
    same_draw(20_000, 1300);
}

/// Two runs, on two devices even, give the same bits.
#[test]
fn two_runs_give_the_same_bits() {
    let (Some(first), Some(second)) = (gpu(), open(&SINGLE)) else { return };
    let y = tokens(70, 700, 3.0, 12);
    for phi in phis() {
        let layer = layer(phi, Mask::None, false);
        let run = |gpu: &Gpu| gpu.stream_head(&layer, y.view()).unwrap();
        let (a, b, c) = (run(first), run(first), run(&second));
        assert!(a == b && a == c, "{layer:?}");
    }
    let m = mixture(&[500, 600], &[70, 70], noise(0.25, 1100, 70));
    let head = m.head::<f32>(0, &Streams::new(13, "tests.gpu", 0, 0));
    let run = |gpu: &Gpu| gpu.horizon_of_head(head.view(), m.cluster(0), 0.55, &|| {}).unwrap();
    assert!(run(first) == run(first) && run(first) == run(&second));
}
