//! The two floating-point types that the kernels are written for.

use ndarray::NdFloat;

/// `f32` or `f64`.
pub trait Real: NdFloat + faer_traits_bound::Bound + Default + Sum + Send + Sync + 'static {
    /// "f32" or "f64", as rows and messages print it.
    const NAME: &'static str;
    /// The distance from 1 to the next larger number.
    const EPSILON: f64;
    /// Nearest value of this type.
    fn of_f64(x: f64) -> Self;
    /// Exact conversion.
    fn as_f64(self) -> f64;
}

use std::iter::Sum;

/// Operations that the engines ask of a scalar, kept out of the public face of [`Real`].
mod faer_traits_bound {
    #[cfg(not(feature = "lapack"))]
    pub trait Bound: faer::traits::RealField {}
    #[cfg(feature = "lapack")]
    pub trait Bound:
        faer::traits::RealField + ndarray_linalg::Scalar<Real = Self> + ndarray_linalg::Lapack
    {
    }
    impl Bound for f32 {}
    impl Bound for f64 {}
}

impl Real for f32 {
    const NAME: &'static str = "f32";
    const EPSILON: f64 = f32::EPSILON as f64;
    fn of_f64(x: f64) -> Self {
        x as f32
    }
    fn as_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    const NAME: &'static str = "f64";
    const EPSILON: f64 = f64::EPSILON;
    fn of_f64(x: f64) -> Self {
        x
    }
    fn as_f64(self) -> f64 {
        self
    }
}
