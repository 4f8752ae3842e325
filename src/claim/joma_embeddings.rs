//! JoMA's discussion of almost orthogonal embeddings (Appendix C): how many dimensions they take, and the
//! additional terms of Theorem 1.

use super::joma_setting::{activation_spec, normal_state, random_layer, sizes};
use super::*;
use crate::dynamics::flow::{Flow, Method};
use crate::dynamics::joma::{Attention, Cause, Embeddings, Form, Run, account};
use crate::linalg::{normal_matrix, product, symmetric_eigen};
use crate::stats::log_log_slope;
use crate::witness;
use ndarray::{Array2, s};

/// Random unit vectors: their inner products.
fn gram(count: usize, dim: usize, streams: &Streams) -> Array2<f64> {
    let mut u = normal_matrix(dim, count, &mut streams.part("embeddings", 0));
    for mut column in u.columns_mut() {
        let norm = column.dot(&column).sqrt();
        column /= norm;
    }
    product(u.t(), u.view())
}

/// max |u_i·u_j| over i ≠ j.
fn coherence(gram: &Array2<f64>) -> f64 {
    let off = gram.indexed_iter().filter(|((i, j), _)| i < j);
    off.fold(0.0, |m: f64, (_, x)| m.max(x.abs()))
}

/// d = 8 ε⁻² ln M dimensions hold M almost orthogonal vectors.
#[derive(Clone, Copy, Debug)]
pub struct NearOrthogonal {
    /// The factor 8.
    factor: f64,
}

impl Default for NearOrthogonal {
    fn default() -> Self {
        NearOrthogonal { factor: 8.0 }
    }
}

impl Claim for NearOrthogonal {
    fn card(&self) -> Card {
        Card {
            id: "joma.near_orthogonal",
            paper: Paper::Joma,
            equation: "Appendix C, almost orthogonal embeddings",
            title: "8 ε⁻² log M dimensions hold M almost orthogonal embeddings",
            statement: "Thanks to Johnson-Lindenstrauss lemma, one interesting property of high-dimensional \
                        space is that for M embedding vectors to achieve almost orthogonality $|u_i^T u_j| \
                        \\leq \\epsilon$, only $d \\leq 8\\epsilon^{-2}\\log M$ is needed. (Here: M independent \
                        uniform unit vectors in $d = \\lceil 8\\epsilon^{-2}\\ln M\\rceil$ dimensions have it.)",
            kind: Kind::Existence,
            expected: VerdictKind::Supported,
            corrected: Some(
                "Random vectors do it already: $P[|u_i^Tu_j| > \\epsilon] \\leq 2e^{-d\\epsilon^2/2} = \
                 2M^{-4}$ per pair, so that all pairs hold but for a probability below $M^{-2}$. Of the \
                 factor 8 they need 4 as M grows.",
            ),
        }
    }

    fn schema(&self) -> Schema {
        let epsilon = Domain::Number {
            low: 0.02,
            low_in: true,
            high: 1.0,
            high_in: false,
        };
        vec![
            Spec::new(
                "tokens",
                Domain::Whole(2, 5000),
                200,
                "M, embedding vectors",
            ),
            Spec::new(
                "epsilon",
                epsilon,
                0.3,
                "ε, largest |inner product| allowed",
            ),
        ]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (tokens, epsilon) = (params.usize("tokens"), params.f64("epsilon"));
        let dim = (self.factor * epsilon.powi(-2) * (tokens as f64).ln()).ceil() as usize;
        let found = coherence(&gram(tokens, dim.max(1), streams));
        Ok(Outcome::Event {
            holds: found <= epsilon,
            witness: witness! { "dimensions" => dim, "largest_inner_product" => found },
        })
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        40
    }

    fn mutants(&self) -> Vec<Mutant> {
        let factor = |name, says, factor| Mutant::new(name, says, NearOrthogonal { factor });
        vec![
            factor("two", "2 ε⁻² log M dimensions do for random vectors", 2.0),
            factor("one", "ε⁻² log M dimensions do", 1.0),
        ]
    }

    fn memory(&self, params: &Params) -> u64 {
        let (tokens, epsilon) = (params.f64("tokens"), params.f64("epsilon"));
        (8.0 * tokens * (tokens + self.factor * epsilon.powi(-2) * tokens.ln())) as u64
    }
}

