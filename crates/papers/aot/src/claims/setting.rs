//! The setting that the claims of the attention-only transformer share: the parameters of
//! Definition 1 and of the network, and the printed hypotheses of Lemmas 2 and 3 with their margins.

use crate::quantities::*;
use crate::theory::Horizon;
use crate::theory::printed::{delta_limit, least_dim, tau_upper, token_bound};
use attnlab_lab::prelude::*;
use attnlab_theory::sample::Mixture;

/// N, K, p and δ of Definition 1 in the setting of the proofs: equal clusters, orthonormal bases.
/// δ defaults to the upper end of (11), √(log N / p) / 8.
pub fn mixture_schema(tokens: u64, clusters: u64, dim: u64) -> Schema {
    vec![
        TOKENS.or(tokens),
        CLUSTERS.or(clusters),
        DIM.or(dim),
        DELTA.or_from("sqrt(log(tokens) / dim) / 8", |p| delta_limit(p.real(TOKENS), p.real(DIM))),
    ]
}

/// The same with noise in other subspaces: K ≥ 2 and δ > 0.
pub fn noisy_mixture_schema(tokens: u64, clusters: u64, dim: u64) -> Schema {
    let mut schema = mixture_schema(tokens, clusters, dim);
    schema[1] = CLUSTERS.within(Domain::Whole(2, u64::MAX)).or(clusters);
    schema[3].domain = Domain::POSITIVE;
    schema
}

/// η, τ and the depth L of the unrolled network.
pub fn network_schema(layers: u64) -> Schema {
    vec![ETA.or(0.5), TAU.or(0.55), LAYERS.or(layers)]
}

/// The mixture that the parameters describe.
///
/// # Errors
/// As [`Mixture::balanced`].
pub fn mixture(params: &Params) -> Result<Mixture> {
    Mixture::balanced(params.get(TOKENS), params.get(CLUSTERS), params.get(DIM), params.get(DELTA))
}

/// The law of the horizon at the parameters.
///
/// # Errors
/// As [`Horizon::new`].
pub fn horizon_law(params: &Params) -> Result<Horizon> {
    let [n, k, p] = [TOKENS, CLUSTERS, DIM].map(|q| params.get(q));
    Horizon::new(n, k, p, params.get(DELTA), params.get(TAU))
}

/// Multiplications in a second on one core: large products in f32, with room for slower machines.
pub const PER_SECOND: f64 = 6e10;

/// The time (s) of one draw of every score of every head, each of p multiplications and the work of `more`.
pub fn seconds_of_scores(params: &Params, more: f64) -> f64 {
    params.real(CLUSTERS) * params.real(TOKENS).powi(2) * (params.real(DIM) + more) / PER_SECOND
}

/// Returns `true` if so many draws of every score of every head take some 15 s at most.
pub fn takes_seconds(params: &Params, draws: u64) -> bool {
    draws as f64 * seconds_of_scores(params, 0.0) <= 15.0
}

/// (11): N ≥ 8πK² log³N and δ ≤ √(log N / p) / 8.
fn hypotheses_11(params: &Params) -> Vec<Hypothesis> {
    let (n, p) = (params.real(TOKENS), params.real(DIM));
    let needed = token_bound(n, params.get(CLUSTERS));
    let limit = delta_limit(n, p);
    // The default δ is this limit: one rounding must not put it outside.
    let slack = 4.0 * f64::EPSILON * limit;
    vec![
        Hypothesis::new("tokens (11)", "N >= 8 pi K^2 log^3 N", n - needed),
        Hypothesis::new("delta (11)", "delta <= sqrt(log N / p) / 8", limit + slack - params.get(DELTA)),
    ]
}

/// The hypotheses of Lemma 2: (11) and p ≥ 16 (√log N + 1)².
pub fn hypotheses_lemma2(params: &Params) -> Vec<Hypothesis> {
    let margin = params.real(DIM) - least_dim(params.real(TOKENS), 16.0);
    [hypotheses_11(params), vec![Hypothesis::new("dim (Lemma 2)", "p >= 16 (sqrt(log N) + 1)^2", margin)]].concat()
}

/// (29): 1/2 < τ ≤ 1 / (1 + N exp(-9p/32)), as two hypotheses.
pub fn hypotheses_29(params: &Params) -> Vec<Hypothesis> {
    let tau = params.get(TAU);
    let mut lower = Hypothesis::new("tau (29), lower end", "tau > 1/2", tau - 0.5);
    lower.holds = tau > 0.5;
    // In 1 - τ, which does not round to 0 where the end rounds to 1.
    let (_, ln_rest) = tau_upper(params.get(TOKENS), params.get(DIM));
    let printed = "tau <= 1 / (1 + N exp(-9p/32))";
    let mut upper = Hypothesis::new("tau (29), upper end", printed, (1.0 - tau) - ln_rest.exp());
    upper.holds &= tau < 1.0;
    vec![lower, upper]
}

/// Every hypothesis of Lemma 3 and Theorem 1: (11), p ≥ 64 (√log N + 1)² and (29).
pub fn hypotheses_theorem1(params: &Params) -> Vec<Hypothesis> {
    let margin = params.real(DIM) - least_dim(params.real(TOKENS), 64.0);
    let dim = Hypothesis::new("dim (Lemma 3)", "p >= 64 (sqrt(log N) + 1)^2", margin);
    [hypotheses_11(params), vec![dim], hypotheses_29(params)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn params(set: serde_json::Value) -> Params {
        Params::resolve(&[mixture_schema(2000, 2, 900), network_schema(12)].concat(), set.as_object().unwrap()).unwrap()
    }

    /// (11) holds from N = 177 515 on at K = 2 (solved with mpmath.findroot, 30 digits).
    #[test]
    fn the_boundary_of_11_is_where_it_is_printed() {
        let holds = |n: u64| hypotheses_11(&params(json!({"tokens": n})))[0].holds;
        assert!(!holds(177_514) && holds(177_516) && !holds(2000));
    }

    #[test]
    fn defaults_lie_on_the_boundary_and_the_rest_is_strict() {
        let names = |set| {
            hypotheses_theorem1(&params(set)).into_iter().filter(|h| !h.holds).map(|h| h.name).collect::<Vec<_>>()
        };
        assert_eq!(names(json!({})), ["tokens (11)", "dim (Lemma 3)"]);
        assert_eq!(names(json!({"tokens": 200_000, "dim": 1300})), [""; 0]);
        assert_eq!(names(json!({"tokens": 200_000, "dim": 1300, "tau": 0.5})), ["tau (29), lower end"]);
        assert_eq!(names(json!({"dim": 904})), ["tokens (11)"]);
    }
}
