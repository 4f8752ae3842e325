//! Differences by seed: trained minus untrained, and of two such differences.

use attnlab_core::stats::{self, Estimate};
use attnlab_lab::experiment::draw::{LEVEL, firsts, lasts};
use attnlab_lab::prelude::*;

/// Subtracts two lists, entry by entry.
pub fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Computes the change of a series by training, last entry minus first, by seed.
pub fn gains(cell: &[Row], name: &str) -> Result<Vec<f64>> {
    Ok(minus(&lasts(cell, name)?, &firsts(cell, name)?))
}

/// Counts the cells where the mean of `values` over the seeds, with its interval, has a property.
pub fn count(
    cells: &[&[Row]],
    values: impl Fn(&[Row]) -> Result<Vec<f64>>,
    has: impl Fn(&Estimate) -> bool,
) -> Result<usize> {
    let means = cells.iter().map(|cell| stats::mean(&values(cell)?, LEVEL)).collect::<Result<Vec<_>>>()?;
    Ok(means.iter().filter(|mean| has(mean)).count())
}
