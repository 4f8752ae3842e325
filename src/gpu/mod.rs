//! The streaming passes on a GPU, through wgpu and WGSL: any vendor's card, and Mesa's software Vulkan
//! in tests. Feature `gpu`.
//!
//! [`Gpu`] is a [`Machine`]: it runs the MSSA layer for every φ and the pass of the depth horizon
//! in f32, in O(Np) memory, and leaves no decision to its rounding. Columns whose decision lies
//! within the a-priori error bound are decided again on the CPU, by the same code that decides them
//! there, so that first breaks and kept entries are those of the CPU.
//!
//! Tokens lie on the card in blocks of 128, in as many buffers as its binding limit asks for
//! (`blocks`). Scores are computed in squares of up to 16 x 16 blocks, each pair of squares once:
//! S = YᵀY is symmetric, so a product also writes its mirror image, and both sides of a square go
//! through the same kernels (`product`, `columns.wgsl`, `horizon.wgsl`). A square is small enough to
//! stay in a large card's cache, and no dispatch is long enough for a driver's watchdog (`work`).
//! The order of all sums follows from N and p and the binding limit, so two runs give the same bits.
//!
//! Passes that end in decisions compute their scores on matrix units where the adapter has them, with
//! operands in half precision and a bound of their own (`units`).
//!
//! *Rounding.* Vulkan and WGSL leave open whether an addition or product rounds to nearest or towards
//! zero, and whether they are fused, so each is charged a full [`UNIT`] instead of half of one.
//!
//! ```no_run
//! use attnlab::attention::{Mssa, Phi, streaming::Machine};
//! use attnlab::gpu::{Gpu, Options};
//! let gpu = Gpu::open(&Options::default())?;
//! let y = ndarray::Array2::<f32>::ones((64, 5000));
//! let layer = Mssa::new(Phi::Softmax, 0.5);
//! println!("{} on {}", gpu.stream_head(&layer, y.view())?.output[[0, 0]], gpu.name());
//! # Ok::<(), attnlab::Error>(())
//! ```

mod blocks;
mod columns;
mod device;
mod horizon;
mod layer;
mod product;
mod units;
mod work;

pub use device::{AdapterReport, Gpu, Options, Precision, adapters};
pub use layer::{Attended, Head};

use crate::attention::Mssa;
use crate::attention::horizon::HeadHorizon;
use crate::attention::streaming::horizon::horizon_with;
use crate::attention::streaming::{Machine, Streamed};
use crate::error::Result;
use blocks::Plan;
use ndarray::ArrayView2;
use std::ops::Range;

/// Relative error of one operation: a full unit in the last place, see the module's notes.
pub const UNIT: f64 = f32::EPSILON as f64;

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
            false => horizon::pass(self, pass, self.unit(), tick),
            // Counted already.
            true => horizon::pass(self, pass, None, &|| {}),
        })
    }

    fn ticks(&self, dim: usize, tokens: usize) -> u64 {
        Plan::new(self, dim, tokens).map_or(0, |plan| plan.pairs())
    }
}
