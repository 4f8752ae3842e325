//! Hard threshold on raw scores.

use super::{Constructor, GpuPass, Nonlinearity, map};
use crate::attention::streaming::{Doubt, Exp, Problem, Step, Streamed, Streaming, Tiled};
use attnlab_core::error::{Result, positive};

/// Hard threshold h(x)_i = τ 1{x_i > τ} on the raw scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HardThreshold {
    /// τ > 0, both threshold and output value.
    pub tau: f64,
}

pub(super) const CONSTRUCTOR: Constructor =
    Constructor { name: "hard-threshold", with_tau: |tau| HardThreshold { tau }.into() };

impl Nonlinearity for HardThreshold {
    fn name(&self) -> &str {
        CONSTRUCTOR.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("tau", self.tau)]
    }

    fn validate(&self) -> Result<()> {
        positive("tau", self.tau)
    }

    fn apply(&self, column: &mut [f64]) {
        map(column, |x| if x > self.tau { self.tau } else { 0.0 });
    }

    #[inline(never)]
    fn streaming(&self) -> Option<&dyn Streaming> {
        Some(self)
    }

    fn gpu(&self) -> Option<GpuPass> {
        Some(GpuPass::ScoreAbove { cut: self.tau, value: self.tau })
    }
}

impl Tiled for HardThreshold {
    fn attend<T: Exp>(&self, head: &Problem<T>) -> Streamed<T> {
        let (n, tau) = (head.tokens(), self.tau);
        // Error of the score, E, plus that of rounding the cut.
        let band = (0..n).map(|j| head.score_error(j) + 2.0 * T::EPSILON * tau).collect();
        let step = Step { problem: head, value: tau, cut: vec![tau; n], band, doubt: Doubt::ByEntry };
        let mut output = head.zeros();
        let reports = head.sweep(&step, &mut output);
        Streamed { output, redecided: reports.into_iter().map(|(_, resolved)| resolved).sum() }
    }
}
