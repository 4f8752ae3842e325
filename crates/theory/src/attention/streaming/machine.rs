//! Machines that run a pass over the scores: the CPU, or a GPU through `attnlab-gpu`.

use super::horizon::{horizon_of_head, ticks};
use super::layer::Streamed;
use crate::attention::Mssa;
use crate::attention::horizon::HeadHorizon;
use attnlab_core::error::Result;
use ndarray::ArrayView2;
use std::ops::Range;

/// A machine that runs the streaming passes of one head in f32. An implementation must not let rounding decide: every
/// decision within the error bounds must be repeated from scores in f64, so that all machines give the same answer.
pub trait Machine: Sync {
    /// Returns the name of the machine for people and rows.
    fn name(&self) -> String;

    /// Computes Y φ(Mask(Yᵀ P(Y))) (p, N) from the coefficients Y (p, N) of one head, as
    /// [`Mssa::stream_head`] defines it.
    ///
    /// # Errors
    /// If a parameter of φ is out of range, the machine has no pass for φ, or it fails.
    fn stream_head(&self, layer: &Mssa, y: ArrayView2<f32>) -> Result<Streamed<f32>>;

    /// Computes the first break of every column of one head, as
    /// [`horizon_of_head`](super::horizon::horizon_of_head) defines it. The method must call `tick`
    /// [`ticks`](Self::ticks)`(p, N)` times.
    ///
    /// # Errors
    /// As [`horizon_of_head`](super::horizon::horizon_of_head), or if the machine fails.
    fn horizon_of_head(
        &self,
        y: ArrayView2<f32>,
        own: Range<usize>,
        tau: f64,
        tick: &(dyn Fn() + Sync),
    ) -> Result<HeadHorizon>;

    /// Returns the number of ticks of [`horizon_of_head`](Self::horizon_of_head) for coefficients (`dim`, `tokens`).
    fn ticks(&self, dim: usize, tokens: usize) -> u64;
}

/// The CPU of this computer, all cores.
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
