//! The fast path: tiles of the score matrix, O(N·p) memory, every core, results independent of the
//! number of threads.

pub mod horizon;
mod tiles;

pub use tiles::{Blocks, Tile, for_each_tile};
