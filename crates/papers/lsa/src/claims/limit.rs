//! The limit of gradient flow of linear self-attention: the lecture notes' first theorem.

use super::setting::{covariance, theorem_start, training_schema, validate};
use crate::dynamics::Reduced;
use crate::quantities::{CONTEXT, DIM, SCALE};
use crate::theory::{LsaWeights, Pretraining};
use attnlab_core::linalg::normal_matrix;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::{Linear, SingleHead};
use attnlab_theory::dynamics::flow::{Flow, Method};
use ndarray::{Array2, s};

/// From the theorem's initial weights gradient flow leads to $\Gamma_N^{-1}$.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limit {
    gamma: Gamma,
}

/// The Γ that is claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Gamma {
    /// (1 + 1/N) Λ + tr(Λ)/N I, as printed.
    #[default]
    Printed,
    /// (1 + 1/N) Λ.
    NoTrace,
    /// Λ, the limit for N → ∞.
    Infinite,
    /// With N + 1 for N, as if the query were an example.
    Query,
}

impl Gamma {
    /// The claimed Γ (d, d), in the axes of the data.
    fn matrix(self, training: &Pretraining) -> Array2<f64> {
        let n = training.context() as f64;
        let n = if self == Gamma::Query { n + 1.0 } else { n };
        let lambda = training.covariance();
        let (scale, floor) = match self {
            Gamma::Printed | Gamma::Query => (1.0 + 1.0 / n, lambda.trace() / n),
            Gamma::NoTrace => (1.0 + 1.0 / n, 0.0),
            Gamma::Infinite => (1.0, 0.0),
        };
        lambda.matrix() * scale + Array2::<f64>::eye(training.dim()) * floor
    }
}

/// Lifetimes of its slowest mode after which a flow has converged to rounding, e⁻⁴⁰ = 4e-18.
const LIFETIMES: f64 = 40.0;

/// Runs the flow until it must have converged; the weights at the end, in principal axes, and the
/// number of steps.
pub(super) fn limit_of_flow(
    training: &Pretraining,
    start: &LsaWeights,
) -> Result<(LsaWeights, usize)> {
    let flow = Reduced::new(training, start)
        .ok_or_else(|| Error::undefined("the reduced flow needs initial weights with v = c = 0"))?;
    let until = LIFETIMES * training.lifetime();
    let path = Flow::new(Method::Bdf).run(&flow, &flow.start(), &[until])?;
    Ok((flow.weights(path.end()), path.steps))
}

impl Claim for Limit {
    fn sheet(&self) -> &'static Sheet {
        sheet!("lsa.limit")
    }

    fn schema(&self) -> Schema {
        let mut schema = training_schema(20, 1000.0, 40);
        schema.push(SCALE.or(0.1));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let (d, n) = (params.real(DIM), params.real(CONTEXT));
        // The eigenvalues of Λ are at most 1, so those of Γ at most this.
        let gamma = 1.0 + (1.0 + d) / n;
        vec![Hypothesis::new(
            "suitable init",
            "σ² ||Γ|| √d < 2 (Assumption 3.3 of Zhang, Frei and Bartlett), for any Λ drawn",
            (2.0 / (gamma * d.sqrt())).sqrt() - params.get(SCALE),
        )]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = Pretraining::new(covariance(params, streams)?, params.get(CONTEXT), 0.0)?;
        let start = theorem_start(&training, params.get(SCALE), streams)?;
        let (end, steps) = limit_of_flow(&training, &start)?;
        let end = end.rotated(training.covariance().axes().t());

        // uB Γ = I says that uB is Γ⁻¹, without inverting what is claimed.
        let d = training.dim();
        let gamma = self.gamma.matrix(&training);
        let off = end.product().dot(&gamma) - Array2::<f64>::eye(d);
        let distance = largest(&off);
        let prediction = self.prediction(&training, &end, &gamma, streams)?;
        Ok(Outcome::Gap {
            lhs: distance.max(prediction),
            rhs: 0.0,
            // Some thousand steps of 1e-10 each, with room; a wrong Γ is off by 1/N.
            tol: 1e-6,
            relation: Relation::Equal,
            witness: witness! {
                "largest_entry_of_uB_Gamma_minus_I" => distance,
                "prediction_error" => prediction,
                "excess_loss" => training.excess(&end.rotated(training.covariance().axes().view())),
                "steps" => steps,
            },
        })
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        10
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![
            Mutant::new(
                "no-trace",
                Limit {
                    gamma: Gamma::NoTrace,
                },
            ),
            Mutant::new(
                "infinite-context",
                Limit {
                    gamma: Gamma::Infinite,
                },
            ),
            Mutant::new(
                "query-counted",
                Limit {
                    gamma: Gamma::Query,
                },
            ),
        ]
    }
}

impl Limit {
    /// The trained layer's prediction on a prompt whose labels are any numbers, against
    /// xᵀΓ⁻¹b̂: Γ times the row vector that predicts, relative to the sizes of x and b̂.
    fn prediction(
        &self,
        training: &Pretraining,
        end: &LsaWeights,
        gamma: &Array2<f64>,
        streams: &Streams,
    ) -> Result<f64> {
        let d = training.dim();
        // Another number of examples than in training.
        let m = 2 * d + 3;
        let mut tokens = normal_matrix(d + 1, m + 1, &mut streams.part("prompt", 0));
        tokens[[d, m]] = 0.0;
        // The query Γx in place of x: then Γ⁻¹ cancels, and xᵀb̂ is what must come out.
        let x = tokens.slice(s![..d, m]).to_owned();
        tokens.slice_mut(s![..d, m]).assign(&gamma.dot(&x));
        let (w_pv, w_kq) = end.matrices();
        let layer = SingleHead {
            w_pv,
            w_kq,
            phi: Linear.into(),
            rho: m as f64,
        };
        let found = layer.predict(tokens.view())?;
        let examples = tokens.slice(s![..d, ..m]);
        let b = examples.dot(&tokens.slice(s![d, ..m])) / m as f64;
        let size = (x.dot(&x) * b.dot(&b)).sqrt();
        Ok((found - x.dot(&b)).abs() / size)
    }
}

fn largest(a: &Array2<f64>) -> f64 {
    a.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}
