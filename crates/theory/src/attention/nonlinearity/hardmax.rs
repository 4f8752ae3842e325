//! Hardmax: all weight on the largest score.

use super::{Constructor, GpuPass, Nonlinearity, map};
use crate::attention::streaming::{Exp, Peaks, Pick, Problem, Streamed, Streaming, Tiled};

/// Limit of softmax(x/T) as T → 0: weight 1 on the largest score, split evenly among exact ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hardmax;

pub(super) const CONSTRUCTOR: Constructor = Constructor { name: "hardmax", with_tau: |_| Hardmax.into() };

impl Nonlinearity for Hardmax {
    fn name(&self) -> &str {
        CONSTRUCTOR.name
    }

    fn apply(&self, column: &mut [f64]) {
        let max = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let ties = column.iter().filter(|x| **x == max).count() as f64;
        map(column, |x| if x == max { 1.0 / ties } else { 0.0 });
    }

    #[inline(never)]
    fn streaming(&self) -> Option<&dyn Streaming> {
        Some(self)
    }

    fn gpu(&self) -> Option<GpuPass> {
        Some(GpuPass::Largest)
    }
}

impl Tiled for Hardmax {
    fn attend<T: Exp>(&self, head: &Problem<T>) -> Streamed<T> {
        let mut output = head.zeros();
        let peaks = Peaks { problem: head, pick: Pick::Largest };
        let undecided = head.sweep(&peaks, &mut output).concat();
        head.redecide(self, &undecided, &mut output);
        Streamed { output, redecided: undecided.len() }
    }
}
