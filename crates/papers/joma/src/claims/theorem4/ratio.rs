//! Eq. (7): the ratio of convergence of two components.

use super::{Drawn, PRINTED_LAMBDA, TRIALS};
use crate::theory::convergence::LARGEST_REMAINDER;
use attnlab_lab::prelude::*;

/// The ratio (7) with a bound on |λ_jk|.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Whether it is the printed claim or a mutant of it, by the sheet that it bears.
    printed: bool,
    /// The bound.
    bound: f64,
    /// p in the exponentials e^{p μ²} of the ratio.
    exponent: f64,
}

impl Ratio {
    /// Eq. (7) with |λ| ≤ √(2π) + 2, as printed.
    pub const PRINTED: Self = Ratio {
        printed: true,
        bound: PRINTED_LAMBDA,
        exponent: 0.5,
    };
    /// Eq. (7) with |λ| ≤ .8643.
    pub const SHARP: Self = Ratio {
        printed: false,
        bound: LARGEST_REMAINDER,
        exponent: 0.5,
    };
}

impl Claim for Ratio {
    fn sheet(&self) -> &'static Sheet {
        match self.printed {
            true => sheet!("joma.theorem4"),
            false => sheet!("joma.theorem4_sharp"),
        }
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        TRIALS
    }

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        let seen = Drawn::new(streams).moment()?;
        let ([_, k], [_, l_k]) = (seen.mu, seen.gaps);
        let lambda = seen.big_lambda(self.exponent) * l_k / (0.5 * k * k).exp();
        Ok(seen.at_most("lambda", lambda.abs(), self.bound))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let too_sharp = Ratio {
            bound: 0.4,
            ..*self
        };
        let squared = Ratio {
            bound: PRINTED_LAMBDA,
            exponent: 1.0,
            ..*self
        };
        vec![
            Mutant::new("too-sharp", too_sharp).drawn_as("joma.theorem4"),
            Mutant::new("squared", squared).drawn_as("joma.theorem4"),
        ]
    }
}