/// The invariant of Theorem 1 gets additional terms of order ε.
#[derive(Clone, Copy, Debug)]
pub struct EpsilonTerms {
    /// The order claimed.
    order: f64,
}

impl Default for EpsilonTerms {
    fn default() -> Self {
        EpsilonTerms { order: 1.0 }
    }
}

/// Largest inner products.
const EPSILON: [f64; 4] = [0.001, 0.003, 0.01, 0.03];
/// As in the claims on Theorem 1: training ends when a weight or logit reaches this, or at this time.
const MOST: f64 = 3.0;
const UNTIL: f64 = 4.0;

/// Contextual and query embeddings with inner products ε R, R those of random unit vectors scaled to a
/// largest one of 1; in as many dimensions as there are embeddings.
fn embeddings(tokens: usize, epsilon: f64, streams: &Streams) -> Result<Embeddings> {
    let mut g = gram(tokens + 1, 4 * (tokens + 1), streams);
    g *= epsilon / coherence(&g);
    g.diag_mut().fill(1.0);
    let (values, axes) = symmetric_eigen(g.view())?;
    // The symmetric root: the nearest to orthonormal.
    let root = product((&axes * &values.mapv(f64::sqrt)).view(), axes.t());
    Ok(Embeddings {
        context: root.slice(s![.., ..tokens]).to_owned(),
        query: root.column(tokens).to_owned(),
    })
}

impl Claim for EpsilonTerms {
    fn card(&self) -> Card {
        Card {
            id: "joma.near_orthogonal_terms",
            paper: Paper::Joma,
            equation: "Appendix C, almost orthogonal embeddings",
            title: "With almost orthogonal embeddings the invariant drifts in proportion to ε",
            statement: "As a result, our JoMA framework (Theorem 1) will have additional ε-related terms. \
                        (For exp attention: $\\dot z_m - \\frac12\\frac{d}{dt}\\sum_k v_k^2 = -\\sum_k v_k \
                        \\circ [(U_C^TU_C - I) E(g_{h_k}h_k' b) + U_C^Tu_m E(g_{h_k}h_k')]$, linear in the \
                        inner products to first order.)",
            kind: Kind::Law,
            expected: VerdictKind::Supported,
            corrected: None,
        }
    }

    fn schema(&self) -> Schema {
        let mut schema = sizes();
        schema.push(activation_spec("linear"));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        // ‖ε R‖ ≤ ε M keeps the matrix of inner products positive definite.
        let (tokens, most) = (params.usize("tokens"), EPSILON[EPSILON.len() - 1]);
        if tokens as f64 * most >= 1.0 {
            let allowed = format!("at most 33, where inner products go up to {most}");
            return Err(Error::invalid("tokens", tokens, allowed));
        }
        Ok(())
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let tokens = params.usize("tokens");
        let (mut drifts, mut causes) = (vec![], vec![]);
        for epsilon in EPSILON {
            let layer = random_layer(Attention::Exp, params, "positive", streams)?;
            let layer = layer.with_embeddings(embeddings(tokens, epsilon, streams)?)?;
            let start = normal_state(layer.zero().len(), 0.5, streams);
            let run = Run::Flow(Flow::new(Method::Tsit45).within(1e-12));
            let found = account(&layer, &start, UNTIL, MOST, run, Form::DERIVED)?;
            drifts.push(found.drift);
            causes.push(found.main_cause().name());
        }
        let slope = log_log_slope(&EPSILON, &drifts, 0.95)?.value;
        Ok(Outcome::Value {
            value: slope,
            witness: witness! {
                "epsilon" => EPSILON.to_vec(), "relative_drift" => drifts, "slope" => slope,
                "main_cause" => causes,
                "assumptions" => [Cause::Context.name(), Cause::Query.name()],
            },
        })
    }

    /// The next order, ε itself, bends the slope by some hundredths up to the largest ε.
    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(self.order - 0.1, self.order + 0.1)
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        10
    }

    fn mutants(&self) -> Vec<Mutant> {
        let order = |name, says, order| Mutant::new(name, says, EpsilonTerms { order });
        vec![
            order("square", "the terms are of order ε²", 2.0),
            order("root", "the terms are of order √ε", 0.5),
        ]
    }
}
