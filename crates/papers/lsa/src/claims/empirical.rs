//! Training on B prompts: how fast its limit tends to that of the population loss.

use super::setting::{PER_SECOND, covariance, theorem_start, training_schema, validate};
use crate::dynamics::Empirical;
use crate::quantities::{CONTEXT, DIM, TRAINING_NOISE};
use crate::theory::{LsaWeights, Pretraining};
use attnlab_core::stats::log_log_slope;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Flow, Method};

/// The flow on the empirical loss ends at a distance of order B^{-1/2} from Γ_N⁻¹.
#[derive(Serialize, Deserialize)]
pub struct EmpiricalLimit {
    slope: f64,
    /// Flag of a mutant: towards Γ without the label noise.
    noiseless: bool,
}

impl EmpiricalLimit {
    /// The slope of the statement.
    pub const DERIVED: Self = EmpiricalLimit { slope: -0.5, noiseless: false };
}

/// Numbers of prompts. From the first on the loss is close enough to its limit for the order to show.
const PROMPTS: [usize; 4] = [300, 1000, 3000, 10_000];

/// Least B over d², for the order -1/2 to show: at 12 the slope is -.53, at 5 (d = 8) it is -.60.
const PER_SQUARE: f64 = 12.0;

/// ‖uB + vcᵀ - Γ⁻¹‖ / ‖Γ⁻¹‖ (Frobenius) at the end of the flow on the loss of `count` prompts.
fn distance(training: &Pretraining, count: usize, noiseless: bool, streams: &Streams) -> Result<f64> {
    let d = training.dim();
    let loss = Empirical::draw(training, count, &mut streams.part("prompts", 0))?;
    let start = theorem_start(training, SCALE, streams)?.rotated(training.covariance().axes().t());
    // As long as the population's slowest mode needs to fall to the tolerance of the integrator.
    let path = Flow::new(Method::Bdf).within(1e-8).run(&loss, &start.to_vec(), &[25.0 * training.lifetime()])?;
    let noise_var = if noiseless { 0.0 } else { training.noise_var() };
    let target = Pretraining::new(training.covariance().clone(), training.context(), noise_var)?.gamma_inverse();
    let off = LsaWeights::of_slice(d, path.end()).product() - &target;
    let norm = |a: &ndarray::Array2<f64>| a.iter().map(|x| x * x).sum::<f64>().sqrt();
    Ok(norm(&off) / norm(&target))
}

/// σ of the theorem's start: inside its condition at the defaults, and no long plateau.
const SCALE: f64 = 0.3;

impl Claim for EmpiricalLimit {
    from_sheet!("lsa.empirical_limit");

    fn schema(&self) -> Schema {
        training_schema(2, 2.0, 8, [TRAINING_NOISE.or(1.0)])
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)?;
        // 6545 features and as many squared moments of 8 bytes: some hundred MB.
        let d = params.get(DIM);
        require(d <= 12, DIM.name, d, "must be at most 12; the moments of the loss grow like dim^6")
    }

    fn seconds(&self, params: &Params) -> f64 {
        // Each prompt is drawn, and its moments are summed.
        let drawn = PROMPTS.iter().sum::<usize>() as f64;
        drawn * params.real(CONTEXT) * params.real(DIM).powi(2) / PER_SECOND
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let most = PROMPTS[0] as f64 - PER_SQUARE * params.real(DIM).powi(2);
        vec![Hypothesis::new("asymptotic in B", "B >> d^2 [here: 300 >= 12 d^2 for the least B]", most)]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (n, noise_var) = (params.get(CONTEXT), params.get(TRAINING_NOISE));
        let training = Pretraining::new(covariance(params, streams)?, n, noise_var)?;
        let of = |(i, count)| distance(&training, count, self.noiseless, &streams.child("size", i as u64));
        let distances = PROMPTS.into_iter().enumerate().map(of).collect::<Result<Vec<f64>>>()?;
        let slope = log_log_slope(&PROMPTS.map(|b| b as f64), &distances, 0.95)?.value;
        Ok(Outcome::Value {
            value: slope,
            witness: witness! { "B" => PROMPTS.to_vec(), "distance" => distances, "slope" => slope },
        })
    }

    /// The 95 % interval of the mean of single slopes is some ±0.05 at the defaults; the next order in
    /// 1/B moves the slope by less than that from the smallest B on.
    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(self.slope - 0.1, self.slope + 0.1)
    }

    /// In one dimension the logarithm of a distance, of one normal number, scatters most.
    fn default_trials(&self, params: &Params) -> u64 {
        match params.get(DIM) {
            1 => 400,
            2..=5 => 60,
            // Out of scope, and seconds each.
            _ => 2,
        }
    }
}
