//! The alternative engine: BLAS and LAPACK through `ndarray-linalg` (feature `lapack`). Its functions are documented
//! in [`super`].

use super::{Real, Threads, column_major};
use crate::error::{Error, Result, require_shape};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2};
use ndarray_linalg::{EighInto, Lapack, QR, SVD, Scalar, UPLO};

/// The types of this engine.
pub trait Field: Real + Scalar<Real = Self> + Lapack {}
impl Field for f32 {}
impl Field for f64 {}

/// Name of the engine, for `doctor` and reports.
pub const ENGINE: &str = "BLAS/LAPACK (ndarray-linalg)";

pub fn gemm<T: Field>(
    alpha: T,
    a: ArrayView2<T>,
    b: ArrayView2<T>,
    accumulate: bool,
    mut c: ArrayViewMut2<T>,
    _threads: Threads,
) {
    if accumulate {
        general_mat_mul(alpha, &a, &b, T::one(), &mut c);
    } else {
        // With beta = 0 alone, some BLAS would multiply memory that may hold NaN.
        c.fill(T::zero());
        general_mat_mul(alpha, &a, &b, T::zero(), &mut c);
    }
}

pub fn qr_q<T: Field>(a: ArrayView2<T>) -> Result<Array2<T>> {
    require_shape(a.ncols() <= a.nrows(), "matrix", a.dim(), "at least as many rows as columns")?;
    let (mut q, r) = a.to_owned().qr().map_err(failed)?;
    for (j, mut column) in q.columns_mut().into_iter().enumerate() {
        if r[[j, j]] == T::zero() {
            return Err(Error::undefined(format!("column {j} depends on the columns before it")));
        }
        if r[[j, j]] < T::zero() {
            column.mapv_inplace(|x| -x);
        }
    }
    Ok(q)
}

pub fn singular_values<T: Field>(a: ArrayView2<T>) -> Result<Array1<T>> {
    let (_, values, _) = a.to_owned().svd(false, false).map_err(failed)?;
    Ok(values)
}

pub fn symmetric_eigen<T: Field>(a: ArrayView2<T>) -> Result<(Array1<T>, Array2<T>)> {
    require_shape(a.nrows() == a.ncols(), "matrix", a.dim(), "as many rows as columns")?;
    // Of a matrix stored by rows LAPACK would read the upper triangle.
    column_major(a).eigh_into(UPLO::Lower).map_err(failed)
}

fn failed(error: ndarray_linalg::error::LinalgError) -> Error {
    Error::not_converged(format!("LAPACK: {error}"))
}

#[cfg(test)]
mod tests {
    use super::super::{faer_engine as faer, normal_matrix};
    use super::*;
    use crate::rng::Streams;
    use ndarray::s;

    /// Two independent stacks agree: rounding of sums of at most 40 terms of size 1, generously.
    const TOL: f64 = 1e-12;

    fn normal(d: usize, p: usize, index: u64) -> Array2<f64> {
        normal_matrix(d, p, &mut Streams::new(1, "tests.lapack", 0, 0).part("matrix", index))
    }

    fn close(a: &Array2<f64>, b: &Array2<f64>) -> bool {
        a.dim() == b.dim() && a.iter().zip(b).all(|(x, y)| (x - y).abs() < TOL)
    }

    #[test]
    fn products_agree_on_any_strides() {
        let (a, b) = (normal(40, 30, 0), normal(30, 20, 1));
        let cases = [
            (a.view(), b.view()),
            (b.t(), a.t()),
            (a.slice(s![..;2, ..]), b.slice(s![.., ..;3])),
            (a.slice(s![..;-1, ..]), b.slice(s![.., ..;-1])),
        ];
        for (left, right) in cases {
            let mut ours = Array2::from_elem((left.nrows(), right.ncols()), f64::NAN);
            let mut theirs = ours.clone();
            faer::gemm(0.5, left, right, false, ours.view_mut(), Threads::All);
            gemm(0.5, left, right, false, theirs.view_mut(), Threads::All);
            assert!(close(&ours, &theirs));
            faer::gemm(2.0, left, right, true, ours.view_mut(), Threads::One);
            gemm(2.0, left, right, true, theirs.view_mut(), Threads::One);
            assert!(close(&ours, &theirs));
        }
    }

    #[test]
    fn decompositions_agree() {
        let a = normal(40, 30, 2);
        // With a positive diagonal of R the factor Q is unique, so the engines must agree on it.
        assert!(close(&faer::qr_q(a.view()).unwrap(), &qr_q(a.view()).unwrap()));
        let (ours, theirs) = (faer::singular_values(a.view()).unwrap(), singular_values(a.view()).unwrap());
        assert!(ours.iter().zip(&theirs).all(|(x, y)| (x - y).abs() < TOL));
        let symmetric = a.t().dot(&a);
        let (values, vectors) = faer::symmetric_eigen(symmetric.view()).unwrap();
        let (lapack_values, _) = symmetric_eigen(symmetric.view()).unwrap();
        // Eigenvalues reach 130 here: the tolerance is relative to the largest.
        assert!(values.iter().zip(&lapack_values).all(|(x, y)| (x - y).abs() < 200.0 * TOL));
        let back = vectors.dot(&Array2::from_diag(&values)).dot(&vectors.t());
        assert!((back - symmetric).iter().all(|x| x.abs() < 200.0 * TOL));
    }
}
