//! Linear attention on a subspace: Denoising, Theorem 3.1, and its exact law at finite L.

use super::rate::{self, longest};
use super::setting::*;
use crate::theory::Predictor;

fn schema(context: u64, queries: u64) -> Schema {
    vec![
        AMBIENT.or(16),
        DIM.or(8),
        CONTEXT.or(context),
        TOKEN_VARIANCE.or(2.0),
        NOISE_VARIANCE.or(1.0),
        QUERIES.or(queries),
    ]
}

/// (4) converges to the Bayes optimum: the squared distance falls like 1/L.
#[derive(Default, Serialize, Deserialize)]
pub struct Theorem31 {
    /// αβ = 1/σ_0².
    noiseless: bool,
    /// αβ = 1/σ_Z².
    noise_only: bool,
    /// Relative excess of αβ.
    larger: f64,
}

impl Claim for Theorem31 {
    from_sheet!("denoise.theorem3_1");

    fn schema(&self) -> Schema {
        schema(250, 50)
    }

    fn validate(&self, params: &Params) -> Result<()> {
        subspace_problem(params, params.get(CONTEXT)).validate()
    }

    fn memory(&self, params: &Params) -> u64 {
        let (longest, queries) = (longest(params.get(CONTEXT)), params.get(QUERIES));
        let drawn = subspace_problem(params, longest).memory(queries);
        // Inner products of tokens and queries; the distances of the queries, three arrays of their size.
        let [n, l, q] = [params.get(AMBIENT), longest, queries].map(|count| count as u64);
        memory::total(&[&[drawn], &[8, l, q], &[24, n, q]])
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (s0, sz) = (params.get(TOKEN_VARIANCE), params.get(NOISE_VARIANCE));
        let gamma = match self {
            Theorem31 { noiseless: true, .. } => 1.0 / s0,
            Theorem31 { noise_only: true, .. } => 1.0 / sz,
            _ => (1.0 + self.larger) / (s0 + sz),
        };
        let shortest = params.get(CONTEXT);
        let problem = subspace_problem(params, longest(shortest));
        let prompt = problem.draw(streams)?;
        let (_, queries) = problem.draw_queries(&prompt.prior, params.get(QUERIES), streams)?;
        let best = prompt.prior.project_all(queries.view()) * linear::shrinkage(s0, sz);
        // Of every length all disjoint contexts: (3) at all queries is gamma / L (X X^T) x~.
        let error = |length: usize| {
            let contexts = prompt.context.axis_chunks_iter(Axis(1), length);
            let count = (contexts.len() * queries.ncols()) as f64;
            let squares = |x: ArrayView2<f64>| {
                let distance = x.dot(&x.t().dot(&queries)) * (gamma / length as f64) - &best;
                distance.iter().map(|x| x * x).sum::<f64>()
            };
            contexts.map(squares).sum::<f64>() / count
        };
        let errors: Vec<f64> = rate::lengths(shortest).into_iter().map(error).collect();
        Ok(rate::outcome(shortest, &errors))
    }

    rate::judged_by_exponent!();

    fn default_trials(&self, params: &Params) -> u64 {
        // The errors of many queries know the d (d + 1) / 2 entries of the second moment.
        let d = params.get(DIM);
        rate::trials(d * (d + 1) / 2).max(40)
    }
}

/// The exact loss of linear attention at finite L, which no paper states: what the limit leaves out.
#[derive(Default, Serialize, Deserialize)]
pub struct Theorem31Finite {
    /// The loss in the limit.
    limit: bool,
    /// d/L in place of (d+1)/L.
    off_by_one: bool,
    /// Relative excess of the loss.
    larger: f64,
}

/// Mean loss over law: the interval must lie within this of 1. The default budget resolves half of
/// it, and d in place of d + 1 is three times as far.
const LAW_BAND: f64 = 0.015;

impl Claim for Theorem31Finite {
    from_sheet!("denoise.theorem3_1_finite");

    fn schema(&self) -> Schema {
        let mut schema = schema(30, 100);
        schema.push(
            GAMMA.or_from("1 / (sigma0_2 + sigma_z2)", |p| 1.0 / (p.get(TOKEN_VARIANCE) + p.get(NOISE_VARIANCE))),
        );
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        subspace_problem(params, params.get(CONTEXT)).validate()
    }

    fn seconds(&self, params: &Params) -> f64 {
        (params.real(CONTEXT) + params.real(QUERIES)) * params.real(AMBIENT).powi(2) / PER_SECOND
    }

    fn memory(&self, params: &Params) -> u64 {
        // The second moment of the context has n² entries.
        let n = params.get(AMBIENT) as u64;
        let drawn = subspace_problem(params, params.get(CONTEXT)).memory(params.get(QUERIES));
        memory::total(&[&[drawn], &[8, n, n]])
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (s0, sz, gamma) = (params.get(TOKEN_VARIANCE), params.get(NOISE_VARIANCE), params.get(GAMMA));
        let (d, length) = (params.get(DIM), params.get(CONTEXT));
        let problem = subspace_problem(params, length);
        let (prompt, count) = (problem.draw(streams)?, params.get(QUERIES));
        let (targets, queries) = problem.draw_queries(&prompt.prior, count, streams)?;
        let second = prompt.context.dot(&prompt.context.t()) * (gamma / length as f64);
        let error = second.dot(&queries) - &targets;
        let loss = error.iter().map(|x| x * x).sum::<f64>() / count as f64;
        let tokens = if self.limit { f64::INFINITY } else { length as f64 };
        let mut law = linear::attention_mse(&vec![s0; d], tokens, sz, gamma) * (1.0 + self.larger);
        if self.off_by_one {
            law -= d as f64 * gamma * gamma * (s0 + sz) * s0 * s0 / length as f64;
        }
        let zero = Predictor::Zero.loss(&prompt.prior, length as f64, sz);
        Ok(value(loss / law, witness! { "mean_loss" => loss, "law" => law, "loss_of_zero" => zero }))
    }

    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(1.0 - LAW_BAND, 1.0 + LAW_BAND)
    }

    fn default_trials(&self, params: &Params) -> u64 {
        // (1.96 + 2.33) standard errors must fit into the band.
        (relative_variance(params) * (4.29 / LAW_BAND).powi(2)).clamp(400.0, 50_000.0) as u64
    }
}

/// Estimates the variance of the mean loss of one trial, relative to the law: to first and second order in the
/// deviation of the context's second moment, whose trace has the variance 2 d σ_0⁴/L and whose square scatters by
/// √(4 (1 + 6/L) / d (d + 1)) of its mean, and by the scatter of the queries. A third is added for higher orders.
fn relative_variance(params: &Params) -> f64 {
    let (s0, sz, gamma) = (params.get(TOKEN_VARIANCE), params.get(NOISE_VARIANCE), params.get(GAMMA));
    let (d, length) = (params.real(DIM), params.real(CONTEXT));
    let law = linear::attention_mse(&vec![s0; params.get(DIM)], length, sz, gamma);
    let slope = 2.0 * gamma * s0 * (gamma * (s0 + sz) - 1.0);
    let linear = slope * slope * 2.0 * d * s0 * s0 / length;
    let excess = gamma * gamma * (s0 + sz) * s0 * s0 * d * (d + 1.0) / length;
    let square = excess * excess * 4.0 * (1.0 + 6.0 / length) / (d * (d + 1.0));
    let queries = 2.0 / (params.real(QUERIES) * d);
    4.0 / 3.0 * ((linear + square) / (law * law) + queries)
}
