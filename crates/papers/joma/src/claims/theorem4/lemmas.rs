//! Lemmas 6 and 7: bounds for (1 - e^{-y²})/y and for the Gaussian integral.

use super::{TRIALS, generator, log_uniform};
use crate::claims::setting::*;
use crate::theory::convergence::{lemma6, lemma7};
use std::f64::consts::FRAC_1_SQRT_2;

/// The bounds 0 ≤ f(y) ≤ `bound` for y ≥ 0, f = g of Lemma 6 or G of Lemma 7.
#[derive(Serialize, Deserialize)]
pub struct Bounded {
    /// Number of the lemma.
    lemma: u8,
    bound: f64,
}

impl Bounded {
    /// Lemma 6.
    pub const LEMMA6: Self = Bounded { lemma: 6, bound: FRAC_1_SQRT_2 };
    /// Lemma 7.
    pub const LEMMA7: Self = Bounded { lemma: 7, bound: 1.0 };
}

/// Range of y.
const ARGUMENT: (f64, f64) = (0.05, 50.0);

impl Claim for Bounded {
    from_sheet!(self, if self.lemma == 6 { sheet!("joma.lemma6") } else { sheet!("joma.lemma7") }, trials = TRIALS);

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        let y = log_uniform(ARGUMENT, &mut generator(streams));
        let value = if self.lemma == 6 { lemma6(y) } else { lemma7(y) };
        let bounded = if value < 0.0 { f64::NAN } else { value };
        Ok(Outcome::at_most(bounded, self.bound, 0.0, witness! { "y" => y, "value" => bounded }))
    }
}
