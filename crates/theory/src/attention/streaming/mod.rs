//! The fast path: tiles of the score matrix, O(N·p) memory, every core, results independent of the
//! number of threads.
//!
//! [`for_each_tile`] computes each tile of YᵀY once and shows it to both of its sides. The part that a φ
//! keeps of the tiles that pass by is a [`TileRule`]: softmax a running maximum, sum and output;
//! thresholded softmax and hardmax the few entries that can still count. The layers,
//! [`Mssa::stream_head`](super::Mssa::stream_head),
//! [`Mssa::apply_coefficients`](super::Mssa::apply_coefficients),
//! [`Mssa::stream`](super::Mssa::stream) and [`Mhsa::stream`](super::Mhsa::stream), are tested
//! against the plain definitions beside them.
//!
//! A nonlinearity brings its pass over tiles as [`Tiled`]. [`Running`], [`LogSum`], [`Peaks`] and [`Step`]
//! are the parts that more than one of them uses.

mod exp;
pub mod horizon;
mod kernels;
mod layer;
mod machine;
mod pass;
mod peaks;
mod problem;
mod rules;
mod step;
mod tiles;

pub use exp::{Exp, exp_in_place};
// The training kernels of `dynamics` run in the same lanes.
pub(crate) use exp::{LANES, exp_shifted, fold_lanes};
pub use layer::Streamed;
pub use machine::{Cpu, Machine};
pub use pass::{Streaming, Tiled};
pub use peaks::{PeakState, Peaks, Pick, weight_exceeds};
pub use problem::Problem;
pub use rules::{LogSum, Running, TileRule};
pub use step::{Doubt, Step, StepState};
pub use tiles::{Blocks, Tile, for_each_tile};
