//! Rigorous enclosures of probabilities.

use serde::Serialize;

/// An interval that contains a probability with certainty. It is not a confidence interval: nothing in it is random.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bracket {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Bracket {
    /// Probability of an impossible event, [0, 0].
    pub const NEVER: Bracket = Bracket { low: 0.0, high: 0.0 };
    /// Probability of a certain event, [1, 1].
    pub const SURELY: Bracket = Bracket { low: 1.0, high: 1.0 };

    /// Builds the interval from `low` to `high`, both clipped to [0, 1].
    pub fn new(low: f64, high: f64) -> Self {
        let high = high.clamp(0.0, 1.0);
        Bracket { low: low.clamp(0.0, high), high }
    }

    /// Bounds the probability $1 - (1 - f)^n$ that at least one of n = `count` independent events, each
    /// of probability f = `each`, occurs.
    ///
    /// ```
    /// use attnlab_core::bracket::Bracket;
    /// let b = Bracket::any_of(3.0, 0.5);
    /// assert_eq!((b.low, b.high), (0.875, 0.875));
    /// // far below the rounding of 1 - f
    /// assert!((Bracket::any_of(1e6, 1e-40).high / 1e-34 - 1.0).abs() < 1e-12);
    /// ```
    pub fn any_of(count: f64, each: f64) -> Self {
        if count == 0.0 || each == 0.0 {
            return Bracket::NEVER;
        }
        let any = -(count * (-each).ln_1p()).exp_m1();
        Bracket::new(any, any)
    }

    /// Bounds the probability that at least one of `count` events of probability `each` occurs, whatever
    /// their dependence: from `each` itself to the union bound.
    pub fn union(count: f64, each: f64) -> Self {
        if count == 0.0 { Bracket::NEVER } else { Bracket::new(each, count * each) }
    }

    /// Widens the interval by a relative rounding error on both sides. A value that underflowed to 0
    /// counts as the least positive number.
    pub fn widened(self, relative: f64) -> Self {
        let high = (self.high * (1.0 + relative)).max(f64::MIN_POSITIVE);
        Bracket::new(self.low * (1.0 - relative), high)
    }
}
