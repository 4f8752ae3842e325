//! Random covariances and weights that the tests share, and derivatives by differences.

use attnlab_core::linalg::{haar_basis, normal_matrix};
use attnlab_core::rng::Streams;
use attnlab_lsa::theory::{Covariance, LsaWeights};

pub fn streams(seed: u64) -> Streams {
    Streams::new(seed, "tests/lsa", 0, 0)
}

/// Λ on random axes with these eigenvalues.
pub fn covariance(values: &[f64], seed: u64) -> Covariance {
    let d = values.len();
    Covariance::with_axes(values, haar_basis(d, d, &mut streams(seed).part("axes", 0)).unwrap()).unwrap()
}

/// Derivative of a loss in weight i, by central differences with step 1e-5.
pub fn slope(loss: impl Fn(&LsaWeights) -> f64, d: usize, weights: &[f64], i: usize) -> f64 {
    let loss_at = |h: f64| {
        let mut moved = weights.to_vec();
        moved[i] += h;
        loss(&LsaWeights::of_slice(d, &moved))
    };
    (loss_at(1e-5) - loss_at(-1e-5)) / 2e-5
}

/// Normal weights of this standard deviation.
pub fn weights(d: usize, scale: f64, seed: u64) -> LsaWeights {
    let flat = normal_matrix(1, LsaWeights::len_of(d), &mut streams(seed).part("weights", 0)) * scale;
    LsaWeights::of_slice(d, &flat.into_raw_vec_and_offset().0)
}
