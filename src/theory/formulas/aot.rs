//! Closed forms of the attention-only transformer.

use super::Formula;
use crate::error::{Error, Result};
use crate::params::{Domain, Params, Schema, Spec};
use crate::theory::{Horizon, printed, softmax, threshold};
use serde_json::json;

const HORIZON: &str = "AoT Theorem 1, pattern (30), derived in attnlab::theory::horizon";

pub(super) fn formulas() -> Vec<Formula> {
    vec![
        Formula {
            id: "aot.horizon_lambda",
            doc: "expected number of columns that break the pattern (30) at theta (sharp form)",
            source: HORIZON,
            schema: || horizon_schema(&[THETA]),
            value: |p| Ok(horizon(p)?.lambda(p.f64("theta")).into()),
        },
        Formula {
            id: "aot.horizon_theta",
            doc: "theta by which the pattern (30) has broken with this probability",
            source: HORIZON,
            schema: || horizon_schema(&[PROBABILITY]),
            value: |p| Ok(horizon(p)?.theta(p.f64("probability"))?.into()),
        },
        Formula {
            id: "aot.horizon_layers",
            doc: "number of exact updates before the pattern (30) has broken with this probability",
            source: HORIZON,
            schema: || horizon_schema(&[PROBABILITY, ETA]),
            value: |p| {
                let updates = horizon(p)?.exact_updates(p.f64("eta"), p.f64("probability"))?;
                Ok(updates.into())
            },
        },
        Formula {
            id: "aot.self_match_lambda",
            doc: "expected ordered in-cluster pairs i != j with <a_i,a_j> >= |a_i|^2",
            source: "AoT Lemma 3, Case 1 at theta = 1: N(N/K-1)/2 I_{1/2}(p/2, 1/2)",
            schema: || schema(&[TOKENS, CLUSTERS, DIM]),
            value: |p| {
                let (n, k) = balanced(p)?;
                Ok(printed::self_match_lambda(n, k, p.usize("dim")).into())
            },
        },
        Formula {
            id: "aot.tau_upper",
            doc: "upper end of the interval for tau, and log(1 - it), which does not round to 1",
            source: "AoT Eq. (29): 1/(1 + N exp(-9p/32))",
            schema: || schema(&[TOKENS, DIM]),
            value: |p| {
                let (end, ln_rest) = printed::tau_upper(p.usize("tokens"), p.usize("dim"));
                Ok(json!([end, ln_rest]))
            },
        },
        Formula {
            id: "aot.proof_theta",
            doc: "largest theta that the printed proof covers",
            source: "AoT Lemma 2 (iv), last display, with theta times the scores as Lemma 3 needs",
            schema: || schema(&[TOKENS, CLUSTERS, DIM, DELTA]),
            value: |p| {
                let (n, k) = balanced(p)?;
                Ok(printed::proof_theta(n, k, p.usize("dim"), p.f64("delta")).into())
            },
        },
        Formula {
            id: "aot.min_tokens",
            doc: "least N from which on N >= 8 pi K^2 log^3 N holds",
            source: "AoT Eq. (11)",
            schema: || schema(&[CLUSTERS]),
            value: |p| Ok(printed::min_tokens(p.usize("clusters"))?.into()),
        },
        Formula {
            id: "aot.softmax_first_layer",
            doc: "factor by which one layer with plain softmax multiplies the SNR",
            source: "AoT Eqs. (3), (6) with phi = softmax, derived in attnlab::theory::softmax",
            schema: || schema(&[TOKENS, CLUSTERS, DIM, DELTA, ETA]),
            value: |p| {
                let (n, k) = balanced(p)?;
                let (dim, delta, eta) = (p.usize("dim"), p.f64("delta"), p.f64("eta"));
                Ok(softmax::first_layer(n, k, dim, delta, eta).into())
            },
        },
        Formula {
            id: "aot.threshold_first_layer",
            doc: "factor by which one layer with a hard threshold on raw scores multiplies the SNR",
            source: "AoT Eqs. (3), (6) with phi(x) = tau 1{x > tau}, derived in attnlab::theory::threshold",
            schema: || schema(&[TOKENS, CLUSTERS, DIM, DELTA, ETA, TAU]),
            value: |p| {
                let (n, k) = balanced(p)?;
                let (delta, eta, tau) = (p.f64("delta"), p.f64("eta"), p.f64("tau"));
                Ok(threshold::first_layer([n, k, p.usize("dim")], delta, eta, tau)?.into())
            },
        },
    ]
}

type Entry = (&'static str, Domain, &'static str);
const TOKENS: Entry = ("tokens", Domain::Whole(1, MOST), "N, number of tokens");
const CLUSTERS: Entry = (
    "clusters",
    Domain::Whole(1, MOST),
    "K, number of clusters and heads",
);
const DIM: Entry = (
    "dim",
    Domain::Whole(1, MOST),
    "p, dimension of each subspace",
);
const DELTA: Entry = ("delta", Domain::POSITIVE, "noise level");
const TAU: Entry = ("tau", Domain::OPEN_UNIT, "threshold");
const ETA: Entry = ("eta", Domain::POSITIVE, "step size");
const THETA: Entry = (
    "theta",
    Domain::POSITIVE,
    "factor of the signal, (1 + eta tau)^l before update l",
);
const PROBABILITY: Entry = (
    "probability",
    Domain::OPEN_UNIT,
    "probability that the pattern has broken",
);
/// Whole numbers up to here are exact in double precision.
const MOST: u64 = 1 << 53;

/// No defaults: a closed form is asked at parameters that one means.
fn schema(entries: &[Entry]) -> Schema {
    let required = |&(name, domain, doc): &Entry| Spec::required(name, domain, doc);
    entries.iter().map(required).collect()
}

fn horizon_schema(more: &[Entry]) -> Schema {
    schema(&[&[TOKENS, CLUSTERS, DIM, DELTA, TAU], more].concat())
}

fn horizon(p: &Params) -> Result<Horizon> {
    let (n, k, dim) = (p.usize("tokens"), p.usize("clusters"), p.usize("dim"));
    Horizon::new(n, k, dim, p.f64("delta"), p.f64("tau"))
}

/// N and K with K dividing N.
fn balanced(p: &Params) -> Result<(usize, usize)> {
    let (n, k) = (p.usize("tokens"), p.usize("clusters"));
    if n.is_multiple_of(k) {
        return Ok((n, k));
    }
    let allowed = format!("a positive multiple of clusters = {k}");
    Err(Error::invalid("tokens", n, allowed))
}
