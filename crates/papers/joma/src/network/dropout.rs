//! Dropout: entries set to zero at random in training.

use attnlab_core::error::{Result, require};
use attnlab_core::linalg::Real;
use attnlab_core::rng::Generator;
use ndarray::{Array2, ShapeBuilder};
use rand::Rng;

/// Dropout with its generator. Masks are drawn in the order of the computation.
pub struct Dropout {
    share: f64,
    generator: Generator,
}

impl Dropout {
    /// Creates dropout of this share of entries.
    ///
    /// # Errors
    /// When the share is outside [0, 1).
    pub fn new(share: f64, generator: Generator) -> Result<Self> {
        require((0.0..1.0).contains(&share), "dropout", share, "must be in [0, 1)")?;
        Ok(Dropout { share, generator })
    }

    /// Draws a mask: 0 with probability `share`, otherwise 1/(1 − share).
    pub fn mask<T: Real>(&mut self, shape: (usize, usize)) -> Array2<T> {
        // The probability in units of 2^-32; its rounding is far below what a training could show.
        let below = (self.share * 2_f64.powi(32)) as u32;
        let scale = T::of_f64(1.0 / (1.0 - self.share));
        let generator = &mut self.generator;
        Array2::from_shape_simple_fn(shape.f(), || if generator.next_u32() < below { T::zero() } else { scale })
    }

    /// Multiplies `x` by a mask, which it returns.
    pub fn apply<T: Real>(&mut self, x: &mut Array2<T>) -> Array2<T> {
        let mask = self.mask(x.dim());
        *x *= &mask;
        mask
    }
}
