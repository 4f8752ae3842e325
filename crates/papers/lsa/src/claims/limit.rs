//! The limit of gradient flow of linear self-attention: the lecture notes' first theorem.

use super::setting::{covariance, theorem_start, training_schema, validate};
use crate::dynamics::{Reduced, from_scale};
use crate::quantities::{CONTEXT, DIM, SCALE};
use crate::theory::{LsaWeights, Pretraining};
use attnlab_core::linalg::normal_matrix;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::{Linear, SingleHead};
use attnlab_theory::dynamics::flow::{Method, Watch};
use ndarray::{Array1, Array2, s};

/// From the theorem's initial weights gradient flow leads to $\Gamma_N^{-1}$.
#[derive(Serialize, Deserialize)]
pub struct Limit {
    /// Factors of Λ/N and of tr(Λ)/N I in Γ.
    own: f64,
    trace: f64,
    /// Added to N in Γ: 1 as if the query were an example.
    more: f64,
}

impl Limit {
    /// Γ = (1 + 1/N) Λ + tr(Λ)/N I, as printed.
    pub const PRINTED: Self = Limit { own: 1.0, trace: 1.0, more: 0.0 };

    /// Eigenvalues (d) of the claimed Γ, in principal axes.
    fn gamma(&self, training: &Pretraining) -> Array1<f64> {
        let (n, lambda) = (training.context() as f64 + self.more, training.covariance());
        lambda.values() * (1.0 + self.own / n) + self.trace * lambda.trace() / n
    }
}

/// Lifetimes of its slowest mode after which a flow has converged to rounding, e⁻⁴⁰ = 4e-18.
const LIFETIMES: f64 = 40.0;

/// Largest entry of uBΓ - I at which a flow has arrived: the tolerance per step of the integrator.
pub(super) const ARRIVED: f64 = 1e-10;

pub(super) struct End {
    /// Weights, in principal axes.
    pub(super) weights: LsaWeights,
    /// Number of steps.
    pub(super) steps: usize,
    /// Largest entry of uBΓ - I.
    distance: f64,
}

impl End {
    /// Returns the end if it is as near as that.
    ///
    /// # Errors
    /// Where the flow did not come so near.
    pub(super) fn within(self, arrived: f64) -> Result<End> {
        if self.distance <= arrived {
            return Ok(self);
        }
        Err(Error::not_converged(format!(
            "the flow comes no nearer to its limit than {:.0e}, and {arrived:.0e} is needed",
            self.distance
        )))
    }
}

/// Runs the flow until uBΓ is I to within `arrived`, or until it must have converged.
pub(super) fn limit_of_flow(training: &Pretraining, start: &LsaWeights, arrived: f64) -> Result<End> {
    let flow = Reduced::new(training, start)
        .ok_or_else(|| Error::undefined("the reduced flow needs initial weights with v = c = 0"))?;
    let values = training.covariance().values();
    // Small weights grow at the rate ‖Λ²‖ first.
    let growth = values.iter().map(|l| l.powi(4)).sum::<f64>().sqrt();
    let plateau = (-start.u.abs().ln()).max(0.0) / growth;
    let until = LIFETIMES * training.lifetime() + 2.0 * plateau;
    let off = |x: &[f64]| distance(&flow.weights(x), training.gamma());
    let near = |x: &[f64]| off(x) - arrived;
    let from = flow.start();
    let path = from_scale(Method::Bdf, &from).watched(&flow, &from, &[until], Watch::until(&near))?;
    // The event is interpolated, so that the distance is `arrived` up to rounding.
    let distance = if path.event.is_some() { arrived } else { off(path.end()) };
    Ok(End { weights: flow.weights(path.end()), steps: path.steps, distance })
}

/// Largest entry of AΓ - I, A = uB + vcᵀ, for a Γ with these eigenvalues, in principal axes: 0 if and only
/// if A is Γ⁻¹, without inverting what is claimed.
fn distance(weights: &LsaWeights, gamma: &Array1<f64>) -> f64 {
    let off = weights.product() * gamma - Array2::<f64>::eye(gamma.len());
    off.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}

/// [`ARRIVED`], and rounding in the sums of a layer of up to 500 dimensions and 1003 examples, 1500 ε, with
/// room for both. A Γ with N + 1 for N is off by 1/N².
const TOLERANCE: f64 = 1e-9;

impl Claim for Limit {
    from_sheet!("lsa.limit", trials = 10);

    fn schema(&self) -> Schema {
        training_schema(20, 1000.0, 40, [SCALE.or(0.1)])
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
        let End { weights: end, steps, .. } = limit_of_flow(&training, &start, ARRIVED)?;
        let gamma = self.gamma(&training);
        let distance = distance(&end, &gamma);
        let prediction = prediction(&training, &end, &gamma, streams)?;
        let witness = witness! {
            "largest_entry_of_uB_Gamma_minus_I" => distance, "prediction_error" => prediction,
            "excess_loss" => training.excess(&end), "steps" => steps,
        };
        Ok(Outcome::equal(distance.max(prediction), 0.0, TOLERANCE, witness))
    }
}

/// The trained layer's prediction on a prompt whose labels are any numbers, against xᵀΓ⁻¹b̂ for a Γ with
/// these eigenvalues; relative to ‖x‖‖Γ⁻¹‖‖b̂‖.
fn prediction(training: &Pretraining, end: &LsaWeights, gamma: &Array1<f64>, streams: &Streams) -> Result<f64> {
    let d = training.dim();
    // Another number of examples than in training.
    let m = 2 * d + 3;
    let mut tokens = normal_matrix(d + 1, m + 1, &mut streams.part("prompt", 0));
    tokens[[d, m]] = 0.0;
    let axes = training.covariance().axes();
    let (w_pv, w_kq) = end.rotated(axes.t()).matrices();
    let prediction = SingleHead { w_pv, w_kq, phi: Linear.into(), rho: m as f64 }.predict(tokens.view())?;
    let x = axes.t().dot(&tokens.slice(s![..d, m]));
    let examples = tokens.slice(s![..d, ..m]);
    let b = axes.t().dot(&examples.dot(&tokens.slice(s![d, ..m]))) / m as f64;
    let claimed = (&x / gamma).dot(&b);
    let least = gamma.iter().copied().fold(f64::INFINITY, f64::min);
    Ok((prediction - claimed).abs() * least / (x.dot(&x) * b.dot(&b)).sqrt())
}
