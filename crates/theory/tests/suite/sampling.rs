//! Tests of the samplers: pinned values, exact moments, invariances, and constraints on draws.

use attnlab_core::linalg::{coherent_bases, haar_basis, orthonormality_defect, product};
use attnlab_core::rng::{Streams, hash};
use attnlab_theory::measure::{snr, snr::energy_by_cluster, snr_of_heads};
use attnlab_theory::sample::{Bases, Mixture};
use ndarray::{Array2, s};
use rand::Rng;

fn streams(trial: u64) -> Streams {
    Streams::new(2024, "tests.sampling", 0, trial)
}

/// A change of any of these numbers changes every result that was ever published with a seed. They were made by a
/// ChaCha of 4 double rounds written anew in Python from RFC 8439 (original 64-bit counter and nonce), with key =
/// `struct.pack('<4Q', 5, h(b'aot.theorem1'), 7, 11)` and nonce =
/// `h(b'coefficients' + b'\xff' + struct.pack('<Q', 3))`, h being FNV-1a and the finaliser of SplitMix64.
#[test]
fn streams_are_pinned() {
    assert_eq!(hash(b""), 0xf52a_15e9_a9b5_e89b);
    let mut rng = Streams::new(5, "aot.theorem1", 7, 11).part("coefficients", 3);
    assert_eq!([rng.next_u64(), rng.next_u64()], [7936771283234058521, 11512713994227718329]);
}

#[test]
fn draws_are_pinned() {
    let mixture = Mixture::balanced(600, 2, 3, 0.5).unwrap();
    let y = mixture.head::<f64>(1, &streams(0));
    assert_eq!(
        [y[[0, 0]], y[[2, 255]], y[[0, 256]], y[[2, 599]]],
        [0.08245334122403201, 0.7946547981094986, 0.7326921051240367, -0.8932452434456417]
    );
    let z = mixture.draw(&streams(0)).unwrap().tokens;
    // Products and QR round differently on other vector widths and engines: not to the last bit.
    assert!((z[[0, 0]] - 0.9556014538883071).abs() < 1e-13);
    assert!((z[[5, 599]] + 0.2901096381696476).abs() < 1e-13);
}

/// For a Haar projector onto p of d dimensions P_ii ~ Beta(p/2, (d-p)/2), so E[P_ii²] = p(p+2) / (d(d+2)). Without the
/// sign fixed in QR, or from uniform entries, it is not: the mutant below must fail the same test.
#[test]
fn haar_second_moment_is_exact() {
    let (d, p, draws) = (6, 2, 4000);
    let exact = (p * (p + 2)) as f64 / (d * (d + 2)) as f64;
    let moment = |basis: &dyn Fn(u64) -> Array2<f64>| {
        let mean_square = |t| {
            let u = basis(t);
            (0..d).map(|i| u.row(i).dot(&u.row(i)).powi(2)).sum::<f64>() / d as f64
        };
        let values: Vec<f64> = (0..draws).map(mean_square).collect();
        // Six standard errors: a false alarm once in 5e8 seeds.
        attnlab_core::stats::mean(&values, 1.0 - 2e-9).unwrap()
    };
    let haar = moment(&|t| haar_basis(d, p, &mut streams(t).part("haar", 0)).unwrap());
    assert!(haar.covers(exact), "{haar:?} does not cover {exact}");
    let uniform = moment(&|t| {
        let mut rng = streams(t).part("uniform", 0);
        let mut entry = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let positive = Array2::<f64>::zeros((d, p)).mapv(|_| entry());
        attnlab_core::linalg::qr_q(positive.view()).unwrap()
    });
    assert!(!uniform.covers(exact), "a basis that is not Haar passes: {uniform:?}");
}

/// Haar means that V U has the law of U for any fixed rotation V. E[U_11²] = 1/d holds for any rotation of rows;
/// E[U_11] = 0 fails without the sign of R fixed, because LAPACK-style QR makes the first row of Q lean to one sign.
#[test]
fn haar_is_invariant_in_sign_and_direction() {
    let (d, draws) = (5, 6000);
    let direction = [0.6, 0.0, -0.48, 0.0, 0.64];
    let along = |f: &dyn Fn(f64) -> f64| {
        let values: Vec<f64> = (0..draws)
            .map(|t| {
                let u = haar_basis(d, 2, &mut streams(t).part("haar", 1)).unwrap();
                f((0..d).map(|i| direction[i] * u[[i, 1]]).sum())
            })
            .collect();
        attnlab_core::stats::mean(&values, 1.0 - 2e-9).unwrap()
    };
    assert!(along(&|x| x).covers(0.0));
    assert!(along(&|x| x * x).covers(1.0 / d as f64));
    // Fourth moment of a coordinate of a uniform point on the sphere: 3 / (d (d + 2)).
    assert!(along(&|x| x.powi(4)).covers(3.0 / (d * (d + 2)) as f64));
}

