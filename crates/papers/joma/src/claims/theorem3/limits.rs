//! Lemma 4, after Eq. (58): the limits of G at 0 and 1.

use crate::claims::setting::*;

/// The limits of G(y) = F(θ_1^{-1}(y)) under ReLU, printed and corrected.
#[derive(Serialize, Deserialize)]
pub struct Limits {
    printed: bool,
    /// Flag: the limit at y → 1 is +∞ for all laws, not the radius of the support.
    infinite: bool,
    /// Factor of the radius; a mutant's is near 1.
    radius: f64,
    /// Limit at y → 0; a mutant's is not 0.
    lower: f64,
}

impl Limits {
    /// The limits as printed.
    pub const PRINTED: Self = Limits { printed: true, infinite: true, radius: 1.0, lower: 0.0 };
    /// The limits with the radius of the support at y → 1.
    pub const CORRECTED: Self = Limits { printed: false, infinite: false, ..Self::PRINTED };
}

const RELU: (f64, f64) = (0.0, 1.0);
/// A value that G passes where it goes to infinity: y = θ_1(8) is below 1 by 6e-16 for the lightest tail.
const HIGH: f64 = 8.0;
/// Distance of x from the edge of the ball at which the limit is read, and the error of F there.
const NEAR: f64 = 1e-6;
const TOLERANCE: f64 = 1e-5;
/// Distance at which y → 0 is read, and the largest F and rθ_1 there: 1e-4 for the tail t^{-1.5}.
const FAR: f64 = 1e8;
const SMALL: f64 = 1e-3;

/// G near y = 1: where it has been read and what it is, and whether y is still below 1.
fn near_one(law: &Isotropic) -> (f64, f64, bool) {
    let x = if law.radial() == Radial::Ball { 1.0 - NEAR } else { HIGH };
    // 1 - θ_1(x) = P[t > x] without cancellation.
    (x, law.f(RELU, x), law.theta1(RELU, -x) > 0.0)
}

impl Claim for Limits {
    from_sheet!(self, if self.printed { sheet!("joma.lemma4_limits") } else { sheet!("joma.lemma4_limits_corrected") });

    fn schema(&self) -> Schema {
        vec![DIM.or(4)]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("limits", 0);
        let law = random_law(params.get(DIM), &mut rng)?;
        let (x, g, inside) = near_one(&law);
        let ball = law.radial() == Radial::Ball;
        let upper = if ball && !self.infinite { (g - self.radius).abs() <= TOLERANCE } else { inside && g >= HIGH };
        let (f, r_theta1) = (law.f(RELU, -FAR), FAR * law.theta1(RELU, -FAR));
        let lower = (f - self.lower).abs() <= SMALL && r_theta1.abs() <= SMALL;
        let witness = witness! {
            "law" => format!("{:?}", law.radial()), "x" => x, "G" => g, "F_far_below" => f, "r_theta_1" => r_theta1,
        };
        Ok(Outcome::Event { holds: upper && lower, witness })
    }
}
