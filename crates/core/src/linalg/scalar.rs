//! The two floating-point types of the kernels.

use ndarray::NdFloat;
use operations::Operations;
use std::iter::Sum;

/// Floating-point type of the kernels: `f32` or `f64`.
pub trait Real: NdFloat + Operations + Default + Sum + Send + Sync + 'static {
    /// Name of the type in rows and messages: "f32" or "f64".
    const NAME: &'static str;
    /// Distance from 1 to the next larger number.
    const EPSILON: f64;
    /// Rounds to the nearest value of this type.
    fn of_f64(x: f64) -> Self;
    /// Converts exactly.
    fn as_f64(self) -> f64;
}

/// Functions of the engine for each type. They are not generic, so that this crate compiles them, at its level: generic
/// functions, as all of faer's decompositions are, are compiled in the crate that calls them. Other crates cannot name them.
mod operations {
    use super::super::{Threads, engine};
    use crate::error::Result;
    use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2};

    pub trait Operations: Sized {
        fn gemm(
            alpha: Self,
            a: ArrayView2<Self>,
            b: ArrayView2<Self>,
            accumulate: bool,
            c: ArrayViewMut2<Self>,
            threads: Threads,
        );
        fn qr_q(a: ArrayView2<Self>) -> Result<Array2<Self>>;
        fn singular_values(a: ArrayView2<Self>) -> Result<Array1<Self>>;
        fn symmetric_eigen(a: ArrayView2<Self>) -> Result<(Array1<Self>, Array2<Self>)>;
    }

    macro_rules! operations {
        ($($t:ty)*) => {$(
            impl Operations for $t {
                #[inline(never)]
                fn gemm(
                    alpha: $t,
                    a: ArrayView2<$t>,
                    b: ArrayView2<$t>,
                    accumulate: bool,
                    c: ArrayViewMut2<$t>,
                    threads: Threads,
                ) {
                    engine::gemm(alpha, a, b, accumulate, c, threads);
                }
                #[inline(never)]
                fn qr_q(a: ArrayView2<$t>) -> Result<Array2<$t>> {
                    engine::qr_q(a)
                }
                #[inline(never)]
                fn singular_values(a: ArrayView2<$t>) -> Result<Array1<$t>> {
                    engine::singular_values(a)
                }
                #[inline(never)]
                fn symmetric_eigen(a: ArrayView2<$t>) -> Result<(Array1<$t>, Array2<$t>)> {
                    engine::symmetric_eigen(a)
                }
            }
        )*};
    }
    operations!(f32 f64);
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
