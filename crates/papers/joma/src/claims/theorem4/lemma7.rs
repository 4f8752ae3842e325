//! Lemma 7: a bound for the Gaussian integral.

use super::{TRIALS, between_zero_and};
use crate::theory::convergence::lemma7;
use attnlab_lab::prelude::*;

/// The bounds 0 ≤ G(y) ≤ `bound` for y ≥ 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lemma7 {
    bound: f64,
}

impl Default for Lemma7 {
    fn default() -> Self {
        Lemma7 { bound: 1.0 }
    }
}

impl Claim for Lemma7 {
    fn sheet(&self) -> &'static Sheet {
        sheet!("joma.lemma7")
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        TRIALS
    }

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        Ok(between_zero_and(self.bound, lemma7, streams))
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![Mutant::new("small", Lemma7 { bound: 0.75 })]
    }
}
