//! A shift of the query's law alone.

use super::lsa_setting::{covariance, normal_task, training_schema, validate};
use super::*;
use crate::attention::{Phi, SingleHead};
use crate::sample::{Prompts, Task};
use crate::theory::lsa::{Covariance, Law, Target, Training, risk, risk_at_query};
use crate::witness;

/// The test risk when the query has another covariance than the examples.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueryShift {
    form: Form,
}

/// Which risk is claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Form {
    /// The predictor of the examples, measured at the query.
    #[default]
    Derived,
    /// The query's covariance does not matter.
    None,
    /// As if the examples had been shifted too.
    Both,
}

impl QueryShift {
    fn claimed(&self, training: &Training, query: &Covariance, target: &Target, m: usize) -> f64 {
        let moments = |covariance| target.moments(covariance, 0.0);
        let (here, there) = (moments(training.covariance()), moments(query));
        let law = |covariance, moments| Law {
            covariance,
            moments,
        };
        let examples = law(training.covariance(), &here);
        let query = law(query, &there);
        let found = match self.form {
            Form::Derived => risk_at_query(training, examples, query, Some(m)),
            Form::None => risk(training, examples.covariance, &here, Some(m)),
            Form::Both => risk(training, query.covariance, &there, Some(m)),
        };
        found.total()
    }
}

impl Claim for QueryShift {
    fn card(&self) -> Card {
        Card {
            id: "lsa.query_shift",
            paper: Paper::Notes,
            equation: "first theorem and its remarks",
            title: "A shift of the query alone leaves the predictor as it is",
            statement: "The transformer satisfies, for any $(x_i, y_i)_{i=1}^M$, $\\hat y = \
                        x^T\\Gamma_N^{-1}(\\frac1M\\sum_{i=1}^M y_ix_i)$. (So for a query of covariance \
                        $\\Lambda_q$ and $y = \\langle a, x\\rangle$, $\\mathbb E(\\hat y - y)^2 = \\frac1M \
                        tr(\\Sigma\\Gamma_N^{-1}\\Lambda_q\\Gamma_N^{-1}) + \
                        \\|(\\Gamma_N^{-1}\\Lambda - I)a\\|^2_{\\Lambda_q}$, which vanishes as $N, M \\to \
                        \\infty$ whatever $\\Lambda_q$.)",
            kind: Kind::Law,
            expected: VerdictKind::Supported,
            corrected: None,
        }
    }

    fn schema(&self) -> Schema {
        let mut schema = training_schema(4, 5.0, 20);
        schema.extend([
            Spec::new(
                "M",
                Domain::Whole(1, 1_000_000),
                30,
                "examples in a test prompt",
            ),
            Spec::new(
                "prompts",
                Domain::Whole(1, 100_000_000),
                4000,
                "test prompts in a trial",
            ),
        ]);
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    /// Through the attention operator; query and examples have covariances on axes of their own. The
    /// value is the mean squared error over the claimed one: 1 in the mean.
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (n, m) = (params.usize("N"), params.usize("M"));
        let training = Training::new(covariance(params, streams)?, n, 0.0)?;
        let query = covariance(params, &streams.child("query", 0))?;
        let task = normal_task(training.dim(), streams);
        let target = Target::Linear { task };
        let claimed = self.claimed(&training, &query, &target, m);
        let axes = training.covariance().axes();
        let (w_pv, w_kq) = training.limit(0.0).rotated(axes.t()).matrices();
        let layer = SingleHead {
            w_pv,
            w_kq,
            phi: Phi::Linear,
            rho: m as f64,
        };
        let prompts = Prompts {
            covariance: training.covariance().clone(),
            query: Some(query),
            examples: m,
            task: Task::Fixed(target),
            noise_var: 0.0,
        };
        let (mut rng, mut sum) = (streams.part("prompts", 0), 0.0);
        for _ in 0..params.usize("prompts") {
            let prompt = prompts.draw(&mut rng);
            sum += (layer.predict(prompt.tokens().view())? - prompt.answer).powi(2);
        }
        let mean = sum / params.f64("prompts");
        Ok(Outcome::Value {
            value: mean / claimed,
            witness: witness! { "mean_square" => mean, "claimed" => claimed },
        })
    }

    /// 1 within 2 %: twice the half-width of the 95 % interval at the defaults; the mutants are off by
    /// 40 % and more.
    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(0.98, 1.02)
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        40
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![
            Mutant::new(
                "no-shift",
                "the query's covariance does not matter",
                QueryShift { form: Form::None },
            ),
            Mutant::new(
                "both",
                "it acts as if the examples had it too",
                QueryShift { form: Form::Both },
            ),
        ]
    }
}
