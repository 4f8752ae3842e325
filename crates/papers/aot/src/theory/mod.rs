//! Closed forms of these papers: how deep Theorem 1 holds, how probable the events of Lemma 2 are, and
//! what one layer does under other nonlinearities.
//!
//! Every form carries its derivation, and is held against simulation and independent numbers by tests.

pub mod horizon;
pub mod lemma2;
pub mod printed;
pub mod softmax;
pub mod tails;
pub mod threshold;

pub use horizon::Horizon;
pub use lemma2::Lemma2;
