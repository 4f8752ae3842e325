//! Section E.4: the signs of r_+ and r_- at a critical point.

use super::{generator, none};
use crate::claims::setting::*;
use crate::theory::bisect;

/// The order ρ_- < ρ* < ρ_+ with ρ* = 0 as printed, or the minimum of F/θ_1.
#[derive(Serialize, Deserialize)]
pub struct Signs {
    printed: bool,
    /// Flag: ρ* is 0.
    at_zero: bool,
    /// Added to ρ*; a mutant's is near 0.
    shift: f64,
}

impl Signs {
    /// r_- < 0 < r_+.
    pub const PRINTED: Self = Signs { printed: true, at_zero: true, shift: 0.0 };
    /// ρ_- < ρ* < ρ_+.
    pub const CORRECTED: Self = Signs { printed: false, at_zero: false, shift: 0.0 };
}

const RELU: (f64, f64) = (0.0, 1.0);
/// Degrees of freedom: (58) holds below 2.
const NU: (f64, f64) = (1.1, 4.0);
/// Range of ρ* - ρ_-.
const BELOW: (f64, f64) = (0.02, 4.0);
/// Range in which ρ* lies for these ν: from -.79 to 1.16.
const PLACE: (f64, f64) = (-5.0, 10.0);

/// The place ρ* of the minimum of F/θ_1: the derivative 1 - F p_n/θ_1² changes sign there.
fn lowest(law: &Isotropic) -> f64 {
    let rises = |rho: f64| {
        let theta1 = law.theta1(RELU, rho);
        theta1 * theta1 > law.f(RELU, rho) * law.density(rho)
    };
    bisect(PLACE, 60, |rho| !rises(rho))
}

impl Claim for Signs {
    from_sheet!(self, if self.printed { sheet!("joma.e4_signs") } else { sheet!("joma.e4_signs_corrected") });

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = generator(streams);
        let nu = rng.random_range(NU.0..NU.1);
        // Student's marginal is the same in every dimension.
        let law = Isotropic::new(Radial::Student { nu }, 1)?;
        let place = lowest(&law);
        let below = BELOW.0 * f64::powf(BELOW.1 / BELOW.0, rng.random());
        let Ok(point) = CriticalPoint::relu(law, place - below, 1.0) else { return Ok(none()) };
        let middle = if self.at_zero { 0.0 } else { place } + self.shift;
        let witness = witness! {
            "nu" => nu, "rho" => [point.minus, point.plus], "weight" => point.weight, "lowest" => place,
        };
        Ok(Outcome::Event { holds: point.minus < middle && middle < point.plus, witness })
    }
}
