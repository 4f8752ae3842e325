//! Where gradient flow takes linear self-attention: the lecture notes' first theorem.

use super::lsa_setting::{covariance, scale_spec, theorem_start, training_schema, validate};
use super::*;
use crate::attention::{Phi, SingleHead};
use crate::dynamics::flow::{Flow, Method};
use crate::dynamics::lsa::Reduced;
use crate::linalg::normal_matrix;
use crate::theory::lsa::{Training, Weights};
use crate::witness;
use ndarray::{Array2, s};

/// From the theorem's initial weights gradient flow leads to $\Gamma_N^{-1}$.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limit {
    gamma: Gamma,
}

/// Which Γ is claimed.
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
    fn matrix(self, training: &Training) -> Array2<f64> {
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
pub(super) fn limit_of_flow(training: &Training, start: &Weights) -> Result<(Weights, usize)> {
    let flow = Reduced::new(training, start).ok_or_else(|| {
        Error::Numerical("the reduced flow needs initial weights with v = c = 0".into())
    })?;
    let until = LIFETIMES * training.lifetime();
    let path = Flow::new(Method::Bdf).run(&flow, &flow.start(), &[until])?;
    Ok((flow.weights(path.end()), path.steps))
}

impl Claim for Limit {
    fn card(&self) -> Card {
        Card {
            id: "lsa.limit",
            paper: Paper::Notes,
            equation: "first theorem (Zhang, Frei and Bartlett, JMLR 2024)",
            title: "Gradient flow takes linear self-attention to Γ_N⁻¹",
            statement: "For a suitable random init, GF converges to a global min of $L(\\theta)$. \
                        Moreover, if $\\Gamma_N := (1 + \\frac1N)\\Lambda + \\frac1N tr(\\Lambda) I_d$, the \
                        transformer converges to a network which satisfies, for any \
                        $(x_i, y_i)_{i=1}^M$, $\\hat y = x^T\\Gamma_N^{-1}(\\frac1M\\sum_{i=1}^M y_ix_i)$.",
            kind: Kind::Identity,
            expected: VerdictKind::Supported,
            corrected: Some(
                "The normaliser ρ, which the notes leave open, must be N in training and M at test. \
                 Suitable means $v = c = 0$ and better than predicting 0; from dense weights the flow \
                 can end in a local minimum (`lsa.local_minimum`).",
            ),
        }
    }

    fn schema(&self) -> Schema {
        let mut schema = training_schema(20, 1000.0, 40);
        schema.push(scale_spec(0.1));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let (d, n) = (params.f64("dim"), params.f64("N"));
        // The eigenvalues of Λ are at most 1, so those of Γ at most this.
        let gamma = 1.0 + (1.0 + d) / n;
        vec![Hypothesis::new(
            "suitable init",
            "σ² ||Γ|| √d < 2 (Assumption 3.3 of Zhang, Frei and Bartlett), for any Λ drawn",
            (2.0 / (gamma * d.sqrt())).sqrt() - params.f64("scale"),
        )]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = Training::new(covariance(params, streams)?, params.usize("N"), 0.0)?;
        let start = theorem_start(&training, params.f64("scale"), streams)?;
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
        let variant = |name, says, gamma| Mutant::new(name, says, Limit { gamma });
        vec![
            variant("no-trace", "Γ = (1 + 1/N) Λ", Gamma::NoTrace),
            variant("infinite-context", "Γ = Λ", Gamma::Infinite),
            variant("query-counted", "Γ with N + 1 for N", Gamma::Query),
        ]
    }
}

impl Limit {
    /// The trained layer's prediction on a prompt whose labels are any numbers, against
    /// xᵀΓ⁻¹b̂: Γ times the row vector that predicts, relative to the sizes of x and b̂.
    fn prediction(
        &self,
        training: &Training,
        end: &Weights,
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
            phi: Phi::Linear,
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
