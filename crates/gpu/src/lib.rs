//! The streaming passes on a GPU, through wgpu and WGSL: any vendor's card, and Mesa's software Vulkan
//! in tests.
//!
//! [`backend`] chooses the machine and is part of every build. The rest needs the feature `wgpu`.
//!
//! `Gpu` is a [`Machine`](attnlab_theory::attention::streaming::Machine): it runs the MSSA layer for
//! every φ that has kernels and the pass of the depth horizon in f32, in O(Np) memory, and leaves no
//! decision to its rounding. Columns whose decision lies within the a-priori error bound are decided
//! again on the CPU, by the same code that decides them there, so that first breaks and kept entries
//! are those of the CPU.
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
//! zero, and whether they are fused, so each is charged a full `UNIT` instead of half of one.

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

/// Relative error of one operation: a full unit in the last place, see the crate's notes.
#[cfg(feature = "wgpu")]
pub const UNIT: f64 = f32::EPSILON as f64;
