//! φ, the column-wise nonlinearity of AoT Eq. (4).

use crate::error::{Error, Result};
use std::fmt;

/// A map R^N → R^N applied to each column of the scores: how one token weighs all tokens.
///
/// Masked scores arrive as -∞ and always get weight 0.
///
/// ```
/// use attnlab::attention::Phi;
/// let mut column = [0.0, 3.0_f64.ln()];
/// Phi::Softmax.apply(&mut column);
/// assert!((column[1] - 0.75).abs() < 1e-15);
/// let mut column = [0.0, 3.0_f64.ln()];
/// Phi::ThresholdedSoftmax { tau: 0.6 }.apply(&mut column);
/// assert_eq!(column, [0.0, 0.6]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phi {
    /// σ(x)_i = exp(x_i) / Σ_j exp(x_j).
    Softmax,
    /// h(x)_i = τ 1{x_i > τ} on the raw scores.
    HardThreshold {
        /// Threshold and output value τ > 0.
        tau: f64,
    },
    /// h(σ(x)): the φ of AoT Theorem 1.
    ThresholdedSoftmax {
        /// Threshold and output value τ in (0, 1].
        tau: f64,
    },
    /// The limit of σ(x/T) as T → 0: 1 on the largest score, split evenly among exact ties.
    Hardmax,
    /// φ(x) = x (masked scores count as 0).
    Linear,
    /// max(x_i, 0) / Σ_j max(x_j, 0), and 0 when no score is positive.
    ReluNormalised,
}

impl Phi {
    /// Every φ by the name that the command line takes; `tau` is used where one is needed.
    pub fn parse(name: &str, tau: f64) -> Result<Phi> {
        let phi = match name {
            "softmax" => Phi::Softmax,
            "hard-threshold" => Phi::HardThreshold { tau },
            "thresholded-softmax" => Phi::ThresholdedSoftmax { tau },
            "hardmax" => Phi::Hardmax,
            "linear" => Phi::Linear,
            "relu-normalised" => Phi::ReluNormalised,
            _ => return Err(Error::unknown("phi", name, Self::NAMES)),
        };
        phi.validate()?;
        Ok(phi)
    }

    /// The names that [`Phi::parse`] knows.
    pub const NAMES: [&'static str; 6] = [
        "softmax",
        "hard-threshold",
        "thresholded-softmax",
        "hardmax",
        "linear",
        "relu-normalised",
    ];

    /// The name that [`Phi::parse`] takes.
    pub fn name(&self) -> &'static str {
        match self {
            Phi::Softmax => "softmax",
            Phi::HardThreshold { .. } => "hard-threshold",
            Phi::ThresholdedSoftmax { .. } => "thresholded-softmax",
            Phi::Hardmax => "hardmax",
            Phi::Linear => "linear",
            Phi::ReluNormalised => "relu-normalised",
        }
    }

    /// Refuses a τ outside its range.
    ///
    /// # Errors
    /// Names τ and what is allowed.
    pub fn validate(&self) -> Result<()> {
        match *self {
            Phi::ThresholdedSoftmax { tau } if !(tau > 0.0 && tau <= 1.0) => {
                Err(Error::invalid("tau", tau, "a number in (0, 1]"))
            }
            Phi::HardThreshold { tau } if !(tau > 0.0 && tau.is_finite()) => {
                Err(Error::invalid("tau", tau, "a finite number > 0"))
            }
            _ => Ok(()),
        }
    }

    /// Replaces a column of scores by its weights.
    pub fn apply(&self, column: &mut [f64]) {
        match *self {
            Phi::Softmax => softmax(column),
            Phi::HardThreshold { tau } => threshold(column, tau),
            Phi::ThresholdedSoftmax { tau } => {
                softmax(column);
                threshold(column, tau);
            }
            Phi::Hardmax => hardmax(column),
            Phi::Linear => map(column, |x| if x == f64::NEG_INFINITY { 0.0 } else { x }),
            Phi::ReluNormalised => {
                map(column, |x| x.max(0.0));
                let sum: f64 = column.iter().sum();
                if sum > 0.0 {
                    map(column, |x| x / sum);
                }
            }
        }
    }
}

impl fmt::Display for Phi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Phi::HardThreshold { tau } | Phi::ThresholdedSoftmax { tau } => {
                write!(f, "{} (tau = {tau})", self.name())
            }
            _ => f.write_str(self.name()),
        }
    }
}

fn map(column: &mut [f64], f: impl Fn(f64) -> f64) {
    column.iter_mut().for_each(|x| *x = f(*x));
}

fn softmax(column: &mut [f64]) {
    let max = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    map(column, |x| (x - max).exp());
    let sum: f64 = column.iter().sum();
    map(column, |x| x / sum);
}

fn threshold(column: &mut [f64], tau: f64) {
    map(column, |x| if x > tau { tau } else { 0.0 });
}

fn hardmax(column: &mut [f64]) {
    let max = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let ties = column.iter().filter(|x| **x == max).count() as f64;
    map(column, |x| if x == max { 1.0 / ties } else { 0.0 });
}
