//! Lemma 4, Eq. (54): what stationary points satisfy.

use crate::claims::setting::equal;
use crate::theory::CriticalPoint;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Flow, Method, VectorField};

/// The condition Σ_j a_j F = 0, at a point where the flow has come to rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stationary {
    /// Whether it is the printed claim or a mutant of it, by the sheet that it bears.
    printed: bool,
    /// Whether F is taken at r_j, as printed, and not at ρ_j.
    at_r: bool,
    /// The mutant: θ_2 for F.
    theta2: bool,
}

impl Stationary {
    /// Eq. (54) as printed.
    pub const PRINTED: Self = Stationary {
        printed: true,
        at_r: true,
        theta2: false,
    };
    /// Eq. (54) at ρ.
    pub const CORRECTED: Self = Stationary {
        printed: false,
        at_r: false,
        theta2: false,
    };
}

/// The field in closed form; the state is (v, ξ).
struct Closed(CriticalPoint);

impl VectorField for Closed {
    fn dim(&self) -> usize {
        3
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        let (v, xi) = self.0.field(&x[..2], x[2]);
        out[..2].copy_from_slice(&v);
        out[2] = xi;
    }
}

/// Accuracy of the sum: the integrator's tolerance over some hundred steps.
const TOLERANCE: f64 = 1e-6;

impl Claim for Stationary {
    fn sheet(&self) -> &'static Sheet {
        match self.printed {
            true => sheet!("joma.lemma4"),
            false => sheet!("joma.lemma4_corrected"),
        }
    }

    fn schema(&self) -> Schema {
        super::schema()
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        super::hypotheses(params)
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        super::TRIALS
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let point = match super::draw(params, streams)? {
            Ok(point) => point,
            Err(none) => return Ok(none),
        };
        let start = [1.2 * point.length, 0.2 * point.length, 0.9 * point.bias()];
        let betas = point.betas();
        let slowest = betas.one.min(betas.one + betas.two * point.length.powi(2));
        // 40 lifetimes of the slower mode at μ; rates grow as the ray shortens by at most a half.
        let until = 80.0 / slowest;
        let path = Flow::new(Method::Bdf).run(&Closed(point), &start, &[until])?;
        let end = path.end();
        let length = f64::hypot(end[0], end[1]);
        let r = [end[0] * point.distance() + end[2], end[2]];
        let scale = if self.at_r { 1.0 } else { length };
        let f = |r: f64| match self.theta2 {
            true => point.law.theta2(point.slopes, r / scale),
            false => point.law.f(point.slopes, r / scale),
        };
        let (first, second) = (f(r[0]), point.weight * f(r[1]));
        Ok(equal(
            (first - second) / first,
            0.0,
            TOLERANCE,
            witness! { "terms" => [first, second], "end" => end, "length" => length, "steps" => path.steps },
        ))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let theta2 = Stationary {
            printed: self.printed,
            theta2: true,
            ..Self::CORRECTED
        };
        vec![Mutant::new("theta2", theta2).drawn_as("joma.lemma4_corrected")]
    }
}
