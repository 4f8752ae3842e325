//! The objective (9): the dynamics (2) climb it.

use super::setting::*;
use ndarray::{Array1, Axis};
use rand::seq::index::sample;

/// The dynamics (2) as the gradient of the objective (9).
#[derive(Default, Serialize, Deserialize)]
pub struct Eq9 {
    /// Flag of a mutant: the gradient g of the cross-entropy, which moves, in (9).
    moving: bool,
    /// Relative change of the objective; a mutant's is near 0.
    change: f64,
}

/// Most coordinates whose slope a trial takes: all of them at the default sizes.
const MOST_COORDINATES: usize = 40;
/// Largest M_C K n: a trial takes up to 320 evaluations of the objective.
const MOST_WORK: usize = 2_000_000;
/// Steps of the five-point differences, the first that crosses no kink of φ.
const STEPS: [f64; 3] = [1e-3, 1e-4, 1e-5];
/// Error of the differences relative to the largest slope: h⁴/30 of the fifth derivative at most 1e-13, rounding over h
/// at most 1e-10 for objectives of some times the slope.
const TOLERANCE: f64 = 1e-8;

impl Claim for Eq9 {
    from_sheet!("joma.eq9");

    fn schema(&self) -> Schema {
        layer_schema("softplus")
    }

    fn validate(&self, params: &Params) -> Result<()> {
        affordable(params, &[NODES, SAMPLES], MOST_WORK)
    }

    fn default_trials(&self, params: &Params) -> u64 {
        // Few nodes and samples are dead together in about half of the trials.
        if params.get(NODES) * params.get(SAMPLES) < 6 { 40 } else { 12 }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("attention", 0);
        let attention = [Attention::Linear, Attention::Exp, Attention::Softmax][rng.random_range(0..3)];
        let gradient = if self.moving { "cross-entropy" } else { "stationary" };
        let training = random_layer(attention, params, gradient, streams)?;
        let state = normal_state(training.dim(), 1.0, streams);
        let mut rate = vec![0.0; training.dim()];
        training.rate(&state, &mut rate);
        let size = rate.iter().fold(0.0_f64, |m, r| m.max(r.abs()));
        let mut witness = witness! { "attention" => format!("{attention:?}"), "largest_rate" => size };
        if size == 0.0 {
            return Ok(Outcome::uninformative("nothing moves: all nodes are dead", witness));
        }
        let slopes = self.slopes(&training, &state, &mut rng);
        witness.insert("coordinates".into(), slopes.len().into());
        if slopes.is_empty() {
            return Ok(Outcome::uninformative("a kink of the activation within every difference", witness));
        }
        let off = slopes.iter().map(|(i, slope)| (slope - rate[*i]).abs());
        Ok(Outcome::at_most(off.fold(0.0_f64, f64::max) / size, 0.0, TOLERANCE, witness))
    }
}

impl Eq9 {
    /// The slopes of the objective along some coordinates, those within reach of a kink left out.
    fn slopes(&self, training: &Training, state: &[f64], rng: &mut Generator) -> Vec<(usize, f64)> {
        let shifted = |i: usize, by: f64| {
            let mut x = state.to_vec();
            x[i] += by;
            x
        };
        let sides = training.slopes(state);
        let same = |i: usize, by: f64| training.slopes(&shifted(i, by)) == sides;
        // A straight line in w, and nearly one in z: the ends of the difference tell.
        let clear = |i: usize, h: f64| training.smooth() || [-2.0, 2.0].iter().all(|j| same(i, j * h));
        let slope = |i: usize| {
            let h = STEPS.into_iter().find(|h| clear(i, *h))?;
            Some((i, five_points(|j| self.objective(training, &shifted(i, j * h)), h)))
        };
        sample(rng, state.len(), MOST_COORDINATES.min(state.len())).into_iter().filter_map(slope).collect()
    }

    /// The objective (9), E Σ_k g_k h_k.
    fn objective(&self, training: &Training, x: &[f64]) -> f64 {
        if !self.moving {
            return (1.0 + self.change) * training.objective(x);
        }
        let product = training.gradients(x) * training.outputs(x);
        product.sum_axis(Axis(0)).dot(&Array1::from(training.probabilities().to_vec()))
    }
}
