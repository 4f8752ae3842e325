//! Tests for the difference of two estimates.

use super::item::{Item, Measure};
use attnlab_core::special::normal_tail;
use attnlab_core::stats::{Estimate, fisher, welch};
use serde::Serialize;

/// Test of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Fisher's exact test of two shares.
    Fisher,
    /// Welch's test of two means.
    Welch,
    /// Normal law with the width of the intervals.
    Normal,
}

impl Method {
    /// Returns the name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Method::Fisher => "Fisher",
            Method::Welch => "Welch",
            Method::Normal => "normal",
        }
    }
}

/// Result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Test {
    /// The test.
    pub method: Method,
    /// Two-sided p-value.
    pub p_value: f64,
    /// The same, adjusted by Holm for all tests of the comparison.
    pub adjusted: f64,
}

/// Tests the difference of two estimates; None where nothing can be tested.
pub(super) fn difference(a: &Item, b: &Item) -> Option<Test> {
    let (method, p_value) = match (a.measure, b.measure) {
        (Measure::Share { held, trials }, Measure::Share { held: other, trials: others }) => {
            (Method::Fisher, fisher([held, other], [trials, others]).ok()?)
        }
        (Measure::Mean { .. }, Measure::Mean { .. }) => (Method::Welch, welch(a.sample()?, b.sample()?).ok()?),
        (Measure::Single, _) | (_, Measure::Single) => return None,
        (Measure::Computed, Measure::Computed) => return None,
        _ => (Method::Normal, normal(&a.estimate?, &b.estimate?)?),
    };
    Some(Test { method, p_value, adjusted: p_value })
}

/// Computes the p-value of a difference by the normal law, with standard errors from the widths of the intervals; a
/// computed value has none.
fn normal(a: &Estimate, b: &Estimate) -> Option<f64> {
    let error = |e: &Estimate| match e.level {
        level if level >= 1.0 => Some(0.0),
        level => Some(0.5 * (e.high - e.low) / quantile_of_tail(0.5 - level / 2.0)),
    };
    let (gap, spread) = ((a.value - b.value).abs(), error(a)?.hypot(error(b)?));
    match gap / spread {
        z if z.is_finite() => Some((2.0 * normal_tail(z)).min(1.0)),
        _ => None,
    }
}

/// Finds the z > 0 beyond which a standard normal number lies with probability `tail` < 1/2, by bisection.
fn quantile_of_tail(tail: f64) -> f64 {
    // Beyond 39 the tail is no number of double precision.
    let (mut low, mut high) = (0.0, 39.0);
    for _ in 0..64 {
        let middle = 0.5 * (low + high);
        match normal_tail(middle) > tail {
            true => low = middle,
            false => high = middle,
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
#[test]
fn the_quantile_is_the_tables() {
    // R: qnorm(0.975), qnorm(0.995).
    assert!((quantile_of_tail(0.025) - 1.959_963_984_540_054).abs() < 1e-9);
    assert!((quantile_of_tail(0.005) - 2.575_829_303_548_901).abs() < 1e-9);
}
