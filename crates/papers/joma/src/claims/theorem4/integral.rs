//! Eqs. (85), (86): F as an integral of ζ.

use super::{Drawn, TRIALS};
use crate::claims::setting::*;
use crate::theory::convergence::{time_to, zeta};

/// The identity (86), both sides by quadrature.
#[derive(Serialize, Deserialize)]
pub struct Integral {
    /// Factor of the integral of ζ; a mutant's is near 1.
    factor: f64,
    /// Factor of the exponents μ²/2 and x²/2; a mutant's is 2, as the text after (88) has it.
    exponent: f64,
}

impl Integral {
    /// Eq. (86) as printed.
    pub const PRINTED: Self = Integral { factor: 1.0, exponent: 1.0 };
}

/// Accuracy of both sides relative to F: quadratures of 1e-14 over numbers of one sign.
const TOLERANCE: f64 = 1e-11;
/// Relative accuracy of the integral over x.
const ACCURACY: f64 = 1e-14;

/// The integral $e^{-p\mu^2/2}\int_0^\mu \zeta(r, x)\,e^{px^2/2}\,dx$ with p = `exponent`.
pub(super) fn of_zeta(r: f64, mu: f64, exponent: f64) -> f64 {
    let weight = |x: f64| (0.5 * exponent * (x * x - mu * mu)).exp();
    integrate(|x| zeta(r, x) * weight(x), 0.0, mu, 0.1, ACCURACY)
}

impl Claim for Integral {
    from_sheet!("joma.eq86", trials = TRIALS);

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        let drawn = Drawn::new(streams);
        let (r, mu) = (-(-drawn.gap).exp_m1(), drawn.mu[0]);
        // F(r, 0) = ln 1/(1 - r), of the r that has been rounded.
        let first = (-0.5 * self.exponent * mu * mu).exp() * -(-r).ln_1p();
        let said = first + self.factor * of_zeta(r, mu, self.exponent);
        let f = time_to(r, mu);
        Ok(Outcome::equal(said / f, 1.0, TOLERANCE, witness! { "r" => r, "mu" => mu, "F" => f, "said" => said }))
    }
}
