//! The closed forms of this room by name, for `attnlab eval`.

use crate::claims::setting::horizon_law;
use crate::quantities::*;
use crate::theory::softmax::{self, Range};
use crate::theory::{printed, threshold};
use attnlab_lab::formula::Formula;
use attnlab_lab::prelude::*;
use serde_json::json;

const HORIZON: &str = "AoT Theorem 1, pattern (30), derived in attnlab_aot::theory::horizon";

/// All closed forms of this room.
pub fn formulas() -> Vec<Formula> {
    vec![
        Formula {
            id: "aot.horizon_lambda",
            doc: "expected number of columns that break the pattern (30) at theta (sharp form)",
            source: HORIZON,
            schema: || horizon_schema(&[THETA.within(SCALE).required()]),
            value: |p| Ok(horizon_law(p)?.lambda(p.get(THETA)).into()),
        },
        Formula {
            id: "aot.horizon_theta",
            doc: "theta by which the pattern (30) has broken with this probability",
            source: HORIZON,
            schema: || horizon_schema(&[probability()]),
            value: |p| Ok(horizon_law(p)?.theta(p.get(PROBABILITY))?.into()),
        },
        Formula {
            id: "aot.horizon_layers",
            doc: "number of exact updates before the pattern (30) has broken with this probability",
            source: HORIZON,
            schema: || horizon_schema(&[probability(), ETA.required()]),
            value: |p| Ok(horizon_law(p)?.exact_updates(p.get(ETA), p.get(PROBABILITY))?.into()),
        },
        Formula {
            id: "aot.self_match_lambda",
            doc: "expected ordered in-cluster pairs i != j with <a_i,a_j> >= |a_i|^2",
            source: "AoT Lemma 3, Case 1 at theta = 1: N(N/K-1)/2 I_{1/2}(p/2, 1/2)",
            schema: || vec![size(TOKENS), size(CLUSTERS), size(DIM)],
            value: |p| {
                let (n, k) = balanced(p)?;
                Ok(printed::self_match_lambda(n, k, p.get(DIM)).into())
            },
        },
        Formula {
            id: "aot.tau_upper",
            doc: "upper end of the interval for tau, and log(1 - it), which does not round to 1",
            source: "AoT Eq. (29): 1/(1 + N exp(-9p/32))",
            schema: || vec![size(TOKENS.meaning("number of tokens")), size(DIM)],
            value: |p| {
                let (end, ln_rest) = printed::tau_upper(p.get(TOKENS), p.get(DIM));
                Ok(json!([end, ln_rest]))
            },
        },
        Formula {
            id: "aot.proof_theta",
            doc: "largest theta that the printed proof covers",
            source: "AoT Lemma 2 (iv), last display, with theta times the scores as Lemma 3 needs",
            schema: || mixture_schema(&[]),
            value: |p| {
                let (n, k) = balanced(p)?;
                Ok(printed::proof_theta(n, k, p.get(DIM), p.get(DELTA)).into())
            },
        },
        Formula {
            id: "aot.min_tokens",
            doc: "least N from which on N >= 8 pi K^2 log^3 N holds",
            source: "AoT Eq. (11)",
            schema: || vec![size(CLUSTERS)],
            value: |p| Ok(printed::min_tokens(p.get(CLUSTERS))?.into()),
        },
        Formula {
            id: "aot.softmax_first_layer",
            doc: "factor by which one layer with plain softmax multiplies the SNR",
            source: "AoT Eqs. (3), (6) with phi = softmax, derived in attnlab_aot::theory::softmax",
            schema: || mixture_schema(&[ETA.required()]),
            value: |p| {
                let (n, k) = balanced(p)?;
                let (dim, delta, eta) = (p.get(DIM), p.get(DELTA), p.get(ETA));
                in_range([n, k, dim], delta, eta)?;
                Ok(softmax::first_layer(n, k, dim, delta, eta).into())
            },
        },
        Formula {
            id: "aot.threshold_first_layer",
            doc: "factor by which one layer with a hard threshold on raw scores multiplies the SNR",
            source: "AoT Eqs. (3), (6) with phi(x) = tau 1{x > tau}, derived in attnlab_aot::theory::threshold",
            schema: || mixture_schema(&[ETA.required(), SCORE_TAU.required()]),
            value: |p| {
                let (n, k) = balanced(p)?;
                let (delta, eta, tau) = (p.get(DELTA), p.get(ETA), p.get(SCORE_TAU));
                Ok(threshold::first_layer([n, k, p.get(DIM)], delta, eta, tau)?.into())
            },
        },
    ]
}

/// N, K and p up to where whole numbers are exact in double precision. Nothing has a default: a closed
/// form is asked at parameters that one means.
fn size(quantity: Quantity<usize>) -> Spec {
    quantity.within(Domain::Whole(1, 1 << 53)).required()
}

/// Range of δ and θ: powers of them, up to the sixth, are finite and not 0. Without noise there is nothing to compute.
const SCALE: Domain = Domain::closed(1e-30, 1e30);

/// Probability of the break: Λ has no digits far below.
fn probability() -> Spec {
    PROBABILITY.within(Domain::right_open(1e-30, 1.0)).required()
}

/// N, K, p, δ and what else a form needs.
fn mixture_schema(more: &[Spec]) -> Schema {
    [&[size(TOKENS), size(CLUSTERS), size(DIM), DELTA.within(SCALE).required()], more].concat()
}

fn horizon_schema(more: &[Spec]) -> Schema {
    let tau = TAU.within(Domain::OPEN_UNIT).required();
    [mixture_schema(&[tau]), more.to_vec()].concat()
}

/// Refuses parameters outside the range of [`softmax::first_layer`].
fn in_range([tokens, clusters, dim]: [usize; 3], delta: f64, eta: f64) -> Result<()> {
    let several = "must be a whole number >= 2: the noise is that of other clusters";
    require(clusters >= 2, CLUSTERS.name, clusters, several)?;
    let most = softmax::MOST_NEGLECTED;
    let Range { neglected, own_head, .. } = softmax::range(tokens, clusters, dim, delta, eta);
    let larger = format!(
        "must be larger; other tokens of its own head take {own_head:.2e} of a token's attention, and the form allows \
         {most}"
    );
    require(own_head <= most, DIM.name, dim, larger)?;
    let smaller = format!(
        "must be smaller (or tokens larger); the first term that the form leaves out is {neglected:.2e} of the factor, \
         above {most}. Simulate it with: attnlab check aot.softmax_rate --beyond-hypotheses"
    );
    require(neglected <= most, DELTA.name, delta, smaller)
}

/// N and K with K dividing N.
fn balanced(p: &Params) -> Result<(usize, usize)> {
    let (n, k) = (p.get(TOKENS), p.get(CLUSTERS));
    require(n.is_multiple_of(k), TOKENS.name, n, format!("must be a positive multiple of clusters = {k}"))?;
    Ok((n, k))
}
