//! Eq. (7): the ratio of convergence of two components.

use super::{Drawn, Moment, PRINTED_LAMBDA, TRIALS, near_the_supremum};
use crate::claims::setting::*;
use crate::theory::convergence::LARGEST_REMAINDER;

/// The ratio (7) with a bound on |λ_jk|.
#[derive(Serialize, Deserialize)]
pub struct Ratio {
    printed: bool,
    /// The bound.
    bound: f64,
    /// p in the exponentials e^{p μ²} of the ratio.
    exponent: f64,
}

impl Ratio {
    /// Eq. (7) with |λ| ≤ √(2π) + 2, as printed.
    pub const PRINTED: Self = Ratio { printed: true, bound: PRINTED_LAMBDA, exponent: 0.5 };
    /// Eq. (7) with |λ| ≤ .8643.
    pub const SHARP: Self = Ratio { printed: false, bound: LARGEST_REMAINDER, exponent: 0.5 };

    /// λ_jk of (7).
    fn lambda(&self, moment: &Moment) -> f64 {
        let ([_, k], [_, l_k]) = (moment.mu, moment.gaps);
        moment.big_lambda(self.exponent) * l_k / (0.5 * k * k).exp()
    }
}

impl Claim for Ratio {
    from_sheet!(
        self,
        if self.printed { sheet!("joma.theorem4") } else { sheet!("joma.theorem4_sharp") },
        trials = TRIALS
    );

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        let moment = Drawn::new(streams).moment()?;
        let lambda = self.lambda(&moment).abs();
        if self.printed {
            return Ok(moment.at_most("lambda", lambda, self.bound));
        }
        let most = self.lambda(&near_the_supremum(streams).moment()?);
        Ok(moment.sharp("lambda", lambda, most, self.bound))
    }
}
