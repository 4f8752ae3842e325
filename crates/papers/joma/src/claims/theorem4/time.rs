//! Eqs. (79), (80): the integral F is the time.

use super::{Drawn, TOLERANCE, TRIALS};
use crate::claims::setting::*;
use crate::theory::convergence::remainder;

/// The identity F(r_j, μ_j) = t.
#[derive(Default, Serialize, Deserialize)]
pub struct Time {
    /// Relative change of μ in F; a mutant's is near 0, or -1, for which ln(1/δ) = t as without attention.
    change: f64,
}

impl Claim for Time {
    from_sheet!("joma.eq80", trials = TRIALS);

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        let moment = Drawn::new(streams).moment()?;
        let ([j, _], [l_j, _]) = (moment.mu, moment.gaps);
        let mut witness = moment.witness();
        let j = (1.0 + self.change) * j;
        // F by quadrature, with its pole split off, so that 1 - r may be as small as it is.
        let f = (-0.5 * j * j).exp() * l_j + remainder((-l_j).exp(), j);
        witness.insert("F".into(), f.into());
        Ok(Outcome::equal(f / moment.t, 1.0, TOLERANCE, witness))
    }
}
