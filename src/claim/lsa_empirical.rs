//! Training on B prompts: how fast its limit tends to that of the population loss.

use super::lsa_setting::{covariance, theorem_start, training_schema, validate};
use super::*;
use crate::dynamics::flow::{Flow, Method};
use crate::dynamics::lsa::Empirical;
use crate::stats::log_log_slope;
use crate::theory::lsa::{Training, Weights};
use crate::witness;

/// The flow on the empirical loss ends at a distance of order B^{-1/2} from Γ_N⁻¹.
#[derive(Clone, Copy, Debug)]
pub struct EmpiricalLimit {
    slope: f64,
    /// A mutant: towards Γ without the label noise.
    noiseless: bool,
}

impl Default for EmpiricalLimit {
    fn default() -> Self {
        EmpiricalLimit {
            slope: -0.5,
            noiseless: false,
        }
    }
}

/// Numbers of prompts. From the first on the loss is close enough to its limit for the order to show.
const PROMPTS: [usize; 4] = [300, 1000, 3000, 10_000];

/// ‖uB + vcᵀ - Γ⁻¹‖ / ‖Γ⁻¹‖ (Frobenius) at the end of the flow on the loss of `count` prompts.
fn distance(training: &Training, count: usize, noiseless: bool, streams: &Streams) -> Result<f64> {
    let d = training.dim();
    let loss = Empirical::draw(training, count, &mut streams.part("prompts", 0))?;
    let axes = training.covariance().axes();
    let start = theorem_start(training, SCALE, streams)?.rotated(axes.t());
    // As long as the population's slowest mode needs to fall to the tolerance of the integrator.
    let until = 25.0 * training.lifetime();
    let path = Flow::new(Method::Bdf)
        .within(1e-8)
        .run(&loss, &start.to_vec(), &[until])?;
    let noise_var = if noiseless { 0.0 } else { training.noise_var() };
    let claimed = Training::new(training.covariance().clone(), training.context(), noise_var)?;
    let target = claimed.gamma_inverse();
    let off = Weights::of_slice(d, path.end()).product() - &target;
    let norm = |a: &ndarray::Array2<f64>| a.iter().map(|x| x * x).sum::<f64>().sqrt();
    Ok(norm(&off) / norm(&target))
}

/// σ of the theorem's start: inside its condition at the defaults, and no long plateau.
const SCALE: f64 = 0.3;

impl Claim for EmpiricalLimit {
    fn card(&self) -> Card {
        Card {
            id: "lsa.empirical_limit",
            paper: Paper::Notes,
            equation: "definition of L̂ and L, before the first theorem",
            title: "Trained on B prompts, the layer is within order B^{-1/2} of Γ_N⁻¹",
            statement: "$\\hat L(\\theta) = \\frac{1}{2B}\\sum_{z=1}^B(\\hat y^{(z)}_{query} - \
                        y^{(z)}_{N+1})^2$; consider the limit as $B \\to \\infty$: this is the \"infinite \
                        pretraining data\" limit. (Measured: gradient flow on $\\hat L$ from the theorem's \
                        start ends at $W$ with $\\|W - \\Gamma_N^{-1}\\| \\propto B^{-1/2}$.)",
            kind: Kind::Law,
            expected: VerdictKind::Supported,
            corrected: Some(
                "With label noise of variance σ² in training, $\\Gamma_N = (1 + \\frac1N)\\Lambda + \
                 \\frac1N(tr(\\Lambda) + \\sigma^2) I$: the limit without it is missed at any B (the mutant \
                 `noiseless`).",
            ),
        }
    }

    fn schema(&self) -> Schema {
        let mut schema = training_schema(2, 2.0, 8);
        schema.push(Spec::new(
            "noise_var",
            Domain::NON_NEGATIVE,
            1.0,
            "σ², variance of the label noise in training",
        ));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)?;
        // 6545 features and as many squared moments of 8 bytes: some hundred MB.
        if params.usize("dim") > 12 {
            let allowed = "at most 12: the moments of the loss grow like dim^6";
            return Err(Error::invalid("dim", params.usize("dim"), allowed));
        }
        Ok(())
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (n, noise_var) = (params.usize("N"), params.f64("noise_var"));
        let training = Training::new(covariance(params, streams)?, n, noise_var)?;
        let of = |(i, count)| {
            let streams = streams.child("size", i as u64);
            distance(&training, count, self.noiseless, &streams)
        };
        let distances = PROMPTS
            .into_iter()
            .enumerate()
            .map(of)
            .collect::<Result<Vec<f64>>>()?;
        let sizes = PROMPTS.map(|b| b as f64);
        let slope = log_log_slope(&sizes, &distances, 0.95)?.value;
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

    fn default_trials(&self, _params: &Params) -> u64 {
        60
    }

    fn mutants(&self) -> Vec<Mutant> {
        let slope = |slope| EmpiricalLimit { slope, ..*self };
        vec![
            Mutant::new("one-over-b", "the distance falls like 1/B", slope(-1.0)),
            Mutant::new("fourth-root", "like B^{-1/4}", slope(-0.25)),
            Mutant::new(
                "noiseless",
                "the limit is Γ_N⁻¹ as printed, whatever the label noise in training",
                EmpiricalLimit {
                    noiseless: true,
                    ..*self
                },
            ),
        ]
    }
}
