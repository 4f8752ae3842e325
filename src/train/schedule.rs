//! How the learning rate and the difficulty change with the steps.

use crate::error::{Error, Result, non_negative, positive};
use serde::{Deserialize, Serialize};

/// A learning rate: linear warm-up to `peak`, then a cosine to `last` at the end, or constant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// After the warm-up.
    pub peak: f64,
    /// At the last step; equal to `peak` for a constant rate.
    pub last: f64,
    /// Steps of warm-up.
    pub warmup: u64,
}

impl Rate {
    /// Refuses rates out of range.
    ///
    /// # Errors
    /// Names the number.
    pub fn validate(&self) -> Result<()> {
        positive("peak", self.peak)?;
        non_negative("last", self.last)?;
        if self.last > self.peak {
            let allowed = format!("at most peak = {}", self.peak);
            return Err(Error::invalid("last", self.last, allowed));
        }
        Ok(())
    }

    /// The rate of step `step` (from 0) of `steps`, as nanoGPT computes it.
    ///
    /// ```
    /// let rate = attnlab::train::Rate { peak: 1.0, last: 0.1, warmup: 10 };
    /// assert_eq!(rate.at(4, 100), 0.5);
    /// assert!((rate.at(54, 100) - 0.55).abs() < 0.01);
    /// ```
    pub fn at(&self, step: u64, steps: u64) -> f64 {
        if step < self.warmup {
            return self.peak * (step + 1) as f64 / self.warmup as f64;
        }
        let span = steps.saturating_sub(1).saturating_sub(self.warmup).max(1);
        let share = ((step - self.warmup) as f64 / span as f64).min(1.0);
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * share).cos());
        self.last + (self.peak - self.last) * cosine
    }
}

/// A number that climbs: from `from` by `by` every `every` steps, up to `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Climb {
    /// At step 0.
    pub from: usize,
    /// At the end.
    pub to: usize,
    /// Per rise.
    pub by: usize,
    /// Steps between rises.
    pub every: u64,
}

impl Climb {
    /// Always the same number.
    pub fn fixed(at: usize) -> Self {
        Climb {
            from: at,
            to: at,
            by: 1,
            every: 1,
        }
    }

    /// Its value at a step.
    ///
    /// ```
    /// // Garg et al.: 5 to 20 dimensions, one more every 2000 steps.
    /// let dims = attnlab::train::Climb { from: 5, to: 20, by: 1, every: 2000 };
    /// assert_eq!([0, 1999, 2000, 90_000].map(|s| dims.at(s)), [5, 5, 6, 20]);
    /// ```
    pub fn at(&self, step: u64) -> usize {
        let rises = usize::try_from(step / self.every.max(1)).unwrap_or(usize::MAX);
        self.from
            .saturating_add(rises.saturating_mul(self.by))
            .min(self.to)
    }

    /// Refuses one that does not climb.
    ///
    /// # Errors
    /// Names the setting, which the user knows as `name`.
    pub fn validate(&self, name: &str) -> Result<()> {
        if self.from == 0 || self.from > self.to {
            let allowed = format!("a whole number from 1 to {name}.to = {}", self.to);
            return Err(Error::invalid(format!("{name}.from"), self.from, allowed));
        }
        if self.every == 0 {
            return Err(Error::invalid(
                format!("{name}.every"),
                0,
                "a whole number >= 1",
            ));
        }
        Ok(())
    }
}

/// What a step of a curriculum sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// Coordinates of the inputs that are not zero.
    pub dims: usize,
    /// Examples in a prompt.
    pub points: usize,
}

/// Easy prompts first: few dimensions and few points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curriculum {
    /// Coordinates of the inputs that are not zero.
    pub dims: Climb,
    /// Examples in a prompt.
    pub points: Climb,
}

impl Curriculum {
    /// What step `step` sees.
    pub fn at(&self, step: u64) -> Stage {
        Stage {
            dims: self.dims.at(step),
            points: self.points.at(step),
        }
    }
}
