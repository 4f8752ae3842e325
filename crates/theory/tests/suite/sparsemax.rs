//! A nonlinearity of another package: sparsemax (Martins and Astudillo, ICML 2016), the Euclidean
//! projection of a column of scores onto the probability simplex. It has only its plain definition.

use super::streaming::largest;
use attnlab_core::Result;
use attnlab_core::linalg::{normal_matrix, orthonormal_bases};
use attnlab_core::rng::Streams;
use attnlab_theory::attention::streaming::{Cpu, Machine};
use attnlab_theory::attention::{Constructor, Mask, Mhsa, Mssa, Nonlinearity, Phi, SingleHead, Softmax, unroll};
use ndarray::{Array2, array};

/// Sparsemax: max(x_i - τ, 0) with τ such that the weights sum to 1.
#[derive(Clone, Copy, Debug)]
struct Sparsemax;

impl Nonlinearity for Sparsemax {
    fn name(&self) -> &str {
        "sparsemax"
    }

    /// Algorithm 1 of the paper: sort, find the support, subtract its threshold.
    fn apply(&self, column: &mut [f64]) {
        let mut sorted: Vec<f64> = column.iter().copied().filter(|x| x.is_finite()).collect();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let (mut sum, mut tau) = (0.0, f64::INFINITY);
        for (k, z) in sorted.iter().enumerate() {
            sum += z;
            let size = (k + 1) as f64;
            if 1.0 + size * z > sum {
                tau = (sum - 1.0) / size;
            }
        }
        column.iter_mut().for_each(|x| *x = (*x - tau).max(0.0));
    }
}

fn weights(scores: &[f64]) -> Vec<f64> {
    let mut column = scores.to_vec();
    Sparsemax.apply(&mut column);
    column
}

fn tokens(p: usize, n: usize, length: f64, seed: u64) -> Array2<f64> {
    let mut rng = Streams::new(seed, "sparsemax test", 0, 0).part("tokens", 0);
    normal_matrix(p, n, &mut rng) * (length / (p as f64).sqrt())
}

fn layers() -> [Mssa; 4] {
    let kinds = [(Mask::None, false), (Mask::None, true), (Mask::Causal, false), (Mask::Causal, true)];
    kinds.map(|(mask, normalise_queries)| Mssa { phi: Sparsemax.into(), eta: 0.5, mask, normalise_queries })
}

#[test]
fn the_plain_definition_is_the_papers() {
    // Section 2.2: in two dimensions, sparsemax_1((t, 0)) is 1 above t = 1, (t + 1)/2 on [-1, 1], else 0.
    for (t, expected) in [(2.0, 1.0), (1.0, 1.0), (0.5, 0.75), (-0.25, 0.375), (-3.0, 0.0)] {
        assert_eq!(weights(&[t, 0.0]), [expected, 1.0 - expected]);
    }
    // Proposition 2: 1/K at 0; the largest alone once it leads by 1; ties share.
    assert_eq!(weights(&[0.0; 4]), [0.25; 4]);
    assert_eq!(weights(&[3.0, 7.0, 6.0]), [0.0, 1.0, 0.0]);
    assert_eq!(weights(&[5.0, 5.0, 1.0]), [0.5, 0.5, 0.0]);
    assert_eq!(weights(&[0.5, f64::NEG_INFINITY, 0.0]), [0.75, 0.0, 0.25]);
    // The conditions of a projection p of z onto the simplex: p_i = max(z_i - τ, 0), Σ p_i = 1; and it
    // does not move with a constant added to z.
    let z = tokens(30, 1, 3.0, 1).column(0).to_vec();
    let p = weights(&z);
    assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-14);
    let on = p.iter().position(|p| *p > 0.0).unwrap();
    let tau = z[on] - p[on];
    assert!(z.iter().zip(&p).all(|(z, p)| ((z - tau).max(0.0) - p).abs() < 1e-14));
    let moved: Vec<f64> = z.iter().map(|z| z + 7.0).collect();
    assert!(weights(&moved).iter().zip(&p).all(|(a, b)| (a - b).abs() < 1e-14));
}

