//! The text after Eq. (7): from which δ_k on the ratio is close to its limit.

use super::{Drawn, Moment, PRINTED_LAMBDA, TRIALS};
use crate::claims::setting::*;

/// "≪" in "δ_k ≪ threshold" is taken as δ_k = threshold^κ; then the bound promises |Λ| ≤ 1/κ.
const KAPPA: f64 = 10.0;

/// The threshold $\exp\[-(\sqrt{2\pi} + 2) e^{p \mu_k^2}\]$ on δ_k.
#[derive(Serialize, Deserialize)]
pub struct Threshold {
    printed: bool,
    /// p.
    exponent: f64,
}

impl Threshold {
    /// The threshold with p = -1, as printed.
    pub const PRINTED: Self = Threshold { printed: true, exponent: -1.0 };
    /// The threshold with p = 1/2, as (7) asks for.
    pub const CORRECTED: Self = Threshold { printed: false, exponent: 0.5 };
}

impl Claim for Threshold {
    from_sheet!(
        self,
        if self.printed { sheet!("joma.theorem4_threshold") } else { sheet!("joma.theorem4_threshold_corrected") },
        trials = TRIALS
    );

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        let Drawn { mu, .. } = Drawn::new(streams);
        let moment = Moment::reached(mu, KAPPA * PRINTED_LAMBDA * (self.exponent * mu[1] * mu[1]).exp())?;
        Ok(moment.at_most("Lambda", moment.big_lambda(0.5).abs(), 1.0 / KAPPA))
    }
}
