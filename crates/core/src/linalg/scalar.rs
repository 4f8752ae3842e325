//! The two floating-point types of the kernels.

use ndarray::NdFloat;

/// Floating-point type of the kernels: `f32` or `f64`.
pub trait Real: NdFloat + faer_traits_bound::Bound + Default + Sum + Send + Sync + 'static {
    /// Name of the type in rows and messages: "f32" or "f64".
    const NAME: &'static str;
    /// Distance from 1 to the next larger number.
    const EPSILON: f64;
    /// Rounds to the nearest value of this type.
    fn of_f64(x: f64) -> Self;
    /// Converts exactly.
    fn as_f64(self) -> f64;
}

use std::iter::Sum;

/// Operations that the engines require of a scalar, kept out of the public interface of [`Real`].
mod faer_traits_bound {
    #[cfg(not(feature = "lapack"))]
    pub trait Bound: faer::traits::RealField {}
    #[cfg(feature = "lapack")]
    pub trait Bound: faer::traits::RealField + ndarray_linalg::Scalar<Real = Self> + ndarray_linalg::Lapack {}
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
