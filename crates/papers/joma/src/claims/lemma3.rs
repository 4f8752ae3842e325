//! Lemmas 3 and 5: integrals and derivatives of θ_1 and θ_2.

use super::lemma1::homogeneous;
use super::setting::{activation, at_most, equal, random_law};
use crate::quantities::{ACTIVATION, DIM};
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
    /// F increases and goes to +∞, for any homogeneous φ.
    Monotone,
    /// The same for slopes c_-, c_+ ≥ 0 that are not both 0.
    MonotoneCorrected,
    /// The mutant: F decreases.
    Decreasing,
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
        matches!(self.says, Property::Integral | Property::WithoutProduct)
    }
}

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
        if self.integral() {
            let phi = activation(params)?;
            let thetas = |r: f64| law.thetas(phi, r, 1.0);
            let f = |r: f64| match self.says {
                Property::WithoutProduct => thetas(r).1,
                _ => thetas(r).1 + r * thetas(r).0,
            };
            // Simpson on 64 panels: θ_1 has a kink in its derivative only where the ball ends.
            let n = 64;
            let h = (b - a) / f64::from(n);
            let weight = |i: i32| match i {
                0 => 1.0,
                i if i == n => 1.0,
                i if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let sum: f64 = (0..=n)
                .map(|i| weight(i) * thetas(a + f64::from(i) * h).0)
                .sum();
            let witness =
                witness! { "law" => format!("{:?}", law.radial()), "from" => a, "to" => b };
            // Simpson's error is of order h^2.5 at the edge of the disc, h^4 elsewhere.
            return Ok(equal(f(b) - f(a), sum * h / 3.0, 1e-4, witness));
        }
        let mut slope = |low: f64| rng.random_range(low..1.0);
        let low = if self.says == Property::Monotone {
            -1.0
        } else {
            0.0
        };
        let c = (slope(low), slope(low));
        let (first, second) = (law.f(c, a), law.f(c, b));
        let (less, more) = match self.says {
            Property::Decreasing => (second, first),
            _ => (first, second),
        };
        let witness = witness! { "slopes" => [c.0, c.1], "F" => [first, second], "at" => [a, b] };
        Ok(at_most(less, more, 1e-12, witness))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant =
            |name, says, drawn| vec![Mutant::new(name, Lemma3 { says, ..*self }).drawn_as(drawn)];
        match self.integral() {
            true => variant("without-product", Property::WithoutProduct, "joma.lemma3"),
            false => variant(
                "decreasing",
                Property::Decreasing,
                "joma.lemma3_monotone_corrected",
            ),
        }
    }
}

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
        let h = 2e-3;
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
        };
        let said = (factor * law.density(r), -factor * r * law.density(r));
        let off = (said.0 - one).abs().max((said.1 - two).abs());
        Ok(equal(
            off,
            0.0,
            // h^4 times fifth derivatives, and 1e-12/h.
            1e-6,
            witness! { "law" => format!("{:?}", law.radial()), "r" => r, "by_differences" => [one, two],
            "said" => [said.0, said.1] },
        ))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let upper = Lemma5 {
            says: Factor::Plus,
            ..*self
        };
        vec![Mutant::new("upper-slope", upper).drawn_as("joma.lemma5_corrected")]
    }
}
