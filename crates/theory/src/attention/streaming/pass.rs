//! Passes of nonlinearities over tiles, in either precision.

use super::exp::Exp;
use super::layer::Streamed;
use super::problem::Problem;

/// A nonlinearity that is computed over tiles of scores, in O(Np) memory.
///
/// The pass must agree with the plain definition: up to rounding for a continuous φ, and exactly in its
/// decisions for one with decisions. Decisions within the error bounds ([`Problem::score_error`],
/// [`Problem::sum_error`]) must therefore be repeated from scores in f64 ([`Problem::redecide`]).
///
/// ```
/// use attnlab_theory::attention::streaming::{Exp, Problem, Streamed, Streaming, TileRule, Tiled};
/// use attnlab_theory::attention::{Mssa, Nonlinearity};
/// use ndarray::{ArrayViewMut2, array};
/// use std::ops::Range;
///
/// /// φ(x) = max(x, 0)².
/// #[derive(Debug)]
/// struct SquaredRelu;
///
/// impl Nonlinearity for SquaredRelu {
///     fn name(&self) -> &str {
///         "squared-relu"
///     }
///     fn apply(&self, column: &mut [f64]) {
///         column.iter_mut().for_each(|x| *x = x.max(0.0).powi(2));
///     }
///     fn streaming(&self) -> Option<&dyn Streaming> {
///         Some(self)
///     }
/// }
///
/// impl Tiled for SquaredRelu {
///     fn attend<T: Exp>(&self, head: &Problem<T>) -> Streamed<T> {
///         let mut output = head.zeros();
///         head.sweep(&Squares(head), &mut output);
///         Streamed::smooth(output)
///     }
/// }
///
/// struct Squares<'p, 'a, T: Exp>(&'p Problem<'a, T>);
///
/// impl<T: Exp> TileRule<T> for Squares<'_, '_, T> {
///     type State = ();
///     type Report = ();
///     fn start(&self, _queries: Range<usize>) {}
///     fn absorb(&self, _: &mut (), keys: Range<usize>, scores: &mut [T], out: ArrayViewMut2<T>) {
///         for s in scores.iter_mut() {
///             *s = if *s > T::zero() { *s * *s } else { T::zero() };
///         }
///         self.0.accumulate(keys, scores, out);
///     }
///     fn finish(&self, _: (), _out: ArrayViewMut2<T>) {}
/// }
///
/// let y = array![[1.0, -2.0]];
/// // Scores 1, -2 and -2, 4: the second token attends to itself with weight 16.
/// assert_eq!(Mssa::new(SquaredRelu, 1.0).stream_head(y.view())?.output, array![[1.0, -32.0]]);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub trait Tiled: Sync {
    /// Computes V φ(Mask(S)) (v, N) of one head.
    fn attend<T: Exp>(&self, head: &Problem<T>) -> Streamed<T>;
}

/// Object-safe form of [`Tiled`], implemented by every [`Tiled`] type.
pub trait Streaming: Sync {
    /// Calls [`Tiled::attend`] in f32.
    fn attend_f32(&self, head: &Problem<f32>) -> Streamed<f32>;

    /// Calls [`Tiled::attend`] in f64.
    fn attend_f64(&self, head: &Problem<f64>) -> Streamed<f64>;
}

impl<P: Tiled> Streaming for P {
    fn attend_f32(&self, head: &Problem<f32>) -> Streamed<f32> {
        self.attend(head)
    }

    fn attend_f64(&self, head: &Problem<f64>) -> Streamed<f64> {
        self.attend(head)
    }
}
