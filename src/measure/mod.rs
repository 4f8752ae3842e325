//! What is measured on tokens: named quantities with unit and shape.

pub mod snr;

pub use snr::{snr, snr_of_heads};
