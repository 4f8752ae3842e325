//! φ, the column-wise nonlinearity of AoT Eq. (4), as an open unit.
//!
//! A nonlinearity is one type that implements [`Nonlinearity`]: its plain definition in f64, and where
//! there are any its pass over [tiles](super::streaming) and its [pass on a GPU](GpuPass). Each file of
//! this module holds one of them whole. A nonlinearity of another package is worth as much: layers take
//! every type that converts into a [`Phi`]. One that has its plain definition alone is computed
//! everywhere but on a GPU, in O(N) memory per column (see [`Problem::plain`]).
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

/// A map R^N → R^N on a column of scores: how one token weighs all tokens.
///
/// Masked scores arrive as -∞ and must get weight 0. Everything but the name and the plain definition
/// has a default, which says that there is no such part.
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
    /// The name in messages, settings and the command line, such as "thresholded-softmax".
    fn name(&self) -> &str;

    /// The parameters by name. Two nonlinearities are equal when name and parameters are.
    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![]
    }

    /// Refuses parameters outside their range. Layers ask before they compute.
    ///
    /// # Errors
    /// Names the parameter and its range.
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    /// Replaces a column of scores by its weights: the plain definition, to which every other part is
    /// held by tests.
    fn apply(&self, column: &mut [f64]);

    /// The pass over tiles of scores, in O(Np) memory; None sends every column through
    /// [`apply`](Self::apply). A type that implements [`Tiled`](super::streaming::Tiled) returns
    /// `Some(self)`.
    fn streaming(&self) -> Option<&dyn Streaming> {
        None
    }

    /// The pass on a GPU; None makes a GPU refuse the layer.
    fn gpu(&self) -> Option<GpuPass> {
        None
    }
}

/// Declares the built-in nonlinearities: one file each, which holds the type and its `CONSTRUCTOR`.
macro_rules! nonlinearities {
    ($($module:ident :: $kind:ident),* $(,)?) => {
        $(
            mod $module;
            pub use $module::$kind;
        )*
        /// The built-in nonlinearities, in the order in which messages list them.
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
