//! Products, QR, SVD, eigenvalues and Haar bases behind one interface.
//!
//! The engine is faer, pure Rust; the feature `lapack` replaces it by BLAS/LAPACK through `ndarray-linalg`. Data are
//! `ndarray` arrays throughout: faer works on views of their memory and copies nothing.

#[cfg(any(not(feature = "lapack"), test))]
mod faer_engine;
mod haar;
#[cfg(feature = "lapack")]
mod lapack_engine;
mod scalar;
#[cfg(any(not(feature = "lapack"), test))]
mod upper_halves;

// Both engines have the same four functions, for the types of their `Field`: as bounds of `Real` its traits would be seen by
// other crates, where `sqrt` would be that of two traits. The feature `lapack` selects the second, and its tests compare the
// two.
#[cfg(not(feature = "lapack"))]
use faer_engine as engine;
#[cfg(feature = "lapack")]
use lapack_engine as engine;

pub use engine::ENGINE;
pub use haar::{coherent_bases, haar_basis, normal_matrix, orthonormal_bases, orthonormality_defect};
pub use scalar::Real;

use crate::error::Result;
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, ShapeBuilder};

/// Number of threads that a product may use. Results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// The calling thread alone, for work whose callers run in parallel.
    One,
    /// Every thread of the current rayon pool.
    All,
}

/// Computes `C <- alpha A B`, or `C <- C + alpha A B` with `accumulate`.
///
/// Shapes: A (m, k), B (k, n), C (m, n). The result does not depend on the number of threads. BLAS (feature `lapack`)
/// chooses its own number of them (OPENBLAS_NUM_THREADS), on which its result may depend.
///
/// # Panics
/// If the shapes do not fit, which is a defect of the caller rather than a wrong input.
pub fn gemm<T: Real>(
    alpha: T,
    a: ArrayView2<T>,
    b: ArrayView2<T>,
    accumulate: bool,
    c: ArrayViewMut2<T>,
    threads: Threads,
) {
    T::gemm(alpha, a, b, accumulate, c, threads);
}

/// Computes the orthonormal factor Q (n, p) of the thin QR decomposition of A (n, p), with the sign of
/// each column chosen so that R has a positive diagonal. For A of independent normals Q is then exactly
/// Haar-distributed; without that choice of sign it is not.
///
/// # Errors
/// If A has more columns than rows, or a rank below p, or, with the feature `lapack`, if LAPACK fails.
pub fn qr_q<T: Real>(a: ArrayView2<T>) -> Result<Array2<T>> {
    T::qr_q(a)
}

/// Computes the singular values of A, largest first.
///
/// # Errors
/// If A contains NaN or the iteration does not converge. With the feature `lapack`: if LAPACK reports a failure, which it
/// need not for NaN.
pub fn singular_values<T: Real>(a: ArrayView2<T>) -> Result<Array1<T>> {
    T::singular_values(a)
}

/// Computes eigenvalues (ascending) and eigenvectors (columns) of a symmetric matrix; only the lower triangle is read.
///
/// # Errors
/// If A is not square, contains NaN, or the iteration does not converge. With the feature `lapack`: if A is not square, or
/// LAPACK reports a failure, which it need not for NaN.
pub fn symmetric_eigen<T: Real>(a: ArrayView2<T>) -> Result<(Array1<T>, Array2<T>)> {
    T::symmetric_eigen(a)
}

/// Computes `A B` as a new column-major array.
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

/// Copies a matrix into column-major memory.
pub fn column_major<T: Real>(a: ArrayView2<T>) -> Array2<T> {
    let mut copy = Array2::zeros(a.raw_dim().f());
    copy.assign(&a);
    copy
}

/// Computes the squared Frobenius norm, summed in f64 in row-major order.
pub fn frobenius2<T: Real>(a: ArrayView2<T>) -> f64 {
    a.iter().map(|x| x.as_f64().powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// [[2, 1], [1, 2]] has the eigenvalues 1 and 3, whatever stands above its diagonal and however it is stored.
    #[test]
    fn the_lower_triangle_alone_is_read() {
        // Some ten roundings of numbers up to 3, each of at most 2.2e-16.
        const ROUNDING: f64 = 1e-14;
        let rows: Array2<f64> = array![[2.0, 9.0], [1.0, 2.0]];
        for a in [rows.view(), column_major(rows.view()).view()] {
            let (values, vectors) = symmetric_eigen(a).unwrap();
            assert!((values[0] - 1.0).abs() < ROUNDING && (values[1] - 3.0).abs() < ROUNDING, "{values}");
            let back = vectors.dot(&Array2::from_diag(&values)).dot(&vectors.t());
            assert!((back - array![[2.0, 1.0], [1.0, 2.0]]).iter().all(|x| x.abs() < ROUNDING), "{vectors}");
        }
    }
}
