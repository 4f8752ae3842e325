//! A probability that is known to lie in an interval with certainty.

use serde::Serialize;

/// An interval that contains a probability. Not a confidence interval: nothing in it is random.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bracket {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Bracket {
    /// Probability of an event that cannot happen.
    pub const NEVER: Bracket = Bracket {
        low: 0.0,
        high: 0.0,
    };
    /// Probability of an event that happens surely.
    pub const SURELY: Bracket = Bracket {
        low: 1.0,
        high: 1.0,
    };

    /// From `low` to `high`, both cut to [0, 1].
    pub fn new(low: f64, high: f64) -> Self {
        let high = high.clamp(0.0, 1.0);
        Bracket {
            low: low.clamp(0.0, high),
            high,
        }
    }

    /// At least one of `count` independent events of probability `each`: $1 - (1 - f)^{count}$.
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

    /// At least one of `count` events of probability `each`, however they depend on each other:
    /// from one of them to the union bound.
    pub fn union(count: f64, each: f64) -> Self {
        if count == 0.0 {
            return Bracket::NEVER;
        }
        Bracket::new(each, count * each)
    }

    /// Wider by a relative rounding error on both sides. A value that underflowed to 0 counts as
    /// the least positive number.
    pub fn widened(self, relative: f64) -> Self {
        let high = (self.high * (1.0 + relative)).max(f64::MIN_POSITIVE);
        Bracket::new(self.low * (1.0 - relative), high)
    }
}
