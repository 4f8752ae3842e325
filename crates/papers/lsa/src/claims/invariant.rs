//! The quantity that gradient flow of linear self-attention conserves: notes, proof ingredient 2.

use super::setting::{PER_SECOND, covariance, dense_start, training_schema, validate};
use crate::dynamics::{Empirical, Full};
use crate::quantities::{BATCH, CONTEXT, DIM, SCALE};
use crate::theory::{LsaWeights, Pretraining};
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Flow, Method, VectorField, Watch, descend};

/// |v|² + u² - ‖B‖² - |c|² is constant along the flow, from any weights.
#[derive(Default, Serialize, Deserialize)]
pub struct Invariant {
    /// Flag of a mutant: u² + ‖B‖² + |v|² + |c|² is.
    sum: bool,
    /// Flag of a mutant: u² - ‖B‖² is, which holds from v = c = 0 only.
    without_vectors: bool,
    /// A mutant: gradient descent with this step size instead of the flow.
    eta: Option<f64>,
}

/// Dense weights meet curvatures of order u²(tr Λ)², as the even part of the prediction holds the square of
/// the labels: some hundred at d = 20, 1e5 at d = 200, where the pair would take millions of steps.
fn integrator(d: usize, finer: f64) -> Flow {
    if d <= 20 {
        // Tighter than the drift to be seen by more than the number of steps.
        return Flow::new(Method::Tsit45).within(1e-12 * finer);
    }
    // Of order 2, it drifts by some ten times the tolerance: 3e-9 of what is allowed, 1e-8.
    Flow::new(Method::Chebyshev).within(2e-10 * finer)
}

/// Largest drift relative to the squared norm: the project's promise for conserved quantities.
const CONSERVED: f64 = 1e-8;

/// Factor of the integrator's tolerance at which a larger drift is looked at again: one of the integrator's own
/// shrinks with it, by large weights it is above [`CONSERVED`] at the first tolerance.
const FINER: f64 = 1.0 / 16.0;

/// Drift of a quantity along a path.
struct Drift {
    largest: f64,
    /// Largest squared norm of the weights.
    size: f64,
    steps: usize,
}

/// Gradients of a flow.
const GRADIENTS: f64 = 1e4;

/// Time of the flow: from scale 0.5 the loss is within a few per cent of its last value.
const UNTIL: f64 = 50.0;

impl Claim for Invariant {
    from_sheet!("lsa.invariant", trials = 10);

    fn schema(&self) -> Schema {
        training_schema(4, 5.0, 8, [SCALE.or(0.3), BATCH.or(0)])
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn seconds(&self, params: &Params) -> f64 {
        let [d, n, prompts] = [DIM, CONTEXT, BATCH].map(|q| params.real(q));
        let features = 0.5 * d * (d + 1.0) * (d + 2.0);
        let gradient = (4.0 * prompts * (d + 1.0).powi(2)).min(features * features);
        (GRADIENTS * gradient + n * prompts * d * d) / PER_SECOND
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = Pretraining::new(covariance(params, streams)?, params.get(CONTEXT), 0.0)?;
        let d = training.dim();
        let start = dense_start(d, params.get(SCALE), streams);
        let empirical;
        let population = Full(&training);
        let field: &dyn VectorField = match params.get(BATCH) {
            0 => &population,
            count => {
                empirical = Empirical::draw(&training, count, &mut streams.part("prompts", 0))?;
                &empirical
            }
        };
        let from = start.to_vec();
        let mut drift = self.drift(field, &from, d, 1.0)?;
        if self.eta.is_none() && drift.largest > CONSERVED * drift.size {
            drift = self.drift(field, &from, d, FINER)?;
        }
        let witness = witness! {
            "largest_drift" => drift.largest, "largest_squared_norm" => drift.size, "steps" => drift.steps,
        };
        Ok(Outcome::equal(drift.largest / drift.size, 0.0, CONSERVED, witness))
    }
}

impl Invariant {
    /// The quantity that is claimed to be constant.
    fn quantity(&self, w: &LsaWeights) -> f64 {
        match (self.sum, self.without_vectors) {
            (true, _) => w.norm2(),
            (_, true) => w.u * w.u - w.b.iter().map(|x| x * x).sum::<f64>(),
            _ => w.conserved(),
        }
    }

    /// Measures the drift along training from the weights `from`, of d inputs, at a factor of the integrator's
    /// tolerance.
    fn drift(&self, field: &dyn VectorField, from: &[f64], d: usize, finer: f64) -> Result<Drift> {
        let mut size = 0.0_f64;
        let mut look = |_: f64, x: &[f64]| size = size.max(LsaWeights::of_slice(d, x).norm2());
        let quantity = |x: &[f64]| vec![self.quantity(&LsaWeights::of_slice(d, x))];
        let watch = Watch { event: None, conserved: Some(&quantity), step: Some(&mut look) };
        let path = match self.eta {
            None => integrator(d, finer).watched(field, from, &[UNTIL], watch)?,
            Some(eta) => descend(field, from, eta, &[UNTIL], watch)?,
        };
        Ok(Drift { largest: path.drifts[0].largest, size, steps: path.steps })
    }
}
