//! Lemma 4, after Eq. (59): which ratios of weights have critical points.

use super::upper;
use attnlab_lab::prelude::*;

/// The claim that a_-/a_+ and a_+/a_- are below `most` at critical points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Whether it is the printed claim or a mutant of it, by the sheet that it bears.
    printed: bool,
    /// Whether the pairs are those with ρ_- ≥ 0 alone.
    upper_half: bool,
    most: f64,
}

impl Range {
    /// The range for all critical points, as printed.
    pub const PRINTED: Self = Range {
        printed: true,
        upper_half: false,
        most: 2.0,
    };
    /// The range for pairs with ρ_- ≥ 0.
    pub const CORRECTED: Self = Range {
        printed: false,
        upper_half: true,
        most: 2.0,
    };
}

impl Claim for Range {
    fn sheet(&self) -> &'static Sheet {
        match self.printed {
            true => sheet!("joma.lemma4_range"),
            false => sheet!("joma.lemma4_range_corrected"),
        }
    }

    fn schema(&self) -> Schema {
        match self.upper_half {
            true => upper::schema(),
            false => super::schema(),
        }
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        match self.upper_half {
            true => upper::hypotheses(params),
            false => super::hypotheses(params),
        }
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        super::TRIALS
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let found = match self.upper_half {
            true => {
                let (law, share) = upper::law(params, streams)?;
                upper::pair(&law, share)
            }
            false => super::draw(params, streams)?,
        };
        let point = match found {
            Ok(point) => point,
            Err(none) => return Ok(none),
        };
        let ratio = point.weight;
        let holds = match self.upper_half {
            true => ratio > 1.0 && ratio < self.most,
            false => (1.0 / self.most..self.most).contains(&(1.0 / ratio)),
        };
        let witness = witness! { "ratio" => ratio, "rho" => [point.minus, point.plus] };
        Ok(Outcome::Event { holds, witness })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let narrow = Range {
            upper_half: true,
            most: 1.05,
            ..*self
        };
        vec![Mutant::new("narrow", narrow).drawn_as("joma.lemma4_range_corrected")]
    }
}
