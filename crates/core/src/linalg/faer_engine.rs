//! The default engine: faer, in pure Rust, on the memory of ndarray arrays. Its functions are documented in [`super`].

use super::{Real, Threads, upper_halves};
use crate::error::{Error, Result, require_shape};
use faer::traits::RealField;
use faer::{Accum, MatMut, MatRef, Par};
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, ShapeBuilder};

/// Restricts decompositions to one thread. By default faer uses all threads, and its results then depend
/// on their number (a QR of 400 x 30 differs in the last bits between one thread and two). Products
/// receive their number of threads with every call, and their results do not depend on it.
fn on_one_thread() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| faer::set_global_parallelism(Par::Seq));
}

/// The types of this engine.
pub trait Field: Real + RealField {}
impl Field for f32 {}
impl Field for f64 {}

/// Name of the engine, for `doctor` and reports.
#[cfg_attr(feature = "lapack", allow(dead_code))]
pub const ENGINE: &str = "faer";

#[allow(unsafe_code)]
fn view<'a, T>(a: &'a ArrayView2<'_, T>) -> MatRef<'a, T> {
    let strides = a.strides();
    // SAFETY: pointer, shape and strides come from one live ndarray view, whose elements all lie in
    // memory that the borrow `'a` keeps alive and unmutated; faer takes strides in elements, signed,
    // as ndarray gives them. Tested on transposed, sliced and reversed views.
    unsafe { MatRef::from_raw_parts(a.as_ptr(), a.nrows(), a.ncols(), strides[0], strides[1]) }
}

#[allow(unsafe_code)]
fn view_mut<'a, T>(a: &'a mut ArrayViewMut2<'_, T>) -> MatMut<'a, T> {
    let (rows, cols) = a.dim();
    let (row_stride, col_stride) = (a.strides()[0], a.strides()[1]);
    // SAFETY: as in `view`; the view is borrowed mutably for `'a`, so no other reference reaches
    // its elements, and ndarray's mutable views never alias themselves.
    unsafe { MatMut::from_raw_parts_mut(a.as_mut_ptr(), rows, cols, row_stride, col_stride) }
}

fn owned<T: Field>(m: MatRef<'_, T>) -> Array2<T> {
    Array2::from_shape_fn((m.nrows(), m.ncols()).f(), |place| m[place])
}

pub fn gemm<T: Field>(
    alpha: T,
    a: ArrayView2<T>,
    b: ArrayView2<T>,
    accumulate: bool,
    mut c: ArrayViewMut2<T>,
    threads: Threads,
) {
    let accumulate = if accumulate { Accum::Add } else { Accum::Replace };
    let mut on = |par| faer::linalg::matmul::matmul(view_mut(&mut c), accumulate, view(&a), view(&b), alpha, par);
    #[cfg(not(target_family = "wasm"))]
    if threads == Threads::All && a.len().saturating_mul(b.ncols()) >= SHARED {
        on(Par::rayon(0));
        return upper_halves::clear_everywhere();
    }
    on(Par::Seq);
    upper_halves::clear();
}

/// Least number of multiplications of a product that several threads compute: fewer take less than .1 ms, and their
/// threads as much.
#[cfg(not(target_family = "wasm"))]
const SHARED: usize = 1 << 20;

pub fn qr_q<T: Field>(a: ArrayView2<T>) -> Result<Array2<T>> {
    require_shape(a.ncols() <= a.nrows(), "matrix", a.dim(), "at least as many rows as columns")?;
    on_one_thread();
    let qr = view(&a).qr();
    let r = qr.thin_R();
    let mut q = owned(qr.compute_thin_Q().as_ref());
    upper_halves::clear();
    for (j, mut column) in q.columns_mut().into_iter().enumerate() {
        let diagonal = r[(j, j)];
        if diagonal == T::zero() {
            return Err(Error::undefined(format!("column {j} depends on the columns before it")));
        }
        if diagonal < T::zero() {
            column.mapv_inplace(|x| -x);
        }
    }
    Ok(q)
}

