//! The population loss in closed form, against prompts through the attention operator.

use super::setting::{PER_SECOND, covariance, dense_start, training_schema, validate};
use crate::prompts::RegressionPrompts;
use crate::quantities::{CONTEXT, DIM, PROMPTS, SCALE, TRAINING_NOISE};
use crate::theory::{LsaWeights, Pretraining};
use attnlab_lab::prelude::*;
use attnlab_theory::attention::{Linear, SingleHead};

/// L(θ) at dense weights is what the closed form says.
#[derive(Default, Serialize, Deserialize)]
pub struct PopulationLoss {
    /// Flag of a mutant: its odd part alone is the loss.
    odd_only: bool,
    /// Flag of a mutant: the layer's E Eᵀ leaves the query out.
    without_query: bool,
}

impl Claim for PopulationLoss {
    from_sheet!("lsa.population_loss", trials = 60);

    fn schema(&self) -> Schema {
        let noise = TRAINING_NOISE.meaning("variance of the label noise").or(0.3);
        training_schema(3, 3.0, 3, [SCALE.or(0.4), noise, PROMPTS.or(10_000)])
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn seconds(&self, params: &Params) -> f64 {
        let (n, d) = (params.real(CONTEXT) + 1.0, params.real(DIM) + 1.0);
        params.real(PROMPTS) * n * (n + d) * d / PER_SECOND
    }

    /// Every trial has its own Λ and weights. The value is the mean loss of the prompts over the
    /// closed form: 1 in the mean.
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = Pretraining::new(covariance(params, streams)?, params.get(CONTEXT), params.get(TRAINING_NOISE))?;
        let (n, d) = (training.context(), training.dim());
        let weights = dense_start(d, params.get(SCALE), streams);
        let claimed = self.claimed(&training, &weights);
        let (w_pv, w_kq) = weights.rotated(training.covariance().axes().t()).matrices();
        let layer = SingleHead { w_pv, w_kq, phi: Linear.into(), rho: n as f64 };
        let prompts = RegressionPrompts::of_training(&training);
        let (mut rng, mut sum) = (streams.part("prompts", 0), 0.0);
        for _ in 0..params.get(PROMPTS) {
            let prompt = prompts.draw(&mut rng);
            let mut predicted = layer.predict(prompt.tokens().view())?;
            if self.without_query {
                predicted -= of_query(&prompt.query, &weights, &training) / n as f64;
            }
            sum += 0.5 * (predicted - prompt.answer).powi(2);
        }
        let mean = sum / params.real(PROMPTS);
        Ok(Outcome::Value {
            value: mean / claimed,
            witness: witness! { "mean_loss" => mean, "closed_form" => claimed },
        })
    }

    /// 1 within 2 %: twice the half-width of the 95 % interval at the defaults, and below every term
    /// of the derivation, of which the smallest, the query in E Eᵀ, is 5 % there.
    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(0.98, 1.02)
    }
}

impl PopulationLoss {
    fn claimed(&self, training: &Pretraining, weights: &LsaWeights) -> f64 {
        if !self.odd_only {
            return training.loss(weights);
        }
        // v = c = 0 leaves the odd part, here with the same product A = uB.
        let mut odd = weights.clone();
        odd.b = weights.product() / weights.u;
        odd.v.fill(0.0);
        odd.c.fill(0.0);
        training.loss(&odd)
    }
}

/// xᵀBᵀx ⟨x, v⟩: N times what the query's own x xᵀ adds to the prediction.
fn of_query(x: &ndarray::Array1<f64>, weights: &LsaWeights, training: &Pretraining) -> f64 {
    let x = training.covariance().axes().t().dot(x);
    x.dot(&weights.b.t().dot(&x)) * x.dot(&weights.v)
}
