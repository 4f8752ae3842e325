//! Starts, inner products, integration and times of computation that claims and experiments share.

use crate::quantities::MODEL;
use crate::theory::collapse::{Head, Tokens};
use attnlab_core::error::{Error, Result};
use attnlab_core::linalg::normal_matrix;
use attnlab_core::rng::{Generator, Streams};
use attnlab_lab::claim::{Outcome, Params, Witness};
use attnlab_theory::dynamics::flow::{Flow, Level, Method, VectorField, Watch};
use attnlab_theory::particles::{Normalisation, directions};
use ndarray::{Array2, ArrayView2, Axis};

/// Pairs of tokens times (d + 20) that the velocity takes in a second on one core.
const PER_SECOND: f64 = 1e9;

/// Evaluations of the velocity in one step of the integrator.
const STAGES: f64 = 7.0;

/// Estimates the processor time (s) of so many steps of n tokens in d dimensions.
pub fn seconds(steps: f64, n: usize, d: usize) -> f64 {
    let pairs = (n as f64).powi(2) * (d as f64 + 20.0);
    STAGES * steps * (pairs / PER_SECOND + 2e-6)
}

/// Returns the model of the parameters.
///
/// # Errors
/// An unknown word.
pub fn model(params: &Params) -> Result<Normalisation> {
    Normalisation::parse(params.get(MODEL))
}

/// Returns the other model.
pub fn other(model: Normalisation) -> Normalisation {
    match model {
        Normalisation::Softmax => Normalisation::Uniform,
        Normalisation::Uniform => Normalisation::Softmax,
    }
}

/// Draws n tokens uniformly on the sphere, (d, n).
///
/// # Errors
/// When a normal vector is zero, which has probability 0.
pub fn uniform(d: usize, n: usize, rng: &mut Generator) -> Result<Array2<f64>> {
    directions(normal_matrix(d, n, rng).view())
}

/// Draws n tokens for pure attention: a row that they share, of variance 1, and residuals of standard deviation `start`,
/// less their mean.
pub fn rows(n: usize, d: usize, start: f64, streams: &Streams) -> Tokens {
    let shared = normal_matrix(1, d, &mut streams.part("shared", 0)).row(0).to_owned();
    let residuals = normal_matrix(n, d, &mut streams.part("residuals", 0)) * start;
    let mean = residuals.sum_axis(Axis(0)) / n as f64;
    Tokens { shared, residuals: residuals - &mean }
}

/// Draws the heads of a layer: scores of two tokens of variance 1 have the standard deviation `scale`, and values keep
/// variances.
pub fn heads(d: usize, count: usize, scale: f64, streams: &Streams) -> Vec<Head> {
    let normal = |name: &str, head: u64| normal_matrix(d, d, &mut streams.part(name, head));
    let head = |h| Head {
        scores: normal("scores", h) * (scale / d as f64),
        values: normal("values", h) / ((d * count) as f64).sqrt(),
    };
    (0..count as u64).map(head).collect()
}

/// Returns the integrator of the room: explicit, of order 5. Within 1e-10 per step, whole paths stay within 1e-7.
pub fn flow() -> Flow {
    Flow::new(Method::Tsit45)
}

/// Computes 1 − cos of every pair i < j of tokens (d, n), from the distance of the directions, so that nothing cancels.
///
/// # Errors
/// A token that is zero.
pub fn deficits(tokens: ArrayView2<f64>) -> Result<Vec<f64>> {
    let unit = directions(tokens)?;
    let pairs = (0..unit.ncols()).flat_map(|i| (i + 1..unit.ncols()).map(move |j| (i, j)));
    let deficit = |(i, j)| {
        let apart = &unit.column(i) - &unit.column(j);
        0.5 * apart.dot(&apart)
    };
    Ok(pairs.map(deficit).collect())
}

/// Computes the largest 1 − cos of a pair in a state of n tokens; NaN where a token is zero.
pub fn widest(state: &[f64], n: usize) -> f64 {
    let d = state.len() / n;
    let lengths: Vec<f64> = (0..n).map(|i| (0..d).map(|c| state[c * n + i].powi(2)).sum::<f64>().sqrt()).collect();
    let mut largest = 0.0_f64;
    for i in 0..n {
        for j in 0..i {
            let dot: f64 = (0..d).map(|c| state[c * n + i] * state[c * n + j]).sum();
            let deficit = 1.0 - dot / (lengths[i] * lengths[j]);
            if deficit > largest || deficit.is_nan() {
                largest = deficit;
            }
        }
    }
    largest
}

/// End of a [`settled`] run.
pub struct Settled {
    /// Time of the event, if it happened.
    pub reached: Option<f64>,
    /// Last state.
    pub state: Vec<f64>,
    /// Largest component of the velocity there.
    pub speed: f64,
    /// Speed below which the run counts as at rest.
    slow: f64,
}

impl Settled {
    /// Makes the outcome of a trial that the event decides, with the time and the speed in the witness. A run that is still
    /// moving at the end decides nothing.
    pub fn outcome(&self, end: f64, mut witness: Witness) -> Outcome {
        witness.insert("speed".into(), self.speed.into());
        witness.insert("t".into(), self.reached.unwrap_or(end).into());
        if self.reached.is_none() && self.speed > self.slow {
            return Outcome::uninformative("still on a plateau at t", witness);
        }
        Outcome::Event { holds: self.reached.is_some(), witness }
    }
}

/// Integrates until `event` is 0 or less, as it may be at the start, to rest (a speed below `slow`) or to the time `end`, in
/// stages of which each is twice as long as all before it: the speed is tested after each.
///
/// # Errors
/// As [`Flow::watched`].
pub fn settled(field: &dyn VectorField, start: &[f64], end: f64, slow: f64, event: Level) -> Result<Settled> {
    let (mut state, mut now) = (start.to_vec(), 0.0);
    // The integrator sees a change of sign alone.
    let mut reached = (event(start) <= 0.0).then_some(0.0);
    loop {
        let until = (3.0_f64 * now).clamp(1.0_f64.min(end), end);
        if reached.is_none() {
            let path = flow().within(1e-9).watched(field, &state, &[until - now], Watch::until(event))?;
            state = path.end().to_vec();
            let ended = (event(&state) <= 0.0).then_some(until);
            reached = path.event.as_ref().map(|(t, _)| now + t).or(ended);
        }
        let mut rates = vec![0.0; state.len()];
        field.rate(&state, &mut rates);
        let speed = rates.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        if reached.is_some() || speed <= slow || until >= end {
            return Ok(Settled { reached, state, speed, slow });
        }
        now = until;
    }
}

/// Makes the outcome of a trial whose numbers leave the range of f64.
pub fn not_finite() -> Outcome {
    Outcome::failed(&Error::undefined("a number of the trial is not finite"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x' = −x.
    struct Decay;

    impl VectorField for Decay {
        fn dim(&self) -> usize {
            1
        }

        fn rate(&self, x: &[f64], out: &mut [f64]) {
            out[0] = -x[0];
        }
    }

    #[test]
    fn an_event_may_be_over_at_the_start() {
        let reached =
            |start: f64, level: f64| settled(&Decay, &[start], 50.0, 1e-8, &|x: &[f64]| x[0] - level).unwrap().reached;
        assert_eq!(reached(0.1, 0.2), Some(0.0));
        assert_eq!(reached(0.2, 0.2), Some(0.0));
        assert!((reached(1.0, 0.25).unwrap() - 4.0_f64.ln()).abs() < 1e-6);
        assert_eq!(reached(1.0, -1.0), None);
    }
}