pub fn singular_values<T: Field>(a: ArrayView2<T>) -> Result<Array1<T>> {
    on_one_thread();
    let values = view(&a).singular_values();
    upper_halves::clear();
    let values = values.map_err(|_| Error::not_converged("the singular value decomposition did not converge"))?;
    Ok(values.into())
}

pub fn symmetric_eigen<T: Field>(a: ArrayView2<T>) -> Result<(Array1<T>, Array2<T>)> {
    on_one_thread();
    require_shape(a.nrows() == a.ncols(), "matrix", a.dim(), "as many rows as columns")?;
    let eigen = view(&a).self_adjoint_eigen(faer::Side::Lower);
    upper_halves::clear();
    let eigen = eigen.map_err(|_| Error::not_converged("the eigenvalue decomposition did not converge"))?;
    let values = (0..a.nrows()).map(|i| eigen.S()[i]).collect();
    Ok((values, owned(eigen.U())))
}

#[cfg(test)]
mod tests {
    use super::super::normal_matrix;
    use super::*;
    use crate::rng::Streams;
    use ndarray::{array, s};

    /// The raw-parts views must follow any strides: transposed, sliced with steps, reversed.
    #[test]
    fn views_follow_any_strides() {
        let a = Array2::from_shape_fn((6, 8), |(i, j)| (10 * i + j) as f64);
        let b = Array2::from_shape_fn((8, 6).f(), |(i, j)| (i as f64) - 2.0 * (j as f64));
        let views = [a.view(), a.slice(s![..;2, 1..7]), a.slice(s![..;-1, ..;-2]), b.t()];
        for left in &views {
            let right = left.t();
            let mut c = Array2::zeros((left.nrows(), left.nrows()));
            gemm(1.0, left.view(), right, false, c.view_mut(), Threads::One);
            assert_eq!(c, left.dot(&right));
            // A strided, reversed destination too.
            let mut wide = Array2::zeros((2 * left.nrows(), left.nrows()));
            gemm(2.0, left.view(), right, false, wide.slice_mut(s![..;-2, ..]), Threads::All);
            let mut expected = left.dot(&right) * 2.0;
            expected.invert_axis(ndarray::Axis(0));
            assert_eq!(wide.slice(s![1..;2, ..]), expected);
        }
    }

    /// Products of few multiplications take one thread whatever is allowed, so that here the engine itself is asked too.
    #[test]
    fn bits_do_not_depend_on_the_number_of_threads() {
        fn same<T: Field>(m: usize, k: usize, n: usize) {
            let mut rng = Streams::new(1, "threads", 0, (m * k * n) as u64).part("factors", 0);
            let [a, b] = [m, n].map(|columns| normal_matrix(k, columns, &mut rng).mapv(T::of_f64));
            let [mut one, mut all, mut four] = [(); 3].map(|()| Array2::<T>::zeros((m, n).f()));
            gemm(T::one(), a.t(), b.view(), false, one.view_mut(), Threads::One);
            gemm(T::one(), a.t(), b.view(), false, all.view_mut(), Threads::All);
            let (left, right, mut into) = (a.t(), b.view(), four.view_mut());
            let into = view_mut(&mut into);
            faer::linalg::matmul::matmul(into, Accum::Replace, view(&left), view(&right), T::one(), Par::rayon(4));
            assert!(one == all && one == four, "{m} {k} {n}");
        }
        for (m, k, n) in [(32, 32, 350), (200, 32, 350), (33, 901, 5), (1, 300, 300), (130, 700, 131), (600, 40, 600)] {
            same::<f32>(m, k, n);
            same::<f64>(m, k, n);
        }
    }

    #[test]
    fn empty_products_are_zero_or_nothing() {
        let (a, b) = (Array2::<f64>::zeros((3, 0)), Array2::<f64>::zeros((0, 2)));
        let mut c = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
        gemm(1.0, a.view(), b.view(), false, c.view_mut(), Threads::One);
        assert_eq!(c, Array2::<f64>::zeros((3, 2)));
    }

    #[test]
    fn rank_deficient_columns_are_refused() {
        let a = array![[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]];
        assert!(qr_q(a.view()).is_err());
        assert!(qr_q(a.t()).is_err());
    }
}
