//! Lemma 1, Eq. (10): the length of a Gaussian vector concentrates.
//!
//! $|x|/\delta$ has the χ law with d degrees of freedom, so the probability that (10) fails is known exactly:
//! $\mathbb P(|\chi_d - \sqrt d| > t/\delta + 2)$. It is a function of d and $u = t/\delta$ alone. Since $\chi_d$ has
//! standard deviation below $1/\sqrt 2$ and Gaussian concentration with constant 1 around its median, the printed bound
//! $2 e^{-u^2/2}$ holds with room to spare: on d from 1 to 10^4 the exact probability is at most 0.0025 of it.

use crate::quantities::*;
use crate::theory::tails::{lemma1_bound, lemma1_failure};
use attnlab_lab::prelude::*;
use rand_distr::{Distribution, StandardNormal};

/// With probability at least 1 - 2exp(-t²/2δ²), | |x| - δ√d | ≤ t + 2δ.
#[derive(PartialEq, Serialize, Deserialize)]
pub struct Lemma1 {
    /// The factor of t + 2δ; 1 as printed.
    width: f64,
    /// The power of d in the centre δ d^power; 1/2 as printed.
    power: f64,
}

impl Default for Lemma1 {
    fn default() -> Self {
        Lemma1 { width: 1.0, power: 0.5 }
    }
}

impl Claim for Lemma1 {
    from_sheet!("aot.lemma1");

    fn schema(&self) -> Schema {
        vec![VECTOR_DIM.or(64), VECTOR_DELTA.or(0.5), T.or(1.0)]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let (delta, t) = (params.get(VECTOR_DELTA), params.get(T));
        let finite = (t / delta).is_finite() && (delta * params.real(VECTOR_DIM).sqrt()).is_finite();
        let allowed = "must be a number for which t/delta and delta sqrt(d) are finite";
        require(finite, VECTOR_DELTA.name, delta, allowed)
    }

    fn promise(&self, params: &Params) -> Promise {
        Promise::FailsAtMost(lemma1_bound(params.get(VECTOR_DELTA), params.get(T)))
    }

    fn computed(&self, params: &Params) -> Option<Computed> {
        let (d, delta, t) = (params.get(VECTOR_DIM), params.get(VECTOR_DELTA), params.get(T));
        // The χ tails agree with mpmath to 1e-11, and lose digits like d log d.
        let rounding = 1e-9 + 64.0 * f64::EPSILON * d as f64 * (1.0 + d as f64).ln();
        let exact = lemma1_failure(d, delta, t);
        // Where both underflow, the exact tail is the smaller one.
        let underflow = lemma1_bound(delta, t) < f64::MIN_POSITIVE;
        let failure = if underflow { Bracket::NEVER } else { Bracket::new(exact, exact).widened(rounding) };
        (*self == Self::default())
            .then_some(Computed { failure, how: "exact: |x|/delta has the chi law with d degrees of freedom" })
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (d, delta, t) = (params.get(VECTOR_DIM), params.get(VECTOR_DELTA), params.get(T));
        let mut rng = streams.part("vector", 0);
        let square = |_| {
            let g: f64 = StandardNormal.sample(&mut rng);
            g * g
        };
        let length = delta * (0..d).map(square).sum::<f64>().sqrt();
        let deviation = (length - delta * (d as f64).powf(self.power)).abs();
        let limit = self.width * (t + 2.0 * delta);
        Ok(Outcome::Event {
            holds: deviation <= limit,
            witness: witness! { "length" => length, "deviation" => deviation, "limit" => limit },
        })
    }

    fn default_trials(&self, params: &Params) -> u64 {
        // About 10^7 normals: a tenth of a second.
        (10_000_000 / params.get(VECTOR_DIM) as u64).clamp(20, 2000)
    }
}
