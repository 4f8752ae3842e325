//! Tests of the base crate.

mod npy;
mod statistics;
