//! Machines that run a pass over the scores: this one, or one that `attnlab-gpu` drives.

use super::horizon::{horizon_of_head, ticks};
use super::layer::Streamed;
use crate::attention::Mssa;
use crate::attention::horizon::HeadHorizon;
use attnlab_core::error::Result;
use ndarray::ArrayView2;
use std::ops::Range;

/// A machine that runs the streaming passes of one head in f32 and leaves no decision to its
/// rounding: whatever lies within the error bounds is decided again from scores in f64, so that
/// every machine gives the same answer.
pub trait Machine: Sync {
    /// Its name for people and rows.
    fn name(&self) -> String;

    /// Y φ(Mask(Yᵀ P(Y))) of one head's coefficients (p, N), as
    /// [`Mssa::stream_head`] defines it.
    ///
    /// # Errors
    /// When a parameter of φ is out of range, or the machine has no pass for φ or fails.
    fn stream_head(&self, layer: &Mssa, y: ArrayView2<f32>) -> Result<Streamed<f32>>;

    /// The first break of every column of one head, as
    /// [`horizon_of_head`](super::horizon::horizon_of_head) defines it. `tick` is called
    /// [`ticks`](Self::ticks)`(p, N)` times.
    ///
    /// # Errors
    /// As [`horizon_of_head`](super::horizon::horizon_of_head), or when the machine fails.
    fn horizon_of_head(
        &self,
        y: ArrayView2<f32>,
        own: Range<usize>,
        tau: f64,
        tick: &(dyn Fn() + Sync),
    ) -> Result<HeadHorizon>;

    /// Number of ticks of [`horizon_of_head`](Self::horizon_of_head) for coefficients (`dim`, `tokens`).
    fn ticks(&self, dim: usize, tokens: usize) -> u64;
}

/// This machine's cores.
///
/// ```
/// use attnlab_theory::attention::streaming::{Cpu, Machine};
/// use attnlab_theory::attention::{Mssa, Softmax};
/// let y = ndarray::array![[1.0_f32]];
/// let layer = Mssa::new(Softmax, 0.5); // one token attends to itself
/// assert_eq!(Cpu.stream_head(&layer, y.view())?.output, y);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Cpu;

impl Machine for Cpu {
    fn name(&self) -> String {
        "cpu".into()
    }

    fn stream_head(&self, layer: &Mssa, y: ArrayView2<f32>) -> Result<Streamed<f32>> {
        layer.stream_head(y)
    }

    fn horizon_of_head(
        &self,
        y: ArrayView2<f32>,
        own: Range<usize>,
        tau: f64,
        tick: &(dyn Fn() + Sync),
    ) -> Result<HeadHorizon> {
        horizon_of_head(y, own, tau, tick)
    }

    fn ticks(&self, _dim: usize, tokens: usize) -> u64 {
        ticks(tokens)
    }
}
