//! The fast path: tiles of the score matrix, O(N·p) memory, every core, results independent of the
//! number of threads.
//!
//! [`for_each_tile`] computes each tile of YᵀY once and shows it to both of its sides. What a φ
//! keeps of the tiles that pass by is a rule: softmax a running maximum, sum and output;
//! thresholded softmax and hardmax the few entries that can still count. The layers,
//! [`Mssa::stream_head`](super::Mssa::stream_head),
//! [`Mssa::apply_coefficients`](super::Mssa::apply_coefficients),
//! [`Mssa::stream`](super::Mssa::stream) and [`Mhsa::stream`](super::Mhsa::stream), are tested
//! against the plain definitions beside them.

mod exp;
pub mod horizon;
mod kernels;
mod layer;
mod linear;
mod machine;
mod problem;
mod rules;
mod tiles;

pub use exp::{Exp, exp_in_place};
// The training kernels of `dynamics` run in the same lanes.
pub(crate) use exp::{LANES, exp_shifted, fold_lanes};
pub use layer::Streamed;
pub use machine::{Cpu, Machine};
// What a pass on another machine needs to decide its doubtful columns as this one does.
pub use tiles::{Blocks, Tile, for_each_tile};
#[cfg(feature = "gpu")]
pub(crate) use {problem::Problem, rules::weight_exceeds};
