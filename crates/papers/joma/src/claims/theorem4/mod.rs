//! Theorem 4 and its lemmas: how much faster salient components converge. A file per statement.
//!
//! A trial integrates Eq. (6) itself, in the coordinates of [`Salient`], and reads ln(1/δ) at a random moment.

pub mod derivative;
pub mod integral;
pub mod lemmas;
pub mod linear;
pub mod mean_value;
pub mod ratio;
pub mod remainder;
pub mod threshold;
pub mod time;

use crate::claims::setting::*;
use crate::dynamics::Salient;
use crate::theory::convergence::LARGEST_REMAINDER_AT;

/// Trials of the bounds that are sharp somewhere: they look in many places, and each takes milliseconds.
const TRIALS: u64 = 100;
/// Range of |μ|.
const MU: (f64, f64) = (0.3, 3.5);
/// Range of ln(1/δ_k).
const GAP: (f64, f64) = (0.2, 30.0);
/// The printed bound on |λ_jk|, √(2π) + 2.
const PRINTED_LAMBDA: f64 = 4.506_628_274_631;
/// Relative tolerance of the integrator.
const INTEGRATOR: f64 = 1e-11;
/// Accuracy of what is read off the flow: [`INTEGRATOR`] over some hundred steps, relative to numbers up to 10.
const TOLERANCE: f64 = 1e-8;

fn generator(streams: &Streams) -> Generator {
    streams.part("theorem4", 0)
}

fn log_uniform((low, high): (f64, f64), rng: &mut Generator) -> f64 {
    low * f64::powf(high / low, rng.random())
}

/// Two components and a moment, at random.
struct Drawn {
    /// μ_j and μ_k.
    mu: [f64; 2],
    /// ln(1/δ_k) at the moment.
    gap: f64,
}

impl Drawn {
    fn new(streams: &Streams) -> Self {
        let mut rng = generator(streams);
        Drawn { mu: [log_uniform(MU, &mut rng), log_uniform(MU, &mut rng)], gap: log_uniform(GAP, &mut rng) }
    }

    fn moment(&self) -> Result<Moment> {
        Moment::reached(self.mu, self.gap)
    }
}

/// A moment of the flow (6) from zero.
struct Moment {
    /// μ_j and μ_k.
    mu: [f64; 2],
    /// Time.
    t: f64,
    /// ln(1/δ) of both.
    gaps: [f64; 2],
}

impl Moment {
    /// The moment at which ln(1/δ_k) has come to `gap`.
    fn reached(mu: [f64; 2], gap: f64) -> Result<Moment> {
        let field = Salient::new(mu.to_vec())?;
        let event = |x: &[f64]| gap - x[1];
        // ln(1/δ) grows at least as fast as t.
        let flow = Flow::new(Method::Tsit45).within(INTEGRATOR);
        let path = flow.watched(&field, &[0.0; 2], &[gap * 1.01], Watch::until(&event))?;
        let Some((t, state)) = path.event else { return Err(Error::not_converged("the gap was not reached")) };
        Ok(Moment { mu, t, gaps: [state[0], state[1]] })
    }

    /// The witness of the moment.
    fn witness(&self) -> Witness {
        witness! { "mu" => self.mu, "t" => self.t, "ln_inverse_delta" => self.gaps }
    }

    /// The outcome of a quantity that should be at most `bound`.
    fn at_most(&self, name: &str, value: f64, bound: f64) -> Outcome {
        let mut witness = self.witness();
        witness.insert(name.into(), value.into());
        Outcome::at_most(value, bound, TOLERANCE, witness)
    }

    /// The outcome of a quantity with the best constant: at most `bound` here, where it is not negative, and as `most` next
    /// to attained near the supremum.
    fn sharp(&self, name: &str, value: f64, most: f64, bound: f64) -> Outcome {
        let mut witness = self.witness();
        witness.insert(name.into(), value.into());
        witness.insert(format!("{name}_near_the_supremum"), most.into());
        // Each by itself: `max` passes over a NaN.
        let bounded = value >= -TOLERANCE && value <= bound && most <= bound;
        Outcome::Event { holds: bounded && most >= bound - ATTAINED, witness }
    }

    /// Λ of (7), with e^{p μ²} for its exponentials.
    fn big_lambda(&self, p: f64) -> f64 {
        let [j, k] = self.mu.map(|mu| (p * mu * mu).exp());
        let [l_j, l_k] = self.gaps;
        l_j / l_k / (j / k) - 1.0
    }
}

/// A pair and a gap at which λ_jk = ρ_k - ρ_j is within 1e-6 of its supremum: μ_k where ρ is largest, μ_j, δ_k near 0.
fn near_the_supremum(streams: &Streams) -> Drawn {
    let mut rng = streams.part("supremum", 0);
    let mut next_to = |mu: f64| mu * (1.0 + 1e-4 * rng.random::<f64>());
    Drawn { mu: [next_to(1e-3), next_to(LARGEST_REMAINDER_AT)], gap: 40.0 }
}

/// Distance within which the supremum is attained there: [`near_the_supremum`] leaves 1e-6, rounding the constant 1e-6.
const ATTAINED: f64 = 1e-5;

#[cfg(test)]
mod tests {
    use super::{PRINTED_LAMBDA, remainder};
    use std::f64::consts::PI;

    #[test]
    fn the_printed_constants() {
        assert!((PRINTED_LAMBDA - (2.0 * PI).sqrt() - 2.0).abs() < 1e-12);
        assert!((remainder::PRINTED - (0.5 * PI).sqrt() - 1.0).abs() < 1e-12);
    }
}
