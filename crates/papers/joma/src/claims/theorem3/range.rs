//! Lemma 4, after Eq. (59): which ratios of weights have critical points.

use super::upper;
use crate::claims::setting::*;

/// The claim that a_-/a_+ and a_+/a_- are below `most` at critical points.
#[derive(Serialize, Deserialize)]
pub struct Range {
    printed: bool,
    /// Flag: the pairs are those with ρ_- ≥ 0 alone.
    upper_half: bool,
    most: f64,
}

impl Range {
    /// The range for all critical points, as printed.
    pub const PRINTED: Self = Range { printed: true, upper_half: false, most: 2.0 };
    /// The range for pairs with ρ_- ≥ 0.
    pub const CORRECTED: Self = Range { printed: false, upper_half: true, most: 2.0 };
}

impl Claim for Range {
    from_sheet!(
        self,
        if self.printed { sheet!("joma.lemma4_range") } else { sheet!("joma.lemma4_range_corrected") },
        trials = super::TRIALS
    );

    fn schema(&self) -> Schema {
        if self.upper_half { upper::schema() } else { super::schema() }
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        if self.upper_half { upper::hypotheses(params) } else { super::hypotheses(params) }
    }

    /// Under leaky ReLU the pairs that there are lie close together.
    fn expected(&self, params: &Params) -> VerdictKind {
        match !self.upper_half && params.get(ACTIVATION) == "leaky-relu" {
            true => VerdictKind::Supported,
            false => self.sheet().expected,
        }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let pair = match self.upper_half {
            true => {
                let (law, share) = upper::law(params, streams)?;
                upper::pair(&law, share)
            }
            false => super::draw(params, streams)?,
        };
        let Some(point) = pair else { return Ok(super::none()) };
        // By F: θ_1 above 1/2 could not leave the range. At a pair both ratios are a_-/a_+.
        let f = |rho: f64| point.law.f(point.slopes, rho);
        let ratio = f(point.plus) / f(point.minus);
        let holds = match self.upper_half {
            true => ratio > 1.0 && ratio < self.most,
            false => (1.0 / self.most..self.most).contains(&(1.0 / ratio)),
        };
        Ok(Outcome::Event { holds, witness: witness! { "ratio" => ratio, "rho" => [point.minus, point.plus] } })
    }
}
