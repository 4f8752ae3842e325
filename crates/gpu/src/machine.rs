//! Implementation of [`Machine`] for [`Gpu`].
//!
//! ```no_run
//! use attnlab_gpu::{Gpu, Options};
//! use attnlab_theory::attention::streaming::Machine;
//! use attnlab_theory::attention::{Mssa, Softmax};
//! let gpu = Gpu::open(&Options::default())?;
//! let y = ndarray::Array2::<f32>::ones((64, 5000));
//! let layer = Mssa::new(Softmax, 0.5);
//! println!("{} on {}", gpu.stream_head(&layer, y.view())?.output[[0, 0]], gpu.name());
//! # Ok::<(), attnlab_core::Error>(())
//! ```

use super::blocks::Plan;
use super::device::Gpu;
use super::layer::Head;
use attnlab_core::error::Result;
use attnlab_theory::attention::Mssa;
use attnlab_theory::attention::horizon::HeadHorizon;
use attnlab_theory::attention::streaming::horizon::horizon_with;
use attnlab_theory::attention::streaming::{Machine, Streamed};
use ndarray::ArrayView2;
use std::ops::Range;

impl Machine for Gpu {
    fn name(&self) -> String {
        self.report().name.clone()
    }

    fn stream_head(&self, layer: &Mssa, y: ArrayView2<f32>) -> Result<Streamed<f32>> {
        Head::new(self, y)?.attend(layer)?.download()
    }

    fn horizon_of_head(
        &self,
        y: ArrayView2<f32>,
        own: Range<usize>,
        tau: f64,
        tick: &(dyn Fn() + Sync),
    ) -> Result<HeadHorizon> {
        let ticks = self.ticks(y.nrows(), y.ncols());
        let small = || (0..ticks).for_each(|_| tick());
        horizon_with(y, own, tau, small, |pass, again| match again {
            false => super::horizon::pass(self, pass, self.unit_of_horizons(), tick),
            // The repeated pass does not count ticks again.
            true => super::horizon::pass(self, pass, None, &|| {}),
        })
    }

    fn ticks(&self, dim: usize, tokens: usize) -> u64 {
        Plan::new(self, dim, tokens).map_or(0, |plan| plan.pairs())
    }
}
