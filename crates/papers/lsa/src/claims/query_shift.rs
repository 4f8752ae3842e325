//! A shift of the query's law alone.

use super::setting::{PER_SECOND, covariance, normal_task, training_schema, trials_of_ratio, validate};
use crate::prompts::{PromptTask, RegressionPrompts};
use crate::quantities::{CONTEXT, DIM, EXAMPLES, TEST_PROMPTS};
use crate::theory::{Covariance, Law, Pretraining, Target, risk_at_query};
use attnlab_lab::prelude::*;
use ndarray::ArrayView1;

/// The test risk when the query has another covariance than the examples.
#[derive(Default, Serialize, Deserialize)]
pub struct QueryShift {
    /// Flag of a mutant: the query counts as if it had the covariance of the examples.
    query_as_examples: bool,
    /// Flag of a mutant: the examples count as if they had the covariance of the query.
    examples_as_query: bool,
}

impl QueryShift {
    fn claimed(&self, training: &Pretraining, query: &Covariance, target: &Target, m: usize) -> f64 {
        let moments = |covariance| target.moments(covariance, 0.0);
        let (here, there) = (moments(training.covariance()), moments(query));
        let law = |covariance, moments| Law { covariance, moments };
        let (unshifted, shifted) = (law(training.covariance(), &here), law(query, &there));
        let examples = if self.examples_as_query { shifted } else { unshifted };
        let query = if self.query_as_examples { unshifted } else { shifted };
        risk_at_query(training, examples, query, Some(m)).total()
    }
}

/// Queries per test prompt.
const QUERIES: usize = 8;
/// Overhead of a prompt, in multiplications.
const PER_PROMPT: f64 = 300.0;

impl Claim for QueryShift {
    from_sheet!("lsa.query_shift");

    fn schema(&self) -> Schema {
        training_schema(4, 5.0, 20, [EXAMPLES.within(Domain::Whole(1, 1_000_000)).or(30), TEST_PROMPTS.or(4000)])
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn seconds(&self, params: &Params) -> f64 {
        let per_prompt = (params.real(EXAMPLES) + QUERIES as f64) * params.real(DIM).powi(2);
        params.real(TEST_PROMPTS) * (PER_PROMPT + per_prompt) / PER_SECOND
    }

    /// By the layer at the limit of training; query and examples have covariances on axes of their own. The
    /// value is the mean squared error over the claimed one: 1 in the mean.
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (n, m) = (params.get(CONTEXT), params.get(EXAMPLES));
        let training = Pretraining::new(covariance(params, streams)?, n, 0.0)?;
        let query = covariance(params, &streams.child("query", 0))?;
        let task = normal_task(training.dim(), streams);
        let target = Target::Linear { task };
        let claimed = self.claimed(&training, &query, &target, m);
        let weights = training.limit(0.0).rotated(training.covariance().axes().t());
        let prompts = RegressionPrompts {
            covariance: training.covariance().clone(),
            query: Some(query),
            examples: m,
            task: PromptTask::Fixed(target.clone()),
            noise_var: 0.0,
        };
        let (mut rng, mut sum) = (streams.part("prompts", 0), 0.0);
        for _ in 0..params.get(TEST_PROMPTS) {
            let (examples, queries) = prompts.draw_queries(&target, QUERIES, &mut rng);
            let predictions = weights.predictions(examples.view(), queries.view(), m as f64);
            let off = |(x, y): (ArrayView1<f64>, &f64)| (y - target.value(x)).powi(2);
            sum += queries.columns().into_iter().zip(&predictions).map(off).sum::<f64>() / QUERIES as f64;
        }
        let mean = sum / params.real(TEST_PROMPTS);
        Ok(Outcome::Value { value: mean / claimed, witness: witness! { "mean_square" => mean, "claimed" => claimed } })
    }

    /// 1 within 2 %: twice the half-width of the 95 % interval at the defaults; the mutants are off by 40 % and more.
    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(0.98, 1.02)
    }

    fn default_trials(&self, params: &Params) -> u64 {
        trials_of_ratio(params.get(EXAMPLES))
    }
}
