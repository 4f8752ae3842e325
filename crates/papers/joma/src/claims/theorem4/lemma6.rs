//! Lemma 6: a bound for (1 - e^{-y²})/y.

use super::{TRIALS, between_zero_and};
use crate::theory::convergence::lemma6;
use attnlab_lab::prelude::*;
use std::f64::consts::FRAC_1_SQRT_2;

/// The bounds 0 ≤ g(y) ≤ `bound` for y ≥ 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lemma6 {
    bound: f64,
}

impl Default for Lemma6 {
    fn default() -> Self {
        Lemma6 { bound: FRAC_1_SQRT_2 }
    }
}

impl Claim for Lemma6 {
    fn sheet(&self) -> &'static Sheet {
        sheet!("joma.lemma6")
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        TRIALS
    }

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        Ok(between_zero_and(self.bound, lemma6, streams))
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![Mutant::new("small", Lemma6 { bound: 0.63 })]
    }
}
