//! Theorem 3, Eqs. (72) to (74): whether critical points attract.

use crate::theory::CriticalPoint;
use attnlab_lab::prelude::*;

/// The claim that C(μ) is positive definite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Definite {
    /// Whether it is the printed claim or a mutant of it, by the sheet that it bears.
    printed: bool,
    /// Whether C(μ) is taken by (73) and (74).
    printed_betas: bool,
    /// The mutant: C(μ) never is.
    never: bool,
}

impl Definite {
    /// C(μ) by (73) and (74).
    pub const PRINTED: Self = Definite {
        printed: true,
        printed_betas: true,
        never: false,
    };
    /// C(μ) of the corrected field.
    pub const CORRECTED: Self = Definite {
        printed: false,
        printed_betas: false,
        never: false,
    };
}

impl Claim for Definite {
    fn sheet(&self) -> &'static Sheet {
        match self.printed {
            true => sheet!("joma.theorem3_definite"),
            false => sheet!("joma.theorem3_definite_corrected"),
        }
    }

    fn schema(&self) -> Schema {
        super::schema()
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        super::hypotheses(params)
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        super::TRIALS
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let point = match super::draw(params, streams)? {
            Ok(point) => point,
            Err(none) => return Ok(none),
        };
        let (betas, length) = match self.printed_betas {
            // The printed field has its critical point with these r at |μ| = 1.
            true => {
                let at_one = CriticalPoint {
                    length: 1.0,
                    ..point
                };
                (at_one.betas_printed(), 1.0)
            }
            false => (point.betas(), point.length),
        };
        let rates = [betas.one, betas.one + betas.two * length * length];
        let positive = rates.iter().all(|r| *r > 0.0);
        Ok(Outcome::Event {
            holds: positive != self.never,
            witness: witness! { "across" => rates[0], "along" => rates[1], "rho" => [point.minus, point.plus] },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let never = Definite {
            printed: self.printed,
            never: true,
            ..Self::CORRECTED
        };
        vec![Mutant::new("indefinite", never).drawn_as("joma.theorem3_definite_corrected")]
    }
}
