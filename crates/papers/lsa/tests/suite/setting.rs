//! Random covariances and weights that the tests share.

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

/// Normal weights of this standard deviation.
pub fn weights(d: usize, scale: f64, seed: u64) -> LsaWeights {
    let flat = normal_matrix(1, LsaWeights::len_of(d), &mut streams(seed).part("weights", 0)) * scale;
    LsaWeights::of_slice(d, &flat.into_raw_vec_and_offset().0)
}
