//! Almost orthogonal embeddings (Appendix C): how many dimensions they take, and the terms they add to Theorem 1.

use super::setting::*;
use crate::dynamics::{Cause, Form, Run, account};
use attnlab_core::linalg::{product, symmetric_eigen};
use attnlab_core::stats::log_log_slope;
use ndarray::s;

/// The inner products (count, count) of random unit vectors.
fn gram(count: usize, dim: usize, number: u64, streams: &Streams) -> Array2<f64> {
    let mut u = normal_matrix(dim, count, &mut streams.part("embeddings", number));
    for mut column in u.columns_mut() {
        let norm = column.dot(&column).sqrt();
        column /= norm;
    }
    product(u.t(), u.view())
}

/// The largest |u_i·u_j| over i ≠ j.
fn coherence(gram: &Array2<f64>) -> f64 {
    gram.indexed_iter().filter(|((i, j), _)| i < j).fold(0.0, |m: f64, (_, x)| m.max(x.abs()))
}

/// Sets that a trial draws until one is almost orthogonal: one fails with a probability below M^{-2}, all below 2e-5.
const DRAWS: u64 = 8;
/// Largest number of multiplications for the inner products of a set: some seconds.
const MOST_WORK: f64 = 4e9;

/// The claim that d = 8 ε⁻² ln M dimensions hold M almost orthogonal vectors.
#[derive(Serialize, Deserialize)]
pub struct NearOrthogonal {
    /// The factor 8.
    factor: f64,
}

impl NearOrthogonal {
    /// The factor as printed.
    pub const PRINTED: Self = NearOrthogonal { factor: 8.0 };
}

impl Claim for NearOrthogonal {
    from_sheet!("joma.near_orthogonal", trials = 40);

    fn schema(&self) -> Schema {
        vec![EMBEDDINGS.or(200), EPSILON.or(0.3)]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let (tokens, epsilon) = (params.real(EMBEDDINGS), params.get(EPSILON));
        let work = tokens * tokens * self.factor * epsilon.powi(-2) * tokens.ln();
        let allowed = format!(
            "must keep tokens^2 x dimensions, here {work:.1e}, at {MOST_WORK:.0e} or fewer with epsilon = {epsilon}; \
             a trial takes seconds there. Choose fewer tokens or a larger epsilon"
        );
        require(work <= MOST_WORK, EMBEDDINGS.name, tokens, allowed)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (tokens, epsilon) = (params.get(EMBEDDINGS), params.get(EPSILON));
        let dim = (self.factor * epsilon.powi(-2) * (tokens as f64).ln()).ceil() as usize;
        let draw = |i: u64| coherence(&gram(tokens, dim.max(1), i, streams));
        let mut least = f64::INFINITY;
        for i in 0..DRAWS {
            least = least.min(draw(i));
            if least <= epsilon {
                break;
            }
        }
        let witness = witness! { "dimensions" => dim, "largest_inner_product" => least };
        Ok(Outcome::Event { holds: least <= epsilon, witness })
    }

    fn memory(&self, params: &Params) -> u64 {
        let (tokens, epsilon) = (params.real(EMBEDDINGS), params.get(EPSILON));
        (8.0 * tokens * (tokens + self.factor * epsilon.powi(-2) * tokens.ln())) as u64
    }
}

/// The claim that the invariant of Theorem 1 gets additional terms of order ε.
#[derive(Serialize, Deserialize)]
pub struct EpsilonTerms {
    /// The order claimed.
    order: f64,
}

impl EpsilonTerms {
    /// The order as printed.
    pub const PRINTED: Self = EpsilonTerms { order: 1.0 };
}

/// Largest inner products of the embeddings.
const OVERLAPS: [f64; 4] = [0.001, 0.003, 0.01, 0.03];
/// Largest weight or logit, and time of the flow, at which training ends: as in the claims on Theorem 1.
const MOST: f64 = 3.0;
const UNTIL: f64 = 4.0;
/// Least movement of the squared weights, and least drift, in an informative trial: a hundred times the integrator's error,
/// which then bends the slope by less than .01.
const LEAST_MOVED: f64 = 1e-4;
const LEAST_DRIFT: f64 = 4e-7;
/// Distance of the mean slope from the order: the terms of the next order, relative to the first some times ε up to .03,
/// bend it by up to some hundredths.
const BAND: f64 = 0.1;

/// Contextual and query embeddings with inner products ε R, R those of random unit vectors scaled to a
/// largest one of 1; in as many dimensions as there are embeddings.
fn embeddings(tokens: usize, epsilon: f64, streams: &Streams) -> Result<Embeddings> {
    let mut g = gram(tokens + 1, 4 * (tokens + 1), 0, streams);
    g *= epsilon / coherence(&g);
    g.diag_mut().fill(1.0);
    let (values, axes) = symmetric_eigen(g.view())?;
    // The symmetric root: the nearest to orthonormal.
    let root = product((&axes * &values.mapv(f64::sqrt)).view(), axes.t());
    Ok(Embeddings { context: root.slice(s![.., ..tokens]).to_owned(), query: root.column(tokens).to_owned() })
}

impl Claim for EpsilonTerms {
    from_sheet!("joma.near_orthogonal_terms", trials = 10);

    fn schema(&self) -> Schema {
        layer_schema("linear")
    }

    fn validate(&self, params: &Params) -> Result<()> {
        affordable(params, &[NODES, SAMPLES], MOST_TRAINED)?;
        // ‖ε R‖ ≤ ε M keeps the matrix of inner products positive definite.
        let (tokens, most) = (params.get(TOKENS), OVERLAPS[OVERLAPS.len() - 1]);
        let allowed = format!("must be at most 33; inner products go up to {most}");
        require(tokens as f64 * most < 1.0, TOKENS.name, tokens, allowed)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (mut drifts, mut causes) = (vec![], vec![]);
        let mut still = false;
        for epsilon in OVERLAPS {
            let layer = random_layer(Attention::Exp, params, "positive", streams)?;
            let layer = layer.with_embeddings(embeddings(params.get(TOKENS), epsilon, streams)?)?;
            let start = normal_state(layer.zero().len(), 0.5, streams);
            let run = Run::Flow(Flow::new(Method::Tsit45).within(1e-12));
            let account = account(&layer, &start, UNTIL, MOST, run, Form::DERIVED)?;
            still |= account.weights_moved < LEAST_MOVED || account.drift < LEAST_DRIFT;
            drifts.push(account.drift);
            causes.push(account.main_cause().name());
        }
        if still {
            let witness = witness! { "relative_drift" => drifts };
            return Ok(Outcome::uninformative("the weights hardly move: dead nodes", witness));
        }
        let slope = log_log_slope(&OVERLAPS, &drifts, 0.95)?.value;
        Ok(Outcome::Value {
            value: slope,
            witness: witness! {
                "epsilon" => OVERLAPS.to_vec(), "relative_drift" => drifts, "slope" => slope,
                "main_cause" => causes,
                "assumptions" => [Cause::Context.name(), Cause::Query.name()],
            },
        })
    }

    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(self.order - BAND, self.order + BAND)
    }
}
