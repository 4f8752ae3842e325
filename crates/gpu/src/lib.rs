//! Streaming passes on a GPU through wgpu and WGSL. They run on the GPUs of any vendor, and in tests on
//! Mesa's software Vulkan.
//!
//! [`backend`] chooses the machine and is part of every build. The other modules need the feature `wgpu`.
//!
//! `Gpu` is a [`Machine`](attnlab_theory::attention::streaming::Machine): it runs the MSSA layer for
//! every φ that has kernels and the pass of the depth horizon, in f32 and O(Np) memory. No decision
//! depends on its rounding: columns whose decision lies within the a-priori error bound are decided again
//! on the CPU, by the same code as for CPU passes, so that first breaks and kept entries equal those of
//! the CPU.
//!
//! Tokens are stored in GPU memory in blocks of 128, in as many buffers as its binding limit requires
//! (`blocks`). Scores are computed in squares of up to 16 x 16 blocks, each pair of squares once: S = YᵀY
//! is symmetric, so a product also writes its mirror image, and both sides of a square are processed by
//! the same kernels (`product`, `columns.wgsl`, `horizon.wgsl`). A square fits into the cache of a large
//! GPU, and no dispatch is long enough for a driver's watchdog (`work`). The order of all sums follows
//! from N, p and the binding limit, so two runs give the same bits.
//!
//! Passes that end in decisions compute their scores on matrix units where the adapter has them, with
//! operands in half precision and a bound of their own (`units`).
//!
//! *Rounding.* Vulkan and WGSL do not specify whether an addition or product rounds to nearest or towards
//! zero, nor whether they are fused, so the bounds assume a full `UNIT` for each instead of half of one.

pub mod backend;

#[cfg(feature = "wgpu")]
mod blocks;
#[cfg(feature = "wgpu")]
mod columns;
#[cfg(feature = "wgpu")]
mod device;
#[cfg(feature = "wgpu")]
mod horizon;
#[cfg(feature = "wgpu")]
mod layer;
#[cfg(feature = "wgpu")]
mod machine;
#[cfg(feature = "wgpu")]
mod product;
#[cfg(feature = "wgpu")]
mod units;
#[cfg(feature = "wgpu")]
mod work;

#[cfg(feature = "wgpu")]
pub use device::{AdapterReport, Gpu, Options, Precision, adapters};
#[cfg(feature = "wgpu")]
pub use layer::{Attended, Head};

/// Relative error of one operation: a full unit in the last place, see the documentation of the crate.
#[cfg(feature = "wgpu")]
pub const UNIT: f64 = f32::EPSILON as f64;
