//! Lemmas 3 and 5: integrals and derivatives of θ_1 and θ_2.

use super::lemma1::homogeneous;
use super::setting::*;

/// Eqs. (48), (49) of Lemma 3: θ_2(b) + b θ_1(b) - θ_2(a) - a θ_1(a) = ∫_a^b θ_1.
#[derive(Default, Serialize, Deserialize)]
pub struct Integral {
    /// Relative change of r θ_1; a mutant's is not 0.
    change: f64,
}

/// The properties of F in Lemma 3: it increases and goes to +∞.
#[derive(Serialize, Deserialize)]
pub struct Monotone {
    printed: bool,
    slopes: Slopes,
    /// Flag of a mutant: F decreases.
    decreasing: bool,
}

/// Slopes (c_-, c_+) of the activations that [`Monotone`] speaks of.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Slopes {
    /// Any, of a homogeneous φ.
    Any,
    /// c_-, c_+ ≥ 0 that are not both 0.
    NotNegative,
    /// c_- slightly negative.
    NegativeLower,
    /// c_+ = 0, for which F increases to 0.
    NoUpper,
}

impl Slopes {
    fn draw(self, rng: &mut Generator) -> (f64, f64) {
        let (minus, plus): (f64, f64) = (rng.random(), 1.0 - rng.random::<f64>());
        match self {
            Slopes::Any => (2.0 * minus - 1.0, 2.0 * plus - 1.0),
            Slopes::NotNegative => (minus, plus),
            Slopes::NegativeLower => (-0.1 * plus, plus),
            Slopes::NoUpper => (plus, 0.0),
        }
    }
}

impl Monotone {
    /// Monotone F, as printed.
    pub const PRINTED: Self = Monotone { printed: true, slopes: Slopes::Any, decreasing: false };
    /// Monotone F where it is.
    pub const CORRECTED: Self = Monotone { printed: false, slopes: Slopes::NotNegative, decreasing: false };
}

/// Relative accuracy of the integral of θ_1.
const ACCURACY: f64 = 1e-10;
/// Error of θ_2 at both ends by quadrature over tails as heavy as t^{-1.5}, 1e-8 each, and of the integral.
const TOLERANCE: f64 = 1e-7;
/// Rounding error of values of F up to 5.
const ROUNDING: f64 = 1e-12;
/// A point far beyond E|t|, which is below 5, over the least slope that is drawn in practice.
const FAR: f64 = 1e8;
/// Factor by which F grows where r doubles; the limit is 2.
const GROWS: f64 = 1.9;

/// A random law and an interval of r.
fn interval(params: &Params, rng: &mut Generator) -> Result<(Isotropic, f64, f64)> {
    let law = random_law(params.get(DIM), rng)?;
    let a: f64 = rng.random_range(-3.0..2.0);
    Ok((law, a, a + rng.random_range(0.1..2.0)))
}

impl Claim for Integral {
    from_sheet!("joma.lemma3");

    fn schema(&self) -> Schema {
        vec![DIM.or(4), ACTIVATION.or("relu")]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        vec![homogeneous(params)]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (law, a, b) = interval(params, &mut streams.part("lemma3", 0))?;
        let phi = activation(params)?;
        let thetas = |r: f64| law.thetas(phi, r, 1.0);
        let f = |r: f64| thetas(r).1 + (1.0 + self.change) * r * thetas(r).0;
        // θ_1 has a kink in a derivative only where the ball ends.
        let ends = [a, (-1.0_f64).clamp(a, b), 1.0_f64.clamp(a, b), b];
        let theta1 = |r: f64| thetas(r).0;
        let integral: f64 = ends.windows(2).map(|w| integrate(theta1, w[0], w[1], 0.5, ACCURACY)).sum();
        let witness = witness! { "law" => format!("{:?}", law.radial()), "from" => a, "to" => b };
        Ok(Outcome::equal(f(b) - f(a), integral, TOLERANCE, witness))
    }
}

impl Claim for Monotone {
    from_sheet!(
        self,
        if self.printed { sheet!("joma.lemma3_monotone") } else { sheet!("joma.lemma3_monotone_corrected") }
    );

    fn schema(&self) -> Schema {
        vec![DIM.or(4)]
    }

    /// Monotone F, and F(+∞) = +∞: as |F - c_+ r| ≤ |c_+ - c_-| E|t|, F has no bound where it doubles with r.
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("lemma3", 0);
        let (law, a, b) = interval(params, &mut rng)?;
        let c = self.slopes.draw(&mut rng);
        let (first, second) = (law.f(c, a), law.f(c, b));
        let far = [law.f(c, FAR), law.f(c, 2.0 * FAR)];
        let rises = if self.decreasing { first >= second - ROUNDING } else { second >= first - ROUNDING };
        Ok(Outcome::Event {
            holds: rises && far[0] > 0.0 && far[1] > GROWS * far[0],
            witness: witness! {
                "slopes" => [c.0, c.1], "F" => [first, second], "at" => [a, b], "F_far" => far,
            },
        })
    }
}

/// Step of the five-point differences.
const STEP: f64 = 2e-3;
/// Their error: STEP⁴/30 = 5e-13 times the fifth derivatives, below 1e5 for a ball of 12 dimensions near its end, and
/// quadratures of 1e-11 over STEP.
const SLOPE_TOLERANCE: f64 = 1e-6;

/// The derivatives of θ_1 and θ_2, Lemma 5.
#[derive(Serialize, Deserialize)]
pub struct Lemma5 {
    printed: bool,
    /// Factor of c_- beside c_+.
    lower: f64,
    /// Factor of the whole; a mutant's is near 1.
    factor: f64,
}

impl Lemma5 {
    /// Eq. (61) as printed, with c_+ + c_-.
    pub const PRINTED: Self = Lemma5 { printed: true, lower: 1.0, factor: 1.0 };
    /// Eq. (61) with the difference of the slopes.
    pub const CORRECTED: Self = Lemma5 { printed: false, lower: -1.0, factor: 1.0 };
}

impl Claim for Lemma5 {
    from_sheet!(self, if self.printed { sheet!("joma.lemma5") } else { sheet!("joma.lemma5_corrected") });

    fn schema(&self) -> Schema {
        vec![DIM.or(4), ACTIVATION.or("leaky-relu")]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        vec![homogeneous(params)]
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        if self.printed && params.get(ACTIVATION) == "relu" { VerdictKind::Supported } else { self.sheet().expected }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let phi = activation(params)?;
        let mut rng = streams.part("lemma5", 0);
        let law = random_law(params.get(DIM), &mut rng)?;
        let r: f64 = rng.random_range(-0.9..0.9);
        // Five-point differences of the defining integrals, whose errors are about 1e-12.
        let slope = |pick: fn((f64, f64)) -> f64| five_points(|i| pick(law.thetas(phi, r + i * STEP, 1.0)), STEP);
        let (slope1, slope2) = (slope(|t| t.0), slope(|t| t.1));
        // What the lemma says of φ; without slopes there is nothing to compare, but out of scope.
        let (minus, plus) = phi.slopes().unwrap_or((phi.slope(-1.0), phi.slope(1.0)));
        let factor = self.factor * (plus + self.lower * minus);
        let said = (factor * law.density(r), -factor * r * law.density(r));
        let witness = witness! {
            "law" => format!("{:?}", law.radial()), "r" => r, "by_differences" => [slope1, slope2],
            "said" => [said.0, said.1],
        };
        Ok(Outcome::equal((said.0 - slope1).abs().max((said.1 - slope2).abs()), 0.0, SLOPE_TOLERANCE, witness))
    }
}
