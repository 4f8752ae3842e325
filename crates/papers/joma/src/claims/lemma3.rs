//! Lemmas 3 and 5: integrals and derivatives of θ_1 and θ_2.

use super::lemma1::homogeneous;
use super::setting::{activation, equal, random_law};
use crate::quantities::{ACTIVATION, DIM};
use crate::theory::{Activation, Isotropic};
use attnlab_core::quadrature::integrate;
use attnlab_core::rng::Generator;
use attnlab_lab::prelude::*;
use rand::RngExt;

/// Eqs. (48), (49) of Lemma 3 and the properties of F.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lemma3 {
    /// The claim whose sheet it bears: for a mutant, the one that it belongs to.
    claim: Property,
    says: Property,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Property {
    /// θ_2(b) + b θ_1(b) - θ_2(a) - a θ_1(a) = ∫_a^b θ_1.
    Integral,
    /// The mutant: without r θ_1.
    WithoutProduct,
    /// The mutant: r θ_1 smaller by a thousandth.
    LessProduct,
    /// F increases and goes to +∞, for any homogeneous φ.
    Monotone,
    /// The same for slopes c_-, c_+ ≥ 0 that are not both 0.
    MonotoneCorrected,
    /// The mutant: F decreases.
    Decreasing,
    /// The mutant: c_- slightly negative.
    Negative,
    /// The mutant: c_+ = 0, for which F increases to 0.
    Flat,
}

impl Lemma3 {
    const fn genuine(says: Property) -> Self {
        Lemma3 { claim: says, says }
    }
    /// Eqs. (48) and (49).
    pub const INTEGRAL: Self = Self::genuine(Property::Integral);
    /// Monotone F, as printed.
    pub const MONOTONE: Self = Self::genuine(Property::Monotone);
    /// Monotone F where it is.
    pub const MONOTONE_CORRECTED: Self = Self::genuine(Property::MonotoneCorrected);

    fn integral(self) -> bool {
        use Property::{Integral, LessProduct, WithoutProduct};
        matches!(self.says, Integral | WithoutProduct | LessProduct)
    }

    /// Random slopes (c_-, c_+) of the activations that it speaks of.
    fn slopes(self, rng: &mut Generator) -> (f64, f64) {
        let (minus, plus): (f64, f64) = (rng.random(), 1.0 - rng.random::<f64>());
        match self.says {
            Property::Monotone => (2.0 * minus - 1.0, 2.0 * plus - 1.0),
            Property::Negative => (-0.1 * plus, plus),
            Property::Flat => (plus, 0.0),
            _ => (minus, plus),
        }
    }

    /// Eqs. (48), (49) between two points.
    fn integral_over(self, law: &Isotropic, phi: Activation, a: f64, b: f64) -> Outcome {
        let thetas = |r: f64| law.thetas(phi, r, 1.0);
        let factor = match self.says {
            Property::WithoutProduct => 0.0,
            Property::LessProduct => 0.999,
            _ => 1.0,
        };
        let f = |r: f64| thetas(r).1 + factor * r * thetas(r).0;
        // θ_1 has a kink in a derivative only where the ball ends.
        let ends = [a, (-1.0_f64).clamp(a, b), 1.0_f64.clamp(a, b), b];
        let one = |r: f64| thetas(r).0;
        let pieces = ends.windows(2);
        let integral: f64 = pieces.map(|w| integrate(one, w[0], w[1], 0.5, ACCURACY)).sum();
        let witness = witness! { "law" => format!("{:?}", law.radial()), "from" => a, "to" => b };
        equal(f(b) - f(a), integral, TOLERANCE, witness)
    }

    /// Monotone F between two points, and F(+∞) = +∞: as |F - c_+ r| ≤ |c_+ - c_-| E|t|, F grows without bound
    /// where it doubles with a large r.
    fn monotone_over(self, law: &Isotropic, c: (f64, f64), a: f64, b: f64) -> Outcome {
        let (first, second) = (law.f(c, a), law.f(c, b));
        let far = [law.f(c, FAR), law.f(c, 2.0 * FAR)];
        let rises = match self.says {
            Property::Decreasing => first >= second - ROUNDING,
            _ => second >= first - ROUNDING,
        };
        Outcome::Event {
            holds: rises && far[0] > 0.0 && far[1] > GROWS * far[0],
            witness: witness! {
                "slopes" => [c.0, c.1], "F" => [first, second], "at" => [a, b], "F_far" => far,
            },
        }
    }
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

impl Claim for Lemma3 {
    fn sheet(&self) -> &'static Sheet {
        match self.claim {
            Property::Monotone => sheet!("joma.lemma3_monotone"),
            Property::MonotoneCorrected => sheet!("joma.lemma3_monotone_corrected"),
            _ => sheet!("joma.lemma3"),
        }
    }

