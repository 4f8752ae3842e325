//! Tests of the base crate.

mod bessel;
mod npy;
mod statistics;
