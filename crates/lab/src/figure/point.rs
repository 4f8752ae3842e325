//! Points of a figure, and numbers with their intervals.

use attnlab_core::stats::Estimate;

/// A number of a figure, with its interval where it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The number.
    pub value: f64,
    /// Interval around it.
    pub interval: Option<(f64, f64)>,
}

impl From<f64> for Measured {
    fn from(value: f64) -> Self {
        Measured { value, interval: None }
    }
}

impl From<Estimate> for Measured {
    fn from(e: Estimate) -> Self {
        Measured { value: e.value, interval: Some((e.low, e.high)) }
    }
}

/// One point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Abscissa.
    pub x: f64,
    /// Ordinate.
    pub y: f64,
    /// Interval around y.
    pub interval: Option<(f64, f64)>,
}

impl Point {
    /// Creates a point at a number, which has no interval, or at an [`Estimate`], which has one.
    pub fn at(x: f64, y: impl Into<Measured>) -> Self {
        let Measured { value, interval } = y.into();
        Point { x, y: value, interval }
    }

    /// Creates a point with its interval.
    pub fn between(x: f64, y: f64, low: f64, high: f64) -> Self {
        Point { x, y, interval: Some((low, high)) }
    }

    /// Returns the lower end of the interval; without one, y.
    pub fn low(&self) -> f64 {
        self.interval.map_or(self.y, |(low, _)| low)
    }

    /// Returns the upper end of the interval; without one, y.
    pub fn high(&self) -> f64 {
        self.interval.map_or(self.y, |(_, high)| high)
    }
}
