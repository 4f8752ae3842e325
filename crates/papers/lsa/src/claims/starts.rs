//! Initial weights other than the theorem's: how little "suitable" needs, and the time that a small start costs.

use super::setting::{covariance, dense_start, theorem_start, training_schema, validate};
use crate::dynamics::arrival;
use crate::quantities::{CONTEXT, SCALE};
use crate::theory::{LsaWeights, Pretraining};
use attnlab_core::stats::PowerLaw;
use attnlab_lab::prelude::*;

/// From almost every start with v = c = 0 the flow reaches the global minimum.
#[derive(Default, Serialize, Deserialize)]
pub struct AnyStart {
    /// Flag of a mutant: v and c are normal too.
    dense: bool,
    /// Flag of a mutant: all weights are 0.
    origin: bool,
    /// Flag of a mutant: u = 0 and B orthogonal to Λ², with a zero diagonal, so that no rounding leads off it.
    saddle: bool,
}

/// Share of the first loss gap below which the flow has arrived; every saddle and local minimum has a gap of order 1.
const ARRIVED: f64 = 1e-10;

impl AnyStart {
    /// The weights at the start, in principal axes.
    fn start(&self, training: &Pretraining, scale: f64, streams: &Streams) -> LsaWeights {
        if self.origin {
            return LsaWeights::zeros(training.dim());
        }
        let mut weights = dense_start(training.dim(), scale, streams);
        if self.dense {
            return weights;
        }
        if self.saddle {
            weights.u = 0.0;
            weights.b.diag_mut().fill(0.0);
        }
        weights.v.fill(0.0);
        weights.c.fill(0.0);
        weights
    }
}

impl Claim for AnyStart {
    from_sheet!("lsa.any_start", trials = 40);

    fn schema(&self) -> Schema {
        training_schema(3, 3.0, 4, [SCALE.or(2.0)])
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = Pretraining::new(covariance(params, streams)?, params.get(CONTEXT), 0.0)?;
        let start = self.start(&training, params.get(SCALE), streams);
        // u² tends to no less than that of the limit, whose slowest mode has this lifetime; a flow
        // that passes a saddle stays there for some of its lifetimes, and implicit steps are long.
        let limit = training.limit(start.conserved());
        let values = training.covariance().values().iter();
        let rate = |(l, g): (&f64, &f64)| l * l * g * limit.u * limit.u;
        let slowest = values.zip(training.gamma()).map(rate).fold(f64::INFINITY, f64::min);
        let first = training.excess(&start);
        // A start of large weights has a loss beyond that of every saddle.
        let order = first.min(training.excess(&LsaWeights::zeros(training.dim())));
        let arrival = arrival(&training, &start, ARRIVED * order, 1e4 / slowest)?;
        Ok(Outcome::Event {
            holds: arrival.time.is_some(),
            witness: witness! {
                "u" => start.u, "scale_over_its_limit" => params.get(SCALE) / training.scale_limit(),
                "last_share_of_the_loss_gap" => training.excess(&arrival.weights) / first, "steps" => arrival.steps,
            },
        })
    }
}

/// A start of size σ leaves the plateau of the loss after a time ln(1/σ) / ‖Λ²‖_F.
#[derive(Default, Serialize, Deserialize)]
pub struct Plateau {
    /// Flag of a mutant: the rate is ‖Λ²‖, of the fastest mode alone.
    largest: bool,
    /// Flag of a mutant: the rate is tr Λ².
    trace: bool,
}

impl Plateau {
    /// The rate at which small weights grow.
    fn rate(&self, training: &Pretraining) -> f64 {
        let squares = training.covariance().values().mapv(|l| l * l);
        match (self.largest, self.trace) {
            (true, _) => squares.iter().copied().fold(0.0, f64::max),
            (_, true) => squares.sum(),
            _ => squares.dot(&squares).sqrt(),
        }
    }
}

/// Scales of the start. At the largest the flow is linear near the origin to 1e-6, and the plateau, short as it
/// is in 200 dimensions, outlasts the mode that decays as fast as the other grows to 4e-4.
const SCALES: [f64; 4] = [1e-3, 1e-4, 1e-5, 1e-6];

impl Claim for Plateau {
    from_sheet!("lsa.plateau", trials = 10);

    fn schema(&self) -> Schema {
        training_schema(4, 2.0, 10, [])
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = Pretraining::new(covariance(params, streams)?, params.get(CONTEXT), 0.0)?;
        let rate = self.rate(&training);
        let mut times = vec![];
        for scale in SCALES {
            let start = theorem_start(&training, scale, streams)?;
            // Half of the gap that the fastest mode closes: well on the way down.
            let gap = training.excess(&start) * (1.0 - 0.5 * first_gain(&training));
            let until = 10.0 * (1.0 / scale).ln() / rate + 100.0 * training.lifetime();
            let stuck = || Error::not_converged(format!("the flow from scale {scale} stays at 0"));
            times.push(arrival(&training, &start, gap, until)?.time.ok_or_else(stuck)?);
        }
        // e^time is a power of 1/σ, with the inverse rate as the exponent.
        let inverse: Vec<f64> = SCALES.iter().map(|s| 1.0 / s).collect();
        let grown: Vec<f64> = times.iter().map(|t| (t - times[0]).exp()).collect();
        let slope = PowerLaw::fit(&inverse, &grown, 0.95)?.slope.value;
        let witness = witness! { "sigma" => SCALES.to_vec(), "time" => times, "rate" => rate };
        // 1e-3: of order σ² at the largest σ.
        Ok(Outcome::equal(slope * rate, 1.0, 1e-3, witness))
    }
}

/// The share of the loss gap at weights 0 that the largest mode alone closes.
fn first_gain(training: &Pretraining) -> f64 {
    let gains = training.covariance().values().iter().zip(training.gamma()).map(|(l, g)| l * l / g);
    let sum: f64 = gains.clone().sum();
    gains.fold(0.0, f64::max) / sum
}
