//! Lemma 3, last sentence: F vanishes at -∞.

use super::lemma1::homogeneous;
use super::setting::*;

/// The statement F(-∞) = 0, F ≥ 0: F(r) is the integral of θ_1 over (-∞, r].
#[derive(Default, Serialize, Deserialize)]
pub struct Lemma3Limit {
    /// F(-∞); a mutant's is not 0.
    limit: f64,
    /// Slope c_- of ReLU; a mutant's is not 0.
    lower: f64,
}

/// End of the integral in the logarithm of the distance: e^80, beyond which tails of t^{-1.5} hold 1e-17.
const END: f64 = 80.0;
/// Relative accuracy of the integral.
const ACCURACY: f64 = 1e-12;
/// Error of the integral and of F, with room for Student's distribution function far out.
const TOLERANCE: f64 = 1e-9;

impl Claim for Lemma3Limit {
    from_sheet!("joma.lemma3_limit");

    fn schema(&self) -> Schema {
        vec![DIM.or(4), ACTIVATION.or("relu")]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let lower = activation(params).map_or(f64::NAN, |phi| phi.slope(-1e3).abs());
        let printed = "lim r theta_1(r) = 0 at -inf: c_- = 0, for laws with a mean";
        let margin = if lower == 0.0 { 0.0 } else { -lower };
        vec![homogeneous(params), Hypothesis::new("limit", printed, margin)]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("lemma3", 0);
        let law = random_law(params.get(DIM), &mut rng)?;
        let phi = activation(params)?;
        // What the lemma says of φ; without slopes there is nothing to compare, but out of scope.
        let (minus, plus) = phi.slopes().unwrap_or((phi.slope(-1.0), phi.slope(1.0)));
        let slopes = (minus + self.lower, plus);
        let r: f64 = rng.random_range(-3.0..3.0);
        // r' = r - (e^u - 1): tails t^{-ν} become e^{(1-ν)u}.
        let integrand = |u: f64| law.theta1(slopes, r - u.exp_m1()) * u.exp();
        let kink = |place: f64| (r - place).max(0.0).ln_1p();
        // θ_1 of the ball has kinks in a derivative at ±1.
        let ends = [0.0, kink(1.0), kink(-1.0), END];
        let integral: f64 = ends.windows(2).map(|w| integrate(integrand, w[0], w[1], 0.5, ACCURACY)).sum();
        let f = law.f(slopes, r);
        let witness = witness! {
            "law" => format!("{:?}", law.radial()), "r" => r, "F" => f, "integral" => integral,
        };
        // F ≥ 0 up to the tolerance follows where F(-∞) = 0, as θ_1 ≥ 0.
        let limit = if f < -TOLERANCE { f64::NAN } else { f - integral };
        Ok(Outcome::equal(limit, self.limit, TOLERANCE, witness))
    }
}
