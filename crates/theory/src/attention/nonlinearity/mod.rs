//! The column-wise nonlinearities φ of AoT Eq. (4).
//!
//! A nonlinearity is a type that implements [`Nonlinearity`]: its plain definition in f64 and, optionally, its pass
//! over [tiles](super::streaming) and its [pass on a GPU](GpuPass). Each file of this module contains one nonlinearity.
//! Types of other packages work in the same way: layers accept every type that converts into a [`Phi`]. A φ that has
//! only its plain definition runs everywhere except on a GPU, in O(N) memory per column (see [`Problem::plain`]).
//!
//! ```
//! use attnlab_theory::attention::{Mssa, Nonlinearity};
//!
//! /// φ(x)_i = 1/N for every score that is not masked.
//! #[derive(Debug)]
//! struct Average;
//!
//! impl Nonlinearity for Average {
//!     fn name(&self) -> &str {
//!         "average"
//!     }
//!     fn apply(&self, column: &mut [f64]) {
//!         let share = 1.0 / column.len() as f64;
//!         column.iter_mut().for_each(|x| *x = if *x > f64::NEG_INFINITY { share } else { 0.0 });
//!     }
//! }
//!
//! let y = ndarray::array![[1.0_f32, 3.0]];
//! assert_eq!(Mssa::new(Average, 0.5).stream_head(y.view())?.output, ndarray::array![[2.0, 2.0]]);
//! # Ok::<(), attnlab_core::Error>(())
//! ```
//!
//! [`Problem::plain`]: super::streaming::Problem::plain

mod gpu;
mod phi;

pub use gpu::GpuPass;
pub use phi::{Constructor, Phi};

use super::streaming::Streaming;
use attnlab_core::error::Result;
use std::fmt::Debug;

/// A map R^N → R^N from a column of scores to the weights with which one token attends to all tokens.
///
/// Masked scores are -∞ and must get weight 0. Only the name and the plain definition are required; the
/// defaults of the other methods declare that the part is absent.
///
/// ```
/// use attnlab_theory::attention::{Nonlinearity, Softmax, ThresholdedSoftmax};
/// let mut column = [0.0, 3.0_f64.ln()];
/// Softmax.apply(&mut column);
/// assert!((column[1] - 0.75).abs() < 1e-15);
/// let mut column = [0.0, 3.0_f64.ln()];
/// ThresholdedSoftmax { tau: 0.6 }.apply(&mut column);
/// assert_eq!(column, [0.0, 0.6]);
/// ```
pub trait Nonlinearity: Debug + Send + Sync {
    /// Returns the name in messages, settings and the command line, such as "thresholded-softmax".
    fn name(&self) -> &str;

    /// Returns the parameters by name. Two nonlinearities are equal if name and parameters are equal.
    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![]
    }

    /// Checks the parameters. Layers call this method before they compute.
    ///
    /// # Errors
    /// [`Error::Invalid`](attnlab_core::error::Error::Invalid) for a parameter outside its range.
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    /// Replaces a column of scores by its weights: the plain definition, against which every other part is tested.
    fn apply(&self, column: &mut [f64]);

    /// Returns the pass over tiles of scores, in O(Np) memory; `None` if every column has to go through
    /// [`apply`](Self::apply). A type that implements [`Tiled`](super::streaming::Tiled) returns
    /// `Some(self)`, under `#[inline(never)]`: inlined, the pass would be compiled in every crate that calls it, at the
    /// optimisation level of that crate.
    fn streaming(&self) -> Option<&dyn Streaming> {
        None
    }

    /// Returns the pass on a GPU; with `None` a GPU refuses the layer.
    fn gpu(&self) -> Option<GpuPass> {
        None
    }
}

/// Declares the built-in nonlinearities: one file each, which contains the type and its `CONSTRUCTOR`.
macro_rules! nonlinearities {
    ($($module:ident :: $kind:ident),* $(,)?) => {
        $(
            mod $module;
            pub use $module::$kind;
        )*
        /// Built-in nonlinearities, in the order in which messages list them.
        const BUILT_IN: [Constructor; [$(stringify!($kind)),*].len()] =
            [$($module::CONSTRUCTOR),*];
    };
}

nonlinearities! {
    softmax::Softmax,
    hard_threshold::HardThreshold,
    thresholded_softmax::ThresholdedSoftmax,
    hardmax::Hardmax,
    linear::Linear,
    relu_normalised::ReluNormalised,
}

/// Replaces every entry of a column.
fn map(column: &mut [f64], f: impl Fn(f64) -> f64) {
    column.iter_mut().for_each(|x| *x = f(*x));
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASKED: f64 = f64::NEG_INFINITY;

    fn weights(phi: &dyn Nonlinearity, scores: &[f64]) -> Vec<f64> {
        let mut column = scores.to_vec();
        phi.apply(&mut column);
        column
    }

    #[test]
    fn weights_of_known_columns() {
        let cases: [(&dyn Nonlinearity, &[f64], &[f64]); 8] = [
            (&HardThreshold { tau: 0.8 }, &[0.5, 0.8, 3.0, MASKED, -9.0], &[0.0, 0.0, 0.8, 0.0, 0.0]),
            // Exact ties share.
            (&Hardmax, &[1.0, 4.0, MASKED, 4.0], &[0.0, 0.5, 0.0, 0.5]),
            (&Hardmax, &[-2.0, -1.0], &[0.0, 1.0]),
            (&Linear, &[1.5, MASKED, -2.0], &[1.5, 0.0, -2.0]),
            (&ReluNormalised, &[1.0, -5.0, 3.0, MASKED], &[0.25, 0.0, 0.75, 0.0]),
            (&ReluNormalised, &[-1.0, MASKED], &[0.0, 0.0]),
            (&ThresholdedSoftmax { tau: 0.2 }, &[0.0, 3.0_f64.ln(), MASKED], &[0.2, 0.2, 0.0]),
            // A weight equal to τ does not exceed it.
            (&ThresholdedSoftmax { tau: 0.5 }, &[1.0, 1.0], &[0.0, 0.0]),
        ];
        for (phi, scores, expected) in cases {
            assert_eq!(weights(phi, scores), expected, "{phi:?}");
        }
        // A logarithm, an exponential, the sum of four, a reciprocal and a product, of weights up to 1.
        const ROUNDING: f64 = 8.0 * f64::EPSILON;
        let softmax = weights(&Softmax, &[2.0_f64.ln(), MASKED, 0.0, 5.0_f64.ln()]);
        assert!(softmax.iter().zip([0.25, 0.0, 0.125, 0.625]).all(|(w, expected)| (w - expected).abs() < ROUNDING));
        assert!((weights(&Softmax, &[1e4, 1e4 + 1.0])[1] - 1.0 / (1.0 + (-1.0_f64).exp())).abs() < ROUNDING);
    }

    #[test]
    fn thresholds_have_their_ranges() {
        for tau in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert!(HardThreshold { tau }.validate().is_err());
        }
        for tau in [0.0, 1.0 + 1e-15, f64::NAN] {
            assert!(ThresholdedSoftmax { tau }.validate().is_err());
        }
        assert!(HardThreshold { tau: 7.0 }.validate().is_ok() && ThresholdedSoftmax { tau: 1.0 }.validate().is_ok());
    }
}
