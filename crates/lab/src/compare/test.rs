//! Tests for the difference of two estimates.

use super::side::{Estimated, JudgedItem};
use attnlab_core::stats::{fisher, normal_difference, welch};
use serde::Serialize;

/// Method of a [`DifferenceTest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestMethod {
    /// Fisher's exact test of two shares.
    Fisher,
    /// Welch's test of two means, with the standard errors of their intervals.
    Welch,
    /// Normal law with the widths of the intervals.
    Normal,
}

attnlab_core::named!(TestMethod, "test": Fisher = "Fisher", Welch = "Welch", Normal = "normal law");

/// Test of a difference, with its result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DifferenceTest {
    /// The method.
    pub method: TestMethod,
    /// Two-sided p-value.
    pub p_value: f64,
    /// The same, adjusted by Holm for all tests of the comparison.
    pub adjusted: f64,
}

/// Tests the difference of two estimates. The error is the reason why no test can tell.
pub(super) fn difference(a: &JudgedItem, b: &JudgedItem) -> Result<DifferenceTest, &'static str> {
    let estimates = a.estimate.zip(b.estimate).map(<[_; 2]>::from).ok_or("one side has no informative trial")?;
    let method = match (a.estimated, b.estimated) {
        (Estimated::Computed, Estimated::Computed) => return Err("computed on both sides"),
        (Estimated::Computed, _) | (_, Estimated::Computed) => {
            return Err("computed on one side, sampled on the other");
        }
        _ if a.is_stopped() || b.is_stopped() => return Err("the outcomes decided the number of trials"),
        (Estimated::Share, Estimated::Share) => TestMethod::Fisher,
        (Estimated::Mean, Estimated::Mean) => TestMethod::Welch,
        _ => TestMethod::Normal,
    };
    let counts = [a.informative, b.informative];
    let held = [a, b].map(|item| item.informative.saturating_sub(item.failures));
    let p_value = match method {
        TestMethod::Fisher => fisher(held, counts),
        TestMethod::Welch => welch(estimates, counts),
        TestMethod::Normal => normal_difference(estimates),
    };
    let p_value = p_value.map_err(|_| "the intervals have no width, or are not finite")?;
    Ok(DifferenceTest { method, p_value, adjusted: p_value })
}