/// Every column goes through the plain definition: equal to rounding, in f32 too.
#[test]
fn layers_stream_it_column_by_column() {
    let z = tokens(14, 180, 2.0, 2);
    let mut rng = Streams::new(3, "sparsemax test", 0, 0).part("bases", 0);
    let bases = orthonormal_bases(14, &[4, 5], &mut rng).unwrap();
    for layer in layers() {
        let plain = layer.apply(z.view(), &bases).unwrap();
        let fast = layer.stream(z.view(), &bases).unwrap();
        assert_eq!(fast.redecided, 0);
        assert!(largest(&(&fast.output - &plain)) < 1e-13 * largest(&plain), "{layer:?}");
        let narrow: Vec<_> = bases.iter().map(|u| u.mapv(|x| x as f32)).collect();
        let single = layer.stream_on(&Cpu, z.mapv(|x| x as f32).view(), &narrow).unwrap();
        // A weight moves with its score, which errs by some roundings of 14 terms of size 4.
        let gap = largest(&(&single.output.mapv(f64::from) - &plain));
        assert!(gap < 1e-4 * largest(&plain), "{layer:?}: {gap}");
    }
    let separate = Mhsa { scale: 0.5, mask: Mask::Causal, ..Mhsa::tied(&bases, Sparsemax, 0.5).unwrap() };
    let plain = separate.apply(z.view()).unwrap();
    assert!(largest(&(&separate.stream(z.view()).unwrap().output - &plain)) < 1e-13 * largest(&plain));
}

#[test]
fn a_network_and_a_single_head_take_it() {
    let z = tokens(9, 40, 2.0, 4);
    let bases = vec![tokens(9, 4, 0.9, 5), tokens(9, 3, 0.9, 6)];
    let layer = Mssa::new(Sparsemax, 0.3);
    let mut depths = vec![];
    let last = unroll(z.view(), &layer, 3, |_| &bases, |l, _| depths.push(l)).unwrap();
    assert_eq!(depths, [0, 1, 2, 3]);
    let mut by_hand = z.clone();
    for _ in 0..3 {
        by_hand = layer.stream(by_hand.view(), &bases).unwrap().output;
    }
    assert!(largest(&(&last - &by_hand)) < 1e-12 * largest(&last));
    // E^T E / 2 has the columns (2, 1) and (1, 1/2), with weights (1, 0) and (3/4, 1/4).
    let head = SingleHead { w_pv: Array2::eye(1), w_kq: Array2::eye(1), phi: Sparsemax.into(), rho: 2.0 };
    assert_eq!(head.apply(array![[2.0, 1.0]].view()).unwrap(), array![[4.0, 2.75]]);
}

#[test]
fn threads_do_not_change_it() {
    let y = tokens(8, 250, 3.0, 7).mapv(|x| x as f32);
    let run = |threads| crate::on_threads(threads, || Cpu.stream_head(&layers()[0], y.view()).unwrap());
    assert!(run(1) == run(2) && run(1) == run(3));
}

#[test]
fn a_list_of_names_can_hold_it() -> Result<()> {
    let sparsemax = Constructor { name: "sparsemax", with_tau: |_| Sparsemax.into() };
    let constructors: Vec<_> = Phi::builtin().iter().copied().chain([sparsemax]).collect();
    assert_eq!(Phi::parse_among(&constructors, "sparsemax", 0.5)?, Sparsemax.into());
    assert_eq!(Phi::parse_among(&constructors, "softmax", 0.5)?, Softmax.into());
    let text = Phi::parse("sparsemax", 0.5).unwrap_err().to_string();
    assert!(text.starts_with("unknown phi 'sparsemax'"), "{text}");
    Ok(())
}
