//! The population loss in closed form, against prompts through the attention operator.

use super::lsa_setting::{covariance, dense_start, scale_spec, training_schema, validate};
use super::*;
use crate::attention::{Phi, SingleHead};
use crate::sample::Prompts;
use crate::theory::lsa::{Training, Weights};
use crate::witness;
use ndarray::s;

/// L(θ) at dense weights is what the closed form says.
#[derive(Clone, Copy, Debug, Default)]
pub struct PopulationLoss {
    form: Form,
}

/// What is claimed to be the loss.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Form {
    /// The closed form.
    #[default]
    Derived,
    /// Its odd part alone.
    OddOnly,
    /// The same, of a layer whose E Eᵀ leaves the query out.
    WithoutQuery,
}

impl Claim for PopulationLoss {
    fn card(&self) -> Card {
        Card {
            id: "lsa.population_loss",
            paper: Paper::Notes,
            equation: "definition of L, before the first theorem",
            title: "The population loss in closed form, at any weights",
            statement: "$L(\\theta) = \\lim_{B\\to\\infty}\\hat L(\\theta) = \\frac12\\mathbb E[(\\hat y_{query} - \
                        y_{N+1})^2]$. (In closed form: odd plus even part, derived in `theory::lsa`.)",
            kind: Kind::Law,
            expected: VerdictKind::Supported,
            corrected: None,
        }
    }

    fn schema(&self) -> Schema {
        let mut schema = training_schema(3, 3.0, 3);
        schema.push(scale_spec(0.4));
        schema.push(Spec::new(
            "noise_var",
            Domain::NON_NEGATIVE,
            0.3,
            "σ², variance of the label noise",
        ));
        schema.push(Spec::new(
            "prompts",
            Domain::Whole(1, 100_000_000),
            10_000,
            "prompts in a trial",
        ));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    /// Every trial has its own Λ and weights. The value is the mean loss of the prompts over the
    /// closed form: 1 in the mean.
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let noise_var = params.f64("noise_var");
        let training = Training::new(covariance(params, streams)?, params.usize("N"), noise_var)?;
        let (n, d) = (training.context(), training.dim());
        let weights = dense_start(d, params.f64("scale"), streams);
        let claimed = self.claimed(&training, &weights);
        let (w_pv, w_kq) = weights.rotated(training.covariance().axes().t()).matrices();
        let layer = SingleHead {
            w_pv,
            w_kq,
            phi: Phi::Linear,
            rho: n as f64,
        };
        let prompts = Prompts::of_training(&training);
        let (mut rng, mut sum) = (streams.part("prompts", 0), 0.0);
        for _ in 0..params.usize("prompts") {
            let prompt = prompts.draw(&mut rng);
            let mut predicted = layer.predict(prompt.tokens().view())?;
            if self.form == Form::WithoutQuery {
                predicted -= of_query(&prompt.query, &weights, &training) / n as f64;
            }
            sum += 0.5 * (predicted - prompt.answer).powi(2);
        }
        let mean = sum / params.f64("prompts");
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

    fn default_trials(&self, _params: &Params) -> u64 {
        60
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, says, form| Mutant::new(name, says, PopulationLoss { form });
        vec![
            variant(
                "odd-only",
                "without the part even in the labels",
                Form::OddOnly,
            ),
            variant(
                "without-query",
                "of a layer that does not attend to its query",
                Form::WithoutQuery,
            ),
        ]
    }
}

impl PopulationLoss {
    fn claimed(&self, training: &Training, weights: &Weights) -> f64 {
        if self.form != Form::OddOnly {
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
fn of_query(x: &ndarray::Array1<f64>, weights: &Weights, training: &Training) -> f64 {
    let x = training.covariance().axes().t().dot(&x.slice(s![..]));
    x.dot(&weights.b.t().dot(&x)) * x.dot(&weights.v)
}
