//! Statistics. An estimate is an [`Estimate`]: point, interval and level; a test gives a p-value.

mod binomial;
mod difference;
mod mean;
mod median;
mod multiplicity;
mod quantile;
mod rank;
mod rate;
mod sequence;

pub use binomial::{MAX_TRIALS, binomial, binomial_cdf, trials_for_lower_bound};
pub use difference::{fisher, normal_difference, welch};
pub use mean::{mean, t_quantile, t_tail};
pub use median::median;
pub use multiplicity::holm;
pub use quantile::{quantile, quantile_interval};
pub use rank::spearman;
pub use rate::{PowerLaw, log_log_slope, log_log_slope_of_means};
pub use sequence::Sequence;

use serde::{Deserialize, Serialize};

/// A point estimate with its confidence interval. JSON has null for NaN and for an end at infinity; null is read back as
/// the one without an estimate, as the other beside one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct Estimate {
    /// The point estimate.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Confidence level of the interval, 0.95 for 95 %; 1 for a value that is computed rather than sampled.
    pub level: f64,
}

/// An [`Estimate`] in JSON.
#[derive(Deserialize)]
struct Written {
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    level: f64,
}

impl From<Written> for Estimate {
    fn from(Written { value, low, high, level }: Written) -> Self {
        let (least, most) = if value.is_some() { (f64::NEG_INFINITY, f64::INFINITY) } else { (f64::NAN, f64::NAN) };
        let value = value.unwrap_or(f64::NAN);
        Estimate { value, low: low.unwrap_or(least), high: high.unwrap_or(most), level }
    }
}

impl Estimate {
    /// Wraps a value that was computed with a known error bound rather than estimated from samples.
    pub fn computed(value: f64, error: f64) -> Self {
        Estimate { value, low: value - error, high: value + error, level: 1.0 }
    }

    /// Returns `true` if `x` lies in the interval.
    pub fn covers(&self, x: f64) -> bool {
        self.low <= x && x <= self.high
    }

    /// Returns the estimate of an increasing function of the estimated number.
    pub fn map(self, increasing: impl Fn(f64) -> f64) -> Self {
        let [value, low, high] = [self.value, self.low, self.high].map(increasing);
        Estimate { value, low, high, ..self }
    }
}

/// Accepts a confidence level in (0, 1).
///
/// # Errors
/// [`Error::Invalid`](crate::Error::Invalid) for a level outside (0, 1).
pub fn validate_level(level: f64) -> crate::Result<()> {
    crate::error::require(level > 0.0 && level < 1.0, "level", level, "must be a number in (0, 1), such as 0.95")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_read_back_from_json() {
        let inf = f64::INFINITY;
        for (value, low, high) in [(0.5, 0.25, 0.75), (0.5, -inf, inf), (0.5, 0.0, inf), (f64::NAN, f64::NAN, f64::NAN)]
        {
            let written = serde_json::to_string(&Estimate { value, low, high, level: 0.95 }).unwrap();
            let read: Estimate = serde_json::from_str(&written).unwrap();
            assert_eq!(
                [read.value, read.low, read.high].map(f64::to_bits),
                [value, low, high].map(f64::to_bits),
                "{written}"
            );
        }
    }
}
