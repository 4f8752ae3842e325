//! The fast path: tiles of the score matrix, O(N·p) memory, all cores, results independent of the number of threads.
//!
//! [`for_each_tile`] computes each tile of YᵀY once and passes it to both of its sides. A [`TileRule`]
//! defines the state that a φ keeps: a running maximum, sum and output for softmax; the few entries that
//! may still exceed the cut for thresholded softmax and hardmax. The layers,
//! [`Mssa::stream_head`](super::Mssa::stream_head),
//! [`Mssa::apply_coefficients`](super::Mssa::apply_coefficients),
//! [`Mssa::stream`](super::Mssa::stream) and [`Mhsa::stream`](super::Mhsa::stream) are tested against the
//! plain definitions.
//!
//! A nonlinearity defines its pass over tiles by [`Tiled`]. [`Running`], [`LogSum`], [`Peaks`] and
//! [`Step`] are parts that several nonlinearities use.

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
mod width;

// The training kernels of `dynamics` and of `attnlab-train` use the same lanes.
pub use exp::{Exp, LANES, exp_in_place, exp_shifted, fold_lanes, largest};
pub use layer::Streamed;
pub use machine::{Cpu, Machine};
pub use pass::{Streaming, Tiled};
pub use peaks::{PeakState, Peaks, Pick, weight_exceeds};
pub use problem::Problem;
pub use rules::{LogSum, Running, TileRule};
pub use step::{Doubt, Step, StepState};
pub use tiles::{Blocks, Tile, for_each_tile};
pub(crate) use width::at_512_bits;
pub use width::at_full_width;
