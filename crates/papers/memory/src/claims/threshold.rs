//! The sharp threshold of the load.

use super::weight::{kappa, others, seconds};
use crate::quantities::{DIM, LAMBDA, MARGIN};
use crate::theory::sphere::{ln_mean, scatter, threshold};
use attnlab_lab::prelude::*;
use ndarray::s;

/// The threshold α_1(λ) from both sides.
#[derive(Default, Serialize, Deserialize)]
pub struct Threshold {
    /// Shift of the threshold; 0 but for mutants.
    shift: f64,
}

/// Probability with which both sides are right.
const BOTH: f64 = 0.9;

/// Share of the draws in which a side may be wrong, half of the rest each.
const WRONG: f64 = 0.05;

/// The largest number of patterns of a trial, which then takes seconds at most.
const MOST: f64 = 200_000.0;

impl Threshold {
    /// Computes the numbers of patterns below and above the threshold.
    fn loads(&self, params: &Params) -> [f64; 2] {
        let alpha = threshold(params.get(LAMBDA)) + self.shift;
        [-1.0, 1.0].map(|side| {
            let load = alpha + side * params.get(MARGIN);
            (load * params.real(DIM)).exp().ceil().max(2.0)
        })
    }
}

impl Claim for Threshold {
    from_sheet!("memory.alpha1", trials = 120);

    fn schema(&self) -> Schema {
        vec![
            DIM.within(Domain::Whole(2, 64)).or(16),
            LAMBDA.within(Domain::closed(0.01, 3.0)).or(0.4),
            MARGIN.within(Domain::closed(0.01, 1.0)).or(0.25),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let [_, high] = self.loads(params);
        let allowed = format!(
            "must leave {MOST} patterns at most; above the threshold at d = {} there are {high:.2e}. Take a smaller lambda, s \
             or d",
            params.get(DIM)
        );
        require(high <= MOST, LAMBDA.name, params.get(LAMBDA), allowed)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let (d, kappa) = (params.get(DIM), kappa(params));
        // Of the law, whatever a mutant makes of it.
        let [low, high] = Threshold::default().loads(params);
        let mean = ln_mean(d, kappa).exp();
        // Markov: the sum exceeds 1 with at most its mean. Chebyshev: it is below 1 with at most variance/(mean − 1)².
        let above = (high - 1.0) * mean;
        let missed = if above > 1.0 { above * mean * scatter(d, kappa) / (above - 1.0).powi(2) } else { f64::INFINITY };
        vec![
            Hypothesis::new(
                "below",
                "d → ∞ [here: below the threshold the others have 1/20 of the own weight at most, in the mean]",
                WRONG - (low - 1.0) * mean,
            ),
            Hypothesis::new(
                "above",
                "d → ∞ [here: above it they have less than the own weight in 1/20 of the draws at most]",
                WRONG - missed,
            ),
        ]
    }

    fn promise(&self, _params: &Params) -> Promise {
        Promise::AtLeast(BOTH)
    }

    fn memory(&self, params: &Params) -> u64 {
        let [_, high] = self.loads(params);
        (16.0 * high * (params.real(DIM) + 1.0)) as u64
    }

    fn seconds(&self, params: &Params) -> f64 {
        let [_, high] = self.loads(params);
        seconds(params.real(DIM), high)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let [low, high] = self.loads(params).map(|n| n as usize);
        let weights = others(params.get(DIM), high, kappa(params), streams)?;
        let (below, above) = (weights.slice(s![..low - 1]).sum(), weights.sum());
        Ok(Outcome::Event {
            holds: below < 1.0 && above > 1.0,
            witness: witness! {
                "patterns_below" => low, "others_below" => below, "patterns_above" => high, "others_above" => above,
            },
        })
    }
}
