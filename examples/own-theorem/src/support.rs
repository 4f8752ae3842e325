//! Support of sparsemax: 1 + Poisson(1/β) weights are not 0 on exponential scores, however many there are.

use crate::formulas::expected_support;
use crate::quantities::{SCALE, TOKENS};
use crate::sparsemax::Sparsemax;
use attnlab::attention::Phi;
use attnlab::prelude::*;
use rand_distr::{Distribution, Exp1};

/// Half-width of the promised band, relative to the expected support.
///
/// Error budget: the law is exact, and rounding moves the closed form by less than 1e-12 of it for n ≤ 10⁵
/// and β ≥ 10⁻³. All of the band is room for the interval of the trials, which takes a third of it.
const BAND: f64 = 0.02;

/// Standard errors of the default trials in the half-width of the band: two for the interval, four so that
/// the expected verdict is missed under less than one seed in ten thousand.
const STANDARD_ERRORS: f64 = 6.0;

/// The claim that the mean support is `factor` times E min(n, 1 + Poisson(1/β)), plus `shift`.
#[derive(Serialize, Deserialize)]
pub struct Support {
    factor: f64,
    shift: f64,
}

impl Support {
    /// The claim as it is printed.
    pub const PRINTED: Support = Support { factor: 1.0, shift: 0.0 };
}

/// Draws the scores of one trial and returns the size of the support of sparsemax on them.
pub fn support(params: &Params, streams: &Streams) -> usize {
    let (n, scale) = (params.get(TOKENS), params.get(SCALE));
    let mut rng = streams.part("scores", 0);
    let mut exponential = || -> f64 { Exp1.sample(&mut rng) };
    let mut weights: Vec<f64> = (0..n).map(|_| scale * exponential()).collect();
    Phi::from(Sparsemax).apply(&mut weights);
    weights.iter().filter(|w| **w > 0.0).count()
}

impl Claim for Support {
    from_sheet!("own.support");

    fn schema(&self) -> Schema {
        vec![TOKENS.or(256), SCALE.or(0.1)]
    }

    fn promise(&self, params: &Params) -> Promise {
        let mean = self.factor * expected_support(params) + self.shift;
        Promise::MeanIn(mean * (1.0 - BAND), mean * (1.0 + BAND))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let support = support(params, streams);
        Ok(Outcome::Value { value: support as f64, witness: witness! { "support" => support } })
    }

    fn default_trials(&self, params: &Params) -> u64 {
        // The variance of Poisson(1/β), or the largest of a number between 1 and n.
        let most = (params.real(TOKENS) - 1.0).powi(2) / 4.0;
        let variance = params.get(SCALE).recip().min(most);
        let error = BAND * expected_support(params) / STANDARD_ERRORS;
        (variance / error.powi(2)).ceil().max(100.0) as u64
    }
}
