//! The fast depth horizon against the plain one, and both against the network itself.

use attnlab::attention::horizon::{BreakKind, HeadHorizon, plain};
use attnlab::attention::streaming::horizon::{horizon_of_head, horizon_of_mixture};
use attnlab::rng::Streams;
use attnlab::sample::{Bases, Mixture};
use ndarray::Array2;

fn streams(trial: u64) -> Streams {
    Streams::new(7, "tests.horizon", 0, trial)
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

/// The fast pass and the plain definition on the same coefficients (rounded to f32 for both).
fn both(m: &Mixture, k: usize, tau: f64, trial: u64) -> (HeadHorizon, HeadHorizon, Array2<f32>) {
    let y = m.head::<f32>(k, &streams(trial));
    let fast = horizon_of_head(y.view(), m.cluster(k), tau, || {}).unwrap();
    let slow = plain(y.mapv(f64::from).view(), m.cluster(k), tau).unwrap();
    (fast, slow, y)
}

#[test]
fn fast_agrees_with_plain_on_every_column() {
    let c = |n: usize, p: usize, f: f64| f * ((n as f64).ln() / p as f64).sqrt();
    let shapes: [(&[usize], &[usize], f64, f64); 9] = [
        (&[500, 500], &[200, 200], c(1000, 200, 0.125), 0.55),
        (&[300, 700, 301], &[40, 100, 60], c(1301, 60, 0.25), 0.7),
        (&[1000, 1], &[80, 80], c(1001, 80, 0.25), 0.55),
        (&[400, 400], &[30, 30], c(800, 30, 0.5), 0.3),
        (&[400, 400], &[300, 300], c(800, 300, 0.0625), 0.99),
        (&[600, 600], &[100, 100], c(1200, 100, 1.0), 0.55),
        (&[600, 600], &[200, 200], 0.5, 0.55),
        (&[300, 300], &[10, 12], 0.1, 0.6),
        (&[300, 333], &[50, 50], 0.0, 0.6),
    ];
    for (trial, (counts, dims, delta, tau)) in shapes.into_iter().enumerate() {
        let m = mixture(counts, dims, delta);
        for k in 0..counts.len() {
            let (fast, slow, y) = both(&m, k, tau, trial as u64);
            let at = format!("shape {trial}, head {k}");
            let (mut worst, mut open, mut width) = (0.0_f64, 0, 0.0_f64);
            for (j, (f, s)) in fast.theta.iter().zip(&slow.theta).enumerate() {
                let t = s.value;
                let slack = 1e-12 * t;
                assert!(
                    f.low <= t + slack && t <= f.high + slack,
                    "{at}, column {j}: {f:?} {t}"
                );
                let length = y.column(j).iter().map(|x| x * x).sum::<f32>().sqrt();
                if t.is_finite() && t * f64::from(length) < 9.0 {
                    worst = worst.max((f.value / t - 1.0).abs());
                    width = width.max(f.high / f.low - 1.0);
                } else if f.high != t {
                    open += 1;
                }
            }
            println!(
                "{at}: worst {worst:.1e}, widest {width:.1e}, open {open}, redecided {}, first {:?}",
                fast.redecided, fast.first
            );
            match (fast.first, slow.first) {
                (Some(f), Some(s)) => {
                    assert_eq!((f.column, f.row, f.kind), (s.column, s.row, s.kind), "{at}");
                    assert!((f.theta / s.theta - 1.0).abs() < 1e-11, "{at}: {f:?} {s:?}");
                }
                (f, s) => assert!(f.is_none() && s.is_none(), "{at}: {f:?} {s:?}"),
            }
        }
    }
}
