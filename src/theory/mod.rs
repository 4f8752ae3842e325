//! Closed forms: numbers that the papers print, or that follow from their models. No randomness.
//!
//! [`formulas`] gives each a name for `attnlab eval`.

mod bracket;
pub mod denoising;
pub mod formulas;
pub mod horizon;
pub mod joma;
pub mod lemma2;
pub mod lsa;
pub mod markov;
pub mod printed;
mod quadrature;
pub mod softmax;
pub mod tails;
pub mod threshold;

pub use bracket::Bracket;
pub use horizon::Horizon;
pub use lemma2::Lemma2;
