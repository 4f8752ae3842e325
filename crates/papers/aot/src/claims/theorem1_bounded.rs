//! Theorem 1 as it holds: the linear rate up to a bounded depth.
//!
//! As long as θ_l δ√p stays below (2 - √2) √log N the pattern (30) holds with high probability, and
//! with it the rate (8); above, it fails. The derivation is in [`crate::theory::horizon`]. At finite
//! N the constant is approached from above, so a slack ε > 0 below the limit is on the safe side.
//!
//! **How it is tested.** Up to [`NETWORK_TOKENS`] tokens by the exact horizon of direct
//! draws, which the printed theorem's trials hold against the network itself.
//! Beyond, a draw takes minutes and below the horizon hardly any shows a failure; there a trial is
//! one unbiased value of the expected number of broken columns ([`RareBreaks`]), plus closed-form
//! bounds on what that leaves out. By the union bound their mean is at least the failure
//! probability: below the promised one it supports the claim. It can never refute it.

use super::setting::{hypotheses_29, mixture, mixture_schema, network_schema};
use super::theorem1::{NETWORK_TOKENS, memory, observe};
use crate::quantities::*;
use crate::rare_event::RareBreaks;
use crate::theory::Horizon;
use crate::theory::horizon::LARGE_N_CONSTANT;
use attnlab_core::stats::trials_for_lower_bound;
use attnlab_lab::prelude::*;

/// Theorem 1 for the layers below the horizon, and its mutants.
#[derive(Clone, Copy, Debug, Default)]
pub struct Theorem1Bounded {
    depth: Depth,
}

/// The θ up to which the statement goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Depth {
    /// θ δ√p < (2 - √2 - ε) √log N.
    #[default]
    Below,
    /// θ δ√p < √(2 log N): the freezing point of a single column, which no draw reaches.
    Freezing,
    /// Any θ: the theorem as printed.
    Unbounded,
}

impl Depth {
    fn theta_max(self, params: &Params) -> f64 {
        let root = params.real(TOKENS).ln().sqrt();
        let constant = match self {
            Depth::Below => LARGE_N_CONSTANT - params.get(SLACK),
            Depth::Freezing => std::f64::consts::SQRT_2,
            Depth::Unbounded => f64::INFINITY,
        };
        constant * root / (params.get(DELTA) * params.real(DIM).sqrt())
    }

    /// Number of layers l < L with (1+ητ)^l < θ_max.
    fn layers(self, params: &Params) -> u64 {
        let rate = 1.0 + params.get(ETA) * params.get(TAU);
        let theta_max = self.theta_max(params);
        let below = |l: &u64| rate.powf(*l as f64) < theta_max;
        (0..params.get(LAYERS) as u64).take_while(below).count() as u64
    }
}

fn direct(params: &Params) -> bool {
    match params.get(METHOD) {
        "direct" => true,
        "rare-event" => false,
        _ => params.get(TOKENS) <= NETWORK_TOKENS,
    }
}

fn law(params: &Params) -> Result<Horizon> {
    let [n, k, p] = [TOKENS, CLUSTERS, DIM].map(|q| params.get(q));
    Horizon::new(n, k, p, params.get(DELTA), params.get(TAU))
}

/// The number of updates that the law expects to be exact with probability 1 - `probability`; None
/// where the law does not apply (a single cluster, no noise, τ = 1).
pub(super) fn predicted_updates(params: &Params, probability: f64) -> Option<u64> {
    law(params)
        .ok()?
        .exact_updates(params.get(ETA), probability)
        .ok()
}

impl Claim for Theorem1Bounded {
    fn sheet(&self) -> &'static Sheet {
        sheet!("aot.theorem1_bounded")
    }

    fn schema(&self) -> Schema {
        let mut schema = [mixture_schema(2000, 2, 900), network_schema(12)].concat();
        let slack = Domain::Number {
            low: 0.0,
            low_in: true,
            high: LARGE_N_CONSTANT,
            high_in: false,
        };
        let all_columns = SAMPLED_COLUMNS.within(Domain::Whole(0, 0));
        schema.extend([
            SLACK.within(slack).or(0.1),
            FAILURE_PROBABILITY.or(0.05),
            all_columns.meaning("every column of every head").or(0),
            METHOD.or("auto"),
        ]);
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        mixture(params)?;
        law(params).map(|_| ())
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let needed = 4.0 / std::f64::consts::LN_2 * params.real(TOKENS).ln();
        let dim = Hypothesis::new("dim", "p >= (4 / ln 2) log N", params.real(DIM) - needed);
        [vec![dim], hypotheses_29(params)].concat()
    }

    fn promise(&self, params: &Params) -> Promise {
        let failure = params.get(FAILURE_PROBABILITY);
        if self.depth.layers(params) == 0 {
            // Not even the first layer lies below the horizon: nothing is said.
            Promise::AtLeast(0.0)
        } else if direct(params) {
            Promise::AtLeast(1.0 - failure)
        } else {
            Promise::MeanIn(f64::NEG_INFINITY, failure)
        }
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        if self.depth.layers(params) == 0 {
            VerdictKind::Vacuous
        } else {
            self.sheet().expected
        }
    }

    fn default_trials(&self, params: &Params) -> u64 {
        if !direct(params) {
            // Values spread by less than their mean, which is far below what is promised.
            return 100;
        }
        // Enough to support the promise if none fails.
        let q = 1.0 - params.get(FAILURE_PROBABILITY);
        trials_for_lower_bound(q, 0.95).unwrap_or(1)
    }

    fn memory(&self, params: &Params) -> u64 {
        // A rare event holds the scores of one column.
        if direct(params) {
            memory(params)
        } else {
            24 * params.get(TOKENS) as u64
        }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let rate = 1.0 + params.get(ETA) * params.get(TAU);
        let layers = self.depth.layers(params);
        if direct(params) {
            return observe(params, streams, layers, rate, false);
        }
        let law = law(params)?;
        let theta = rate.powf(layers.saturating_sub(1) as f64);
        let breaks = RareBreaks {
            tokens: law.tokens,
            clusters: law.clusters,
            dim: law.dim,
            delta: law.delta,
            tau: law.tau,
        };
        let value = breaks.draw(theta, streams)?;
        let rest = law.other_breaks(theta).total();
        let witness = witness! {
            "layers" => layers, "theta" => theta, "expected_broken_columns" => value,
            "bound_on_other_breaks" => rest,
        };
        Ok(Outcome::Value {
            value: value + rest,
            witness,
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let freezing = Theorem1Bounded {
            depth: Depth::Freezing,
        };
        let unbounded = Theorem1Bounded {
            depth: Depth::Unbounded,
        };
        // Small enough for the whole budget to take seconds; the horizon is law-like there too.
        vec![
            Mutant::new("freezing", freezing)
                .with(TOKENS, 400)
                .with(DIM, 100),
            Mutant::new("unbounded", unbounded)
                .with(TOKENS, 400)
                .with(DIM, 100),
        ]
    }
}