#[test]
fn coherence_is_what_was_asked_for() {
    let bases = coherent_bases(40, 5, 3, 0.3, &mut streams(0).part("bases", 0)).unwrap();
    for k in 0..3 {
        for l in 0..3 {
            let gram = product(bases[k].t(), bases[l].view());
            let wanted = Array2::<f64>::eye(5) * if k == l { 1.0 } else { 0.3 };
            assert!((gram - wanted).iter().all(|x| x.abs() < 1e-13));
        }
    }
    let none = coherent_bases(40, 5, 3, 0.0, &mut streams(0).part("bases", 0)).unwrap();
    assert!(orthonormality_defect(&none) < 1e-13);
}

#[test]
fn unequal_clusters_have_their_own_sizes_and_scales() {
    let mixture =
        Mixture { counts: vec![3000, 500, 1], dims: vec![2, 7, 4], ambient: 20, delta: 0.1, bases: Bases::Orthonormal };
    let draw = mixture.draw(&streams(3)).unwrap();
    assert_eq!(draw.tokens.dim(), (20, 3501));
    assert_eq!(draw.labels.iter().filter(|l| **l == 1).count(), 500);
    assert!(orthonormality_defect(&draw.bases) < 1e-13);
    for k in 0..3 {
        let y = mixture.head::<f64>(k, &streams(3));
        let back = product(draw.bases[k].t(), draw.tokens.view());
        assert!((&y - &back).iter().all(|x| x.abs() < 1e-12), "head {k} is not U_k' Z");
        for (s, e) in energy_by_cluster(y.view(), &draw.labels, 3).iter().enumerate() {
            let freedom = (mixture.dims[k] * mixture.counts[s]) as f64;
            let scale = if s == k { 1.0 } else { 0.01 };
            // A chi-squared mean has relative spread sqrt(2 / freedom): eight of them, and no less
            // than what four degrees of freedom need.
            let ratio = e / (scale * freedom);
            assert!((ratio - 1.0).abs() < 8.0 * (2.0 / freedom).sqrt(), "{k} {s} {ratio}");
        }
    }
}

#[test]
fn snr_from_heads_equals_snr_from_tokens() {
    let mixture = Mixture::balanced(90, 3, 5, 0.3).unwrap();
    let draw = mixture.draw(&streams(4)).unwrap();
    let ambient = snr(draw.tokens.view(), &draw.bases, &draw.labels);
    let energy: Vec<_> =
        (0..3).map(|k| energy_by_cluster(mixture.head::<f64>(k, &streams(4)).view(), &draw.labels, 3)).collect();
    for (a, b) in ambient.iter().zip(snr_of_heads(&energy)) {
        assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
    }
    // SNR_0 = 1 / (delta sqrt(K - 1)) up to the spread of the norms.
    let predicted = 1.0 / (0.3 * 2.0_f64.sqrt());
    assert!(ambient.iter().all(|x| (x / predicted - 1.0).abs() < 0.25), "{ambient:?}");
}

#[test]
fn a_draw_does_not_depend_on_threads_and_f32_is_its_rounding() {
    let mixture = Mixture::balanced(1000, 2, 6, 0.2).unwrap();
    let with = |threads| crate::on_threads(threads, || mixture.draw(&streams(5)).unwrap().tokens);
    assert_eq!(with(1), with(3));
    let (double, single) = (mixture.head::<f64>(0, &streams(5)), mixture.head::<f32>(0, &streams(5)));
    assert_eq!(double.mapv(|x| x as f32), single);
}

#[test]
fn zero_noise_and_bad_parameters() {
    let clean = Mixture::balanced(20, 2, 3, 0.0).unwrap().draw(&streams(6)).unwrap();
    let top = product(clean.bases[1].t(), clean.tokens.slice(s![.., ..10]));
    assert!(top.iter().all(|x| x.abs() < 1e-13));
    let message = |m: attnlab_core::Result<Mixture>| m.unwrap_err().to_string();
    assert_eq!(message(Mixture::balanced(21, 2, 3, 0.1)), "tokens = 21: must be a positive multiple of clusters = 2");
    assert_eq!(message(Mixture::balanced(20, 2, 3, -0.1)), "delta = -0.1: must be a finite number >= 0");
    assert_eq!(message(Mixture::balanced(20, 2, 3, f64::NAN)), "delta = NaN: must be a finite number >= 0");
    assert_eq!(message(Mixture::balanced(20, 2, 0, 0.1)), "dim = 0: must be a whole number >= 1");
    let mut small = Mixture::balanced(20, 2, 3, 0.1).unwrap();
    small.ambient = 5;
    assert_eq!(
        small.draw(&streams(0)).unwrap_err().to_string(),
        "ambient = 5: must be at least 6; these bases need that many dimensions"
    );
}

/// Decompositions are independent of the number of threads, at shapes at which an engine splits its work by default.
#[test]
fn bases_do_not_depend_on_threads() {
    for (ambient, dim) in [(90, 30), (400, 30), (700, 64)] {
        let mixture = Mixture { ambient, bases: Bases::Independent, ..Mixture::balanced(20, 2, dim, 0.1).unwrap() };
        let with = |threads| {
            crate::on_threads(threads, || {
                let bases = mixture.draw_bases(&Streams::new(3, "tests.sampling", 0, 0)).unwrap();
                let values = attnlab_core::linalg::singular_values(bases[0].view()).unwrap();
                (bases, values)
            })
        };
        assert_eq!(with(1), with(2), "{ambient} {dim}");
    }
}
