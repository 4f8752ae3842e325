//! The weight that a pattern keeps for itself, and the sharp threshold of the load.

use crate::quantities::{DIM, LAMBDA, PATTERNS, SLACK, closed};
use crate::theory::sphere::{ln_mean, scatter, threshold};
use crate::theory::stored::uniform;
use attnlab_core::rng::Generator;
use attnlab_lab::prelude::*;

/// Draws N patterns and returns the weights of the others at the first one, relative to its own and summed over the first
/// `few` of them and over all.
fn others(d: usize, n: usize, kappa: f64, few: usize, rng: &mut Generator) -> Result<[f64; 2]> {
    let unit = uniform(d, n, 1.0, rng)?;
    let cosines = unit.t().dot(&unit.column(0));
    let mut sums = [0.0; 2];
    for (j, u) in cosines.iter().enumerate().skip(1) {
        let weight = (kappa * (u - 1.0)).exp();
        sums[1] += weight;
        if j < few {
            sums[0] += weight;
        }
    }
    Ok(sums)
}

/// Share by which the mean may be off.
const BAND: f64 = 0.05;

/// Most trials that are taken for it.
const MOST_TRIALS: f64 = 20_000.0;

/// Mean weight of the others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weight {
    variant: Variant,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Variant {
    #[default]
    Genuine,
    /// The mutant: the mean in one dimension more.
    NextDimension,
    /// The mutant: N weights instead of N − 1.
    All,
}

impl Weight {
    fn needed(&self, params: &Params) -> f64 {
        let (d, n) = (params.get(DIM), params.real(PATTERNS));
        let kappa = params.get(LAMBDA) * d as f64;
        (4.4 / (0.75 * BAND)).powi(2) * scatter(d, kappa) / (n - 1.0)
    }
}

impl Claim for Weight {
    fn sheet(&self) -> &'static Sheet {
        sheet!("memory.own_weight")
    }

    fn schema(&self) -> Schema {
        vec![
            DIM.within(Domain::Whole(2, 64)).or(12),
            PATTERNS.within(Domain::Whole(2, 20_000)).or(200),
            LAMBDA.within(closed(0.01, 3.0)).or(0.5),
        ]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let printed = "the sum concentrates [here: 20000 trials give its mean to within 5 %]";
        let room = MOST_TRIALS / self.needed(params) - 1.0;
        vec![Hypothesis::new("enough trials", printed, room)]
    }

    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(1.0 - BAND, 1.0 + BAND)
    }

    fn default_trials(&self, params: &Params) -> u64 {
        self.needed(params).ceil().clamp(60.0, MOST_TRIALS) as u64
    }

    fn seconds(&self, params: &Params) -> f64 {
        params.real(PATTERNS) * (params.real(DIM) * 2e-8 + 2e-8)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (d, n) = (params.get(DIM), params.get(PATTERNS));
        let kappa = params.get(LAMBDA) * d as f64;
        let [_, sum] = others(d, n, kappa, 0, &mut streams.part("patterns", 0))?;
        let (dims, count) = match self.variant {
            Variant::Genuine => (d, n - 1),
            Variant::NextDimension => (d + 1, n - 1),
            Variant::All => (d, n),
        };
        let expected = count as f64 * ln_mean(dims, kappa).exp();
        Ok(Outcome::Value {
            value: sum / expected,
            witness: witness! { "own_weight" => 1.0 / (1.0 + sum), "expected_sum" => expected },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let of = |name, variant| Mutant::new(name, Weight { variant });
        vec![of("next-dimension", Variant::NextDimension), of("all", Variant::All).with(PATTERNS, 5)]
    }
}

/// The threshold α_1(λ) from both sides.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    /// Shift of the threshold; 0 but for the mutants.
    shift: f64,
}

impl Default for Threshold {
    fn default() -> Self {
        Threshold { shift: 0.0 }
    }
}

/// Probability with which both sides are right.
const BOTH: f64 = 0.9;

/// Others' weight relative to the own one, at least and at most, that a mean must promise on the two sides: by Markov's
/// and Chebyshev's inequalities each side is then wrong in a twentieth of the draws at most.
const LOW: f64 = 0.05;

/// Most patterns of a trial, so that it takes seconds at most.
const MOST: f64 = 200_000.0;

impl Threshold {
    /// Numbers of patterns below and above the threshold.
    fn loads(&self, params: &Params) -> [f64; 2] {
        let alpha = threshold(params.get(LAMBDA)) + self.shift;
        [-1.0, 1.0].map(|side| {
            let load = alpha + side * params.get(SLACK);
            (load * params.real(DIM)).exp().ceil().max(2.0)
        })
    }
}

impl Claim for Threshold {
    fn sheet(&self) -> &'static Sheet {
        sheet!("memory.alpha1")
    }

    fn schema(&self) -> Schema {
        vec![
            DIM.within(Domain::Whole(2, 64)).or(16),
            LAMBDA.within(closed(0.01, 3.0)).or(0.4),
            SLACK.within(closed(0.01, 1.0)).or(0.25),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let [_, high] = self.loads(params);
        if high <= MOST {
            return Ok(());
        }
        let allowed = format!(
            "must leave {MOST} patterns at most; above the threshold there are {high:.3e}. Take a smaller lambda or s"
        );
        Err(Error::invalid(DIM.name, params.get(DIM), allowed))
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let d = params.get(DIM);
        let kappa = params.get(LAMBDA) * d as f64;
        // Of the law, whatever a mutant makes of it.
        let [low, high] = Threshold::default().loads(params);
        let mean = ln_mean(d, kappa).exp();
        // Chebyshev: the sum is below 1 with probability at most variance/(mean − 1)².
        let above = (high - 1.0) * mean;
        let missed = match above > 1.0 {
            true => above * mean * scatter(d, kappa) / (above - 1.0).powi(2),
            false => f64::INFINITY,
        };
        vec![
            Hypothesis::new(
                "below",
                "d → ∞ [here: below the threshold the others have 1/20 of the own weight at most]",
                LOW - (low - 1.0) * mean,
            ),
            Hypothesis::new(
                "above",
                "d → ∞ [here: above it their sum is less than the own weight in 1/20 of the draws at most]",
                LOW - missed,
            ),
        ]
    }

    fn promise(&self, _params: &Params) -> Promise {
        Promise::AtLeast(BOTH)
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        120
    }

    fn memory(&self, params: &Params) -> u64 {
        let [_, high] = self.loads(params);
        (16.0 * high * (params.real(DIM) + 1.0)) as u64
    }

    fn seconds(&self, params: &Params) -> f64 {
        let [_, high] = self.loads(params);
        high * (params.real(DIM) * 2e-8 + 2e-8)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let d = params.get(DIM);
        let kappa = params.get(LAMBDA) * d as f64;
        let [low, high] = self.loads(params).map(|n| n as usize);
        let sums = others(d, high, kappa, low, &mut streams.part("patterns", 0))?;
        Ok(Outcome::Event {
            holds: sums[0] < 1.0 && sums[1] > 1.0,
            witness: witness! {
                "patterns_below" => low, "others_below" => sums[0],
                "patterns_above" => high, "others_above" => sums[1],
            },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![
            Mutant::new("higher", Threshold { shift: 0.3 }).with(SLACK, 0.1),
            Mutant::new("lower", Threshold { shift: -0.3 }),
        ]
    }
}