    fn schema(&self) -> Schema {
        match self.integral() {
            true => vec![DIM.or(4), ACTIVATION.or("relu")],
            false => vec![DIM.or(4)],
        }
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        match self.integral() {
            true => vec![homogeneous(params)],
            false => vec![],
        }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("lemma3", 0);
        let law = random_law(params.get(DIM), &mut rng)?;
        let a: f64 = rng.random_range(-3.0..2.0);
        let b = a + rng.random_range(0.1..2.0);
        Ok(match self.integral() {
            true => self.integral_over(&law, activation(params)?, a, b),
            false => {
                let slopes = self.slopes(&mut rng);
                self.monotone_over(&law, slopes, a, b)
            }
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let id = match self.integral() {
            true => "joma.lemma3",
            false => "joma.lemma3_monotone_corrected",
        };
        let variant = |name, says| Mutant::new(name, Lemma3 { says, ..*self }).drawn_as(id);
        match self.integral() {
            true => vec![
                variant("without-product", Property::WithoutProduct),
                variant("less-product", Property::LessProduct),
            ],
            false => vec![
                variant("decreasing", Property::Decreasing),
                variant("negative-slope", Property::Negative),
                variant("no-upper-slope", Property::Flat),
            ],
        }
    }
}

/// Step of the five-point differences.
const STEP: f64 = 2e-3;
/// Their error: STEP⁴/30 = 5e-13 times the fifth derivatives, below 1e5 for a ball of 12 dimensions near its end, and
/// quadratures of 1e-11 over STEP.
const SLOPE_TOLERANCE: f64 = 1e-6;

/// The derivatives of θ_1 and θ_2, Lemma 5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lemma5 {
    /// The claim whose sheet it bears: for a mutant, the one that it belongs to.
    claim: Factor,
    says: Factor,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Factor {
    /// c_- + c_+.
    Sum,
    /// c_+ - c_-.
    Difference,
    /// The mutant: c_+ alone.
    Plus,
    /// The mutant: the difference, larger by a thousandth.
    More,
}

impl Lemma5 {
    const fn genuine(says: Factor) -> Self {
        Lemma5 { claim: says, says }
    }
    /// Eq. (61) as printed.
    pub const PRINTED: Self = Self::genuine(Factor::Sum);
    /// Eq. (61) with the difference of the slopes.
    pub const CORRECTED: Self = Self::genuine(Factor::Difference);
}

impl Claim for Lemma5 {
    fn sheet(&self) -> &'static Sheet {
        match self.claim {
            Factor::Sum => sheet!("joma.lemma5"),
            _ => sheet!("joma.lemma5_corrected"),
        }
    }

    fn schema(&self) -> Schema {
        vec![DIM.or(4), ACTIVATION.or("leaky-relu")]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        vec![homogeneous(params)]
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        match self.says {
            Factor::Sum if params.get(ACTIVATION) == "relu" => VerdictKind::Supported,
            _ => self.sheet().expected,
        }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let phi = activation(params)?;
        let mut rng = streams.part("lemma5", 0);
        let law = random_law(params.get(DIM), &mut rng)?;
        let r: f64 = rng.random_range(-0.9..0.9);
        // Five-point differences of the defining integrals, whose errors are about 1e-12.
        let h = STEP;
        let at = |i: f64| law.thetas(phi, r + i * h, 1.0);
        let slope = |pick: fn((f64, f64)) -> f64| {
            let d = |i: f64| pick(at(i)) - pick(at(-i));
            (8.0 * d(1.0) - d(2.0)) / (12.0 * h)
        };
        let (one, two) = (slope(|t| t.0), slope(|t| t.1));
        // What the lemma says of φ; without slopes there is nothing to compare, but out of scope.
        let (minus, plus) = phi.slopes().unwrap_or((phi.slope(-1.0), phi.slope(1.0)));
        let factor = match self.says {
            Factor::Sum => minus + plus,
            Factor::Difference => plus - minus,
            Factor::Plus => plus,
            Factor::More => 1.001 * (plus - minus),
        };
        let said = (factor * law.density(r), -factor * r * law.density(r));
        let off = (said.0 - one).abs().max((said.1 - two).abs());
        Ok(equal(
            off,
            0.0,
            SLOPE_TOLERANCE,
            witness! { "law" => format!("{:?}", law.radial()), "r" => r, "by_differences" => [one, two],
            "said" => [said.0, said.1] },
        ))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, says| Mutant::new(name, Lemma5 { says, ..*self }).drawn_as("joma.lemma5_corrected");
        vec![variant("upper-slope", Factor::Plus), variant("larger", Factor::More)]
    }
}
