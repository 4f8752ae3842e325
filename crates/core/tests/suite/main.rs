//! Tests of the base crate.

mod statistics;
