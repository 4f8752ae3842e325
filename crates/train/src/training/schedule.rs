//! Schedules: learning rate and curriculum as functions of the step.

use attnlab_core::error::{Result, non_negative, positive, require};
use attnlab_lab::experiment::ranges::Ranges;
use serde::{Deserialize, Serialize};

/// Learning-rate schedule: linear warm-up to `peak`, then a cosine to `last` at the end, or constant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearningRate {
    /// Rate after the warm-up, > 0.
    pub peak: f64,
    /// Rate at the last step; equal to `peak` for a constant rate.
    pub last: f64,
    /// Number of warm-up steps.
    pub warmup: u64,
}

impl LearningRate {
    /// Computes the rate of step `step` (from 0) of `steps`, as nanoGPT does.
    ///
    /// ```
    /// let rate = attnlab_train::training::LearningRate { peak: 1.0, last: 0.1, warmup: 10 };
    /// assert_eq!(rate.at_step(4, 100), 0.5);
    /// assert!((rate.at_step(54, 100) - 0.55).abs() < 0.01);
    /// ```
    pub fn at_step(&self, step: u64, steps: u64) -> f64 {
        if step < self.warmup {
            return self.peak * (step + 1) as f64 / self.warmup as f64;
        }
        let span = steps.saturating_sub(1).saturating_sub(self.warmup).max(1);
        let share = ((step - self.warmup) as f64 / span as f64).min(1.0);
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * share).cos());
        self.last + (self.peak - self.last) * cosine
    }
}

impl Ranges for LearningRate {
    fn ranges(&self, prefix: &str) -> Result<()> {
        positive(&format!("{prefix}peak"), self.peak)?;
        non_negative(&format!("{prefix}last"), self.last)?;
        let allowed = format!("must be at most {prefix}peak = {}", self.peak);
        require(self.last <= self.peak, format!("{prefix}last"), self.last, allowed)
    }
}

/// Stepwise ramp: from `from` by `by` every `every` steps, up to `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ramp {
    /// Value at step 0.
    pub from: usize,
    /// Value at the end.
    pub to: usize,
    /// Increment.
    pub by: usize,
    /// Steps between increments.
    pub every: u64,
}

impl Ramp {
    /// Returns a ramp that stays at one value.
    pub fn fixed(value: usize) -> Self {
        Ramp { from: value, to: value, by: 1, every: 1 }
    }

    /// Computes the value at a step.
    ///
    /// ```
    /// // Garg et al.: 5 to 20 dimensions, one more every 2000 steps.
    /// let dims = attnlab_train::training::Ramp { from: 5, to: 20, by: 1, every: 2000 };
    /// assert_eq!([0, 1999, 2000, 90_000].map(|s| dims.at_step(s)), [5, 5, 6, 20]);
    /// ```
    pub fn at_step(&self, step: u64) -> usize {
        let rises = usize::try_from(step / self.every.max(1)).unwrap_or(usize::MAX);
        self.from.saturating_add(rises.saturating_mul(self.by)).min(self.to)
    }

    /// Refuses a ramp that does not rise from at least 1.
    ///
    /// # Errors
    /// [`Error::Invalid`](attnlab_core::Error::Invalid) with the setting, which the user knows as `name`.
    pub fn validate(&self, name: &str) -> Result<()> {
        let allowed = format!("must be a whole number from 1 to {name}.to = {}", self.to);
        require((1..=self.to).contains(&self.from), format!("{name}.from"), self.from, allowed)?;
        require(self.every > 0, format!("{name}.every"), 0, "must be a whole number >= 1")
    }
}

/// Size of the prompts at one step of a curriculum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// Number of coordinates of the inputs that are not zero.
    pub dims: usize,
    /// Number of examples in a prompt.
    pub points: usize,
}

/// Curriculum: easy prompts first, of few dimensions and few points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curriculum {
    /// Number of coordinates of the inputs that are not zero.
    pub dims: Ramp,
    /// Number of examples in a prompt.
    pub points: Ramp,
}

impl Curriculum {
    /// Computes the size of the prompts at a step.
    pub fn at_step(&self, step: u64) -> Stage {
        Stage { dims: self.dims.at_step(step), points: self.points.at_step(step) }
    }
}
