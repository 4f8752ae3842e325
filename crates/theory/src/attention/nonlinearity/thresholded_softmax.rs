//! The threshold on softmax weights: the φ of AoT Theorem 1.

use super::{Constructor, GpuPass, HardThreshold, Nonlinearity, Softmax};
use crate::attention::streaming::{Doubt, Exp, LogSum, Peaks, Pick, Problem, Step, Streamed, Streaming, Tiled};
use attnlab_core::error::{Result, require};
use ndarray::{Array2, ShapeBuilder};

/// The composition h(σ(x)) with h of [`HardThreshold`] and σ of [`Softmax`]: the φ of AoT Theorem 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdedSoftmax {
    /// τ in (0, 1], both threshold and output value.
    pub tau: f64,
}

pub(super) const CONSTRUCTOR: Constructor =
    Constructor { name: "thresholded-softmax", with_tau: |tau| ThresholdedSoftmax { tau }.into() };

/// Smallest τ whose kept entries are listed. For smaller τ the lists of a column may be so long that they
/// cost more than a second pass.
const SMALLEST_LISTED_TAU: f64 = 1.0 / 64.0;

impl Nonlinearity for ThresholdedSoftmax {
    fn name(&self) -> &str {
        CONSTRUCTOR.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("tau", self.tau)]
    }

    fn validate(&self) -> Result<()> {
        require(self.tau > 0.0 && self.tau <= 1.0, "tau", self.tau, "must be a number in (0, 1]")
    }

    fn apply(&self, column: &mut [f64]) {
        Softmax.apply(column);
        HardThreshold { tau: self.tau }.apply(column);
    }

    #[inline(never)]
    fn streaming(&self) -> Option<&dyn Streaming> {
        Some(self)
    }

    fn gpu(&self) -> Option<GpuPass> {
        Some(GpuPass::WeightAbove { cut: self.tau, value: self.tau })
    }
}

impl Tiled for ThresholdedSoftmax {
    fn attend<T: Exp>(&self, head: &Problem<T>) -> Streamed<T> {
        let tau = self.tau;
        let mut output = head.zeros();
        let undecided = if tau >= 1.0 {
            // A softmax weight never exceeds 1.
            vec![]
        } else if tau >= SMALLEST_LISTED_TAU {
            let peaks = Peaks { problem: head, pick: Pick::Above { cut: tau, value: tau } };
            head.sweep(&peaks, &mut output).concat()
        } else {
            two_passes(head, tau, &mut output)
        };
        head.redecide(self, &undecided, &mut output);
        Streamed { output, redecided: undecided.len() }
    }
}

/// Computes the output for any τ in two passes: first log Σ exp of every column, then the scores compared
/// with it. Returns the columns that rounding leaves undecided.
fn two_passes<T: Exp>(head: &Problem<T>, tau: f64, output: &mut Array2<T>) -> Vec<usize> {
    let n = head.tokens();
    let log_sums = head.sweep(&LogSum, &mut Array2::zeros((0, n).f())).concat();
    let cut: Vec<f64> = log_sums.iter().map(|l| l + tau.ln()).collect();
    // Errors: E of the score, E of log Σ exp, the relative error of the sum, and the rounding of the cut.
    let band =
        |(j, cut): (usize, &f64)| 2.0 * head.score_error(j) + 2.0 * head.sum_error() + 2.0 * T::EPSILON * cut.abs();
    let band = cut.iter().enumerate().map(band).collect();
    let step = Step { problem: head, value: tau, cut, band, doubt: Doubt::ByColumn };
    head.sweep(&step, output).into_iter().flat_map(|(columns, _)| columns).collect()
}
