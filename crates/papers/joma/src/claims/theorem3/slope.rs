//! Lemma 4, after Eq. (58): the derivative of G.

use crate::claims::setting::*;
use crate::theory::critical;

/// The derivative dG/dy = θ_1(x)/p_n(x) at y = θ_1(x), by differences of G under ReLU.
#[derive(Default, Serialize, Deserialize)]
pub struct Slope {
    /// Relative change of the derivative; a mutant's is near 0.
    change: f64,
    /// Flag of a mutant: the derivative is taken by x, not by y.
    by_x: bool,
}

/// Step of the five-point differences, relative to the distance of y from the ends of (0, 1).
const STEP: f64 = 5e-3;
/// Their relative error: STEP⁴ = 6e-10 times some ten; G's quadrature, 1e-12, over p_n and the step, below 1e-8.
const TOLERANCE: f64 = 1e-6;
/// Range of x: the ball's density in 12 dimensions is still .01 there.
const END: f64 = 0.7;

impl Claim for Slope {
    from_sheet!("joma.lemma4_slope");

    fn schema(&self) -> Schema {
        vec![DIM.or(4)]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("slope", 0);
        let law = random_law(params.get(DIM), &mut rng)?;
        let x: f64 = rng.random_range(-END..END);
        let y = law.theta1((0.0, 1.0), x);
        let h = STEP * y.min(1.0 - y);
        let slope = five_points(|i| critical::g(&law, y + i * h), h);
        let density = if self.by_x { 1.0 } else { law.density(x) };
        let said = (1.0 + self.change) * y / density;
        let witness = witness! {
            "law" => format!("{:?}", law.radial()), "x" => x, "y" => y, "by_differences" => slope, "said" => said,
        };
        let ratio = if said > 0.0 { slope / said } else { f64::NAN };
        Ok(Outcome::equal(ratio, 1.0, TOLERANCE, witness))
    }
}
