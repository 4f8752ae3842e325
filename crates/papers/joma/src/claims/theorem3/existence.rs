//! Lemma 4, Eq. (58): a sufficient condition for a critical point under ReLU.

use super::upper;
use crate::claims::setting::*;
use crate::theory::critical;

/// Relative error of F/θ_1 at ρ_+, which is found by bisection to rounding, with room for its slope there.
const TOLERANCE: f64 = 1e-9;

/// The claim that under (58) a line through 0 that meets G at ρ_- = 0 meets it again.
#[derive(Default, Serialize, Deserialize)]
pub struct Existence {
    /// Relative change of ρ_+; a mutant's is farther from 0.
    change: f64,
}

impl Claim for Existence {
    from_sheet!("joma.lemma4_existence", trials = super::TRIALS);

    fn schema(&self) -> Schema {
        upper::schema()
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        upper::hypotheses(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (law, _) = upper::law(params, streams)?;
        // (58) says that a line through θ_1 = 1/2, ρ_- = 0, meets G again.
        let Some(point) = upper::pair(&law, 0.0) else {
            return Ok(Outcome::Event { holds: false, witness: witness! { "law" => format!("{:?}", law.radial()) } });
        };
        let plus = (1.0 + self.change) * point.plus;
        let life = |rho: f64| critical::residual_life(&law, rho);
        let (first, second) = (life(point.minus), life(plus));
        let witness = witness! { "slopes" => [first, second], "rho" => [point.minus, plus] };
        Ok(Outcome::equal(second / first, 1.0, TOLERANCE, witness))
    }
}
