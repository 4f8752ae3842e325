//! Eq. (60): the weight of a node moves along the embeddings of tokens and query.

use super::setting::*;
use crate::dynamics::ByRate;
use attnlab_core::linalg::haar_basis;
use ndarray::{Array1, s};

/// The weight of a node along training, Eq. (60).
#[derive(Default, Serialize, Deserialize)]
pub struct Eq60 {
    /// Relative change of the bias; a mutant's is not 0.
    change: f64,
}

/// Time of training.
const UNTIL: f64 = 3.0;
/// Rounding error of a step, relative to the largest weight: (60) is linear, so that steps keep it to rounding.
const ROUNDING: f64 = 16.0 * f64::EPSILON;
/// Least change of a weight, relative to its size, in an informative trial.
const LEAST_MOVED: f64 = 1e-4;

impl Claim for Eq60 {
    from_sheet!("joma.eq60");

    fn schema(&self) -> Schema {
        layer_schema("softplus")
    }

    fn validate(&self, params: &Params) -> Result<()> {
        affordable(params, &[NODES, SAMPLES], MOST_TRAINED)
    }

    fn default_trials(&self, params: &Params) -> u64 {
        // Few nodes and samples are dead together in about half of the trials.
        if params.get(NODES) * params.get(SAMPLES) < 6 { 40 } else { 12 }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = layer(params, streams)?;
        let size = training.dim();
        // The training with ξ_k behind its state.
        let field = ByRate(size + training.nodes(), |x: &[f64], out: &mut [f64]| {
            training.rate(&x[..size], &mut out[..size]);
            let arriving = training.gradients(&x[..size]) * training.slopes(&x[..size]);
            let xi = arriving.dot(&Array1::from(training.probabilities().to_vec()));
            out[size..].copy_from_slice(&xi.to_vec());
        });
        let start = normal_state(size, 0.5, streams);
        let mut from = start.clone();
        from.resize(field.dim(), 0.0);
        let (end, steps) = trained(&field, &from, UNTIL, training.affordable_steps())?;
        let (end, bias) = end.split_at(size);
        let moved = training.weights(end) - training.weights(&start);
        let d = training.embeddings().query.len();
        let (mut off, mut change, mut largest_weight) = (0.0_f64, 0.0_f64, 0.0_f64);
        for k in 0..training.nodes() {
            let node = |x: &[f64]| Array1::from(x[k * d..(k + 1) * d].to_vec());
            let shift = node(end) - node(&start);
            let Embeddings { context, query } = training.embeddings();
            let mut said = context.dot(&moved.column(k));
            said.scaled_add((1.0 + self.change) * bias[k], query);
            let largest = |a: &Array1<f64>| a.fold(0.0_f64, |m, x| m.max(x.abs()));
            off = off.max(largest(&(&shift - &said)));
            change = change.max(largest(&shift));
            largest_weight = largest_weight.max(largest(&node(end)));
        }
        let witness = witness! { "moved" => change, "xi" => bias, "steps" => steps };
        if change < LEAST_MOVED * largest_weight {
            return Ok(Outcome::uninformative("the weights hardly move: dead nodes", witness));
        }
        Ok(Outcome::equal(off, 0.0, ROUNDING * steps as f64 * largest_weight, witness))
    }
}

/// A random layer under softmax attention and cross-entropy, in more dimensions than embeddings.
fn layer(params: &Params, streams: &Streams) -> Result<Training> {
    let training = random_layer(Attention::Softmax, params, "cross-entropy", streams)?;
    let tokens = training.tokens();
    let basis = haar_basis(tokens + 4, tokens + 1, &mut streams.part("embeddings", 0))?;
    training.with_embeddings(Embeddings {
        context: basis.slice(s![.., ..tokens]).to_owned(),
        query: basis.column(tokens).to_owned(),
    })
}
