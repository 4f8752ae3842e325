//! Differences by seed: trained minus untrained, and of two such differences.

use attnlab_core::error::Result;
use attnlab_lab::experiment::draw::{firsts, lasts};
use attnlab_lab::run::Row;

/// Subtracts two lists, entry by entry.
pub fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Computes the change of a series by training, last entry minus first, by seed.
///
/// # Errors
/// When a row has no such series.
pub fn gains(cell: &[Row], name: &str) -> Result<Vec<f64>> {
    Ok(minus(&lasts(cell, name)?, &firsts(cell, name)?))
}
