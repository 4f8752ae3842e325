//! Products, QR, SVD, eigenvalues and Haar bases behind one face.
//!
//! The engine is faer, pure Rust; the feature `lapack` replaces it by BLAS/LAPACK through
//! `ndarray-linalg`. Data are `ndarray` arrays throughout: the engine works on views of their
//! memory and copies nothing.

#[cfg(any(not(feature = "lapack"), test))]
mod faer_engine;
mod haar;
#[cfg(feature = "lapack")]
mod lapack_engine;
mod scalar;

// Both engines have the same four functions; the feature `lapack` uses the second, and its tests
// hold the two against each other.
#[cfg(not(feature = "lapack"))]
use faer_engine as engine;
#[cfg(feature = "lapack")]
use lapack_engine as engine;

pub use engine::{ENGINE, gemm, qr_q, singular_values, symmetric_eigen};
pub use haar::{
    coherent_bases, haar_basis, normal_matrix, orthonormal_bases, orthonormality_defect,
};
pub use scalar::Real;

use ndarray::{Array2, ArrayView2, ShapeBuilder};

/// How many threads a product may use. Results never depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// The calling thread alone: for work that is parallel one level up.
    One,
    /// Every thread of the current rayon pool.
    All,
}

/// `A B` as a new column-major array.
///
/// ```
/// use attnlab_core::linalg::product;
/// use ndarray::array;
/// let a = array![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!(product(a.view(), a.view()), array![[7.0, 10.0], [15.0, 22.0]]);
/// ```
pub fn product<T: Real>(a: ArrayView2<T>, b: ArrayView2<T>) -> Array2<T> {
    let mut c = Array2::zeros((a.nrows(), b.ncols()).f());
    gemm(T::one(), a, b, false, c.view_mut(), Threads::All);
    c
}

/// Squared Frobenius norm, summed in f64 in memory order of the logical rows.
pub fn frobenius2<T: Real>(a: ArrayView2<T>) -> f64 {
    a.iter().map(|x| x.as_f64().powi(2)).sum()
}
