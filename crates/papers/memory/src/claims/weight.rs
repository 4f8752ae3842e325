//! The weight that a pattern keeps for itself, in the mean.

use crate::patterns::uniform;
use crate::quantities::{DIM, LAMBDA, PATTERNS};
use crate::theory::sphere::{ln_mean, scatter};
use attnlab_lab::prelude::*;
use ndarray::Array1;

/// Draws N patterns and returns the weights of the others at the first one, over its own.
pub(super) fn others(d: usize, n: usize, kappa: f64, streams: &Streams) -> Result<Array1<f64>> {
    let unit = uniform(d, n, 1.0, &mut streams.part("patterns", 0))?;
    Ok(unit.t().dot(&unit.column(0)).iter().skip(1).map(|u| (kappa * (u - 1.0)).exp()).collect())
}

/// Estimates the processor time (s) of [`others`].
pub(super) fn seconds(d: f64, n: f64) -> f64 {
    n * (d + 1.0) * 2e-8
}

/// Computes κ = λd.
pub(super) fn kappa(params: &Params) -> f64 {
    params.get(LAMBDA) * params.real(DIM)
}

/// Share by which the mean may be off.
const BAND: f64 = 0.05;

/// Number of standard errors in three quarters of the band: two for the interval, the rest so that a true mean is not
/// left undecided.
const ERRORS: f64 = 4.4;

/// The largest number of trials, which then take minutes at most.
const MOST_TRIALS: f64 = 20_000.0;

/// Mean weight of the others.
#[derive(Default, Serialize, Deserialize)]
pub struct Weight {
    /// Dimensions that the closed form has in excess.
    dimensions: usize,
    /// Patterns that the closed form has in excess of the N − 1 others.
    patterns: usize,
}

/// Computes the number of trials that the band needs.
fn needed(params: &Params) -> f64 {
    (ERRORS / (0.75 * BAND)).powi(2) * scatter(params.get(DIM), kappa(params)) / (params.real(PATTERNS) - 1.0)
}

impl Claim for Weight {
    from_sheet!("memory.own_weight");

    fn schema(&self) -> Schema {
        vec![
            DIM.within(Domain::Whole(2, 64)).or(12),
            PATTERNS.within(Domain::Whole(2, 20_000)).or(200),
            LAMBDA.within(Domain::closed(0.01, 3.0)).or(0.5),
        ]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let printed = "the sum concentrates [here: 20000 trials give its mean to within 5 %]";
        vec![Hypothesis::new("enough trials", printed, MOST_TRIALS / needed(params) - 1.0)]
    }

    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(1.0 - BAND, 1.0 + BAND)
    }

    fn default_trials(&self, params: &Params) -> u64 {
        needed(params).ceil().clamp(60.0, MOST_TRIALS) as u64
    }

    fn seconds(&self, params: &Params) -> f64 {
        seconds(params.real(DIM), params.real(PATTERNS))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (d, n, kappa) = (params.get(DIM), params.get(PATTERNS), kappa(params));
        let sum = others(d, n, kappa, streams)?.sum();
        let expected = (n - 1 + self.patterns) as f64 * ln_mean(d + self.dimensions, kappa).exp();
        Ok(Outcome::Value {
            value: sum / expected,
            witness: witness! { "own_weight" => 1.0 / (1.0 + sum), "expected_sum" => expected },
        })
    }
}
