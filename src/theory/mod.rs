//! Closed forms: numbers that the papers print, or that follow from their models. No randomness.
//!
//! [`formulas`] gives each a name for `attnlab eval`.

pub mod formulas;
pub mod horizon;
pub mod printed;
mod quadrature;
pub mod softmax;
pub mod tails;

pub use horizon::Horizon;
