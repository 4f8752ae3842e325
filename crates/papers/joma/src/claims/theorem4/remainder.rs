//! Eq. (88) and the text after it: F is a logarithm up to a bounded remainder.

use super::{Drawn, Moment, TOLERANCE, TRIALS, near_the_supremum};
use crate::claims::setting::*;
use crate::theory::convergence::LARGEST_REMAINDER;

/// The printed bound, √(π/2) + 1.
pub(super) const PRINTED: f64 = 2.253_314_137_315_5;

/// The bounds 0 ≤ F - e^{p μ²} ln(1/δ) ≤ `bound`.
#[derive(Serialize, Deserialize)]
pub struct Remainder {
    claim: Form,
    /// p.
    exponent: f64,
    bound: f64,
}

/// The claim whose sheet it bears: for a mutant, the one that it belongs to.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Form {
    Printed,
    Sharp,
    Text,
}

impl Remainder {
    /// Eq. (88) as printed.
    pub const PRINTED: Self = Remainder { claim: Form::Printed, exponent: -0.5, bound: PRINTED };
    /// Eq. (88) with the supremum.
    pub const SHARP: Self = Remainder { claim: Form::Sharp, exponent: -0.5, bound: LARGEST_REMAINDER };
    /// The text after (88), with e^{-μ²}.
    pub const TEXT: Self = Remainder { claim: Form::Text, exponent: -1.0, bound: PRINTED };

    /// The remainder of component i, which converges as far as the moment says.
    fn rest(&self, moment: &Moment, i: usize) -> f64 {
        let mu = moment.mu[i];
        moment.t - (self.exponent * mu * mu).exp() * moment.gaps[i]
    }
}

impl Claim for Remainder {
    from_sheet!(
        self,
        match self.claim {
            Form::Printed => sheet!("joma.eq88"),
            Form::Sharp => sheet!("joma.eq88_sharp"),
            Form::Text => sheet!("joma.eq88_text"),
        },
        trials = TRIALS
    );

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        let moment = Drawn::new(streams).moment()?;
        let rest = self.rest(&moment, 0);
        if self.claim == Form::Sharp {
            let most = self.rest(&near_the_supremum(streams).moment()?, 1);
            return Ok(moment.sharp("remainder", rest, most, self.bound));
        }
        // It is said to lie between 0 and the bound: one that is negative fails.
        let rest = if rest < -TOLERANCE { f64::NAN } else { rest };
        Ok(moment.at_most("remainder", rest, self.bound))
    }
}
