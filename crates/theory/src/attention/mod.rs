//! Attention operators. The plain definitions in this module are the reference: they are in f64 and
//! follow the formulas of the papers term by term. [`streaming`] is the fast path, tested against them.

pub mod horizon;
pub mod memory;
pub mod mhsa;
pub mod mssa;
pub mod network;
pub mod nonlinearity;
pub mod one_layer;
pub mod single_head;
pub mod streaming;

pub use mhsa::Mhsa;
pub use mssa::{Mask, Mssa};
pub use network::unroll;
pub use nonlinearity::*;
pub use one_layer::{linear_attention, softmax_attention};
pub use single_head::SingleHead;
