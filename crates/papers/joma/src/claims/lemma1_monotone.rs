//! Lemma 1, last sentence: what θ_1 and θ_2 inherit from an increasing ψ.

use super::lemma1::moments;
use super::setting::*;

/// The last sentence of Lemma 1, printed and corrected.
#[derive(Serialize, Deserialize)]
pub struct Lemma1Monotone {
    printed: bool,
    /// Flag: θ_2 > 0 is said of laws too on whose support ψ is constant.
    always_positive: bool,
    /// Divisor of θ_1; a mutant's is near 1.
    divisor: f64,
    /// ψ(-∞) of ReLU's ψ; a mutant's is not 0.
    lower: f64,
}

impl Lemma1Monotone {
    /// The sentence as printed.
    pub const PRINTED: Self = Lemma1Monotone { printed: true, always_positive: true, divisor: 1.0, lower: 0.0 };
    /// The sentence with θ_2 ≥ 0, and > 0 where ψ is not constant on the support.
    pub const CORRECTED: Self = Lemma1Monotone { printed: false, always_positive: false, ..Self::PRINTED };

    /// Judges θ_1 and θ_2 at a < b and at the ends of the line.
    fn judged(&self, law: &Isotropic, phi: Activation, a: f64, b: f64) -> Outcome {
        let phi = if phi == Activation::RELU { Activation::TwoSlopes { minus: self.lower, plus: 1.0 } } else { phi };
        let thetas = |r: f64| {
            let (theta1, theta2) = law.thetas(phi, r, 1.0);
            (theta1 / self.divisor, theta2)
        };
        let [at_a, at_b] = [a, b].map(thetas);
        let [low, high] = [-FAR, FAR].map(|r| thetas(r).0);
        // Within FAR/2 of the mean ψ has come to its end up to ψ(-FAR/2); beyond lies this much.
        let rest = law.theta1((0.0, 1.0), -0.5 * FAR) + phi.slope(-0.5 * FAR).abs() + TOLERANCE;
        let rises = at_b.0 >= at_a.0 - TOLERANCE;
        let ends = low.abs() <= rest - self.lower && (1.0 - high).abs() <= rest - self.lower;
        let positive = |r: f64, two: f64| match (phi.slopes(), law.radial()) {
            // By the closed form, whose sign is exact.
            (Some(slopes), Radial::Ball) if r.abs() >= 1.0 => !self.always_positive && law.theta2(slopes, r) >= 0.0,
            (Some(slopes), _) => law.theta2(slopes, r) > 0.0,
            _ => two > TOLERANCE,
        };
        Outcome::Event {
            holds: rises && ends && positive(a, at_a.1) && positive(b, at_b.1),
            witness: witness! {
                "law" => format!("{:?}", law.radial()), "r" => [a, b], "theta_1" => [at_a.0, at_b.0],
                "theta_2" => [at_a.1, at_b.1], "theta_1_at_the_ends" => [low, high],
            },
        }
    }
}

/// A distance from 0 beyond the bulk of the laws that are drawn; what is left is taken into account.
const FAR: f64 = 8.0;
/// Error of the integrals (40) and (41) over tails as heavy as t^{-1.5}, 1e-8; θ_2 of softplus is above 1e-3 here.
const TOLERANCE: f64 = 1e-7;

impl Claim for Lemma1Monotone {
    from_sheet!(
        self,
        if self.printed { sheet!("joma.lemma1_monotone") } else { sheet!("joma.lemma1_monotone_corrected") },
        trials = 16
    );

    fn schema(&self) -> Schema {
        vec![DIM.or(4), ACTIVATION.or("relu")]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let ends =
            activation(params).map_or(f64::NAN, |phi| -f64::max(phi.slope(-1e3).abs(), (phi.slope(1e3) - 1.0).abs()));
        let printed = "psi is monotonously increasing with psi(-inf) = 0, psi(+inf) = 1";
        let margin = if ends > -1e-12 { 0.0 } else { ends };
        vec![moments(params), Hypothesis::new("psi from 0 to 1", printed, margin)]
    }

    /// The ψ of softplus is constant on no law's support.
    fn expected(&self, params: &Params) -> VerdictKind {
        if params.get(ACTIVATION) == "softplus" { VerdictKind::Supported } else { self.sheet().expected }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("lemma1", 0);
        let law = random_law(params.get(DIM), &mut rng)?;
        let a: f64 = rng.random_range(-3.0..2.5);
        let b = rng.random_range(a..3.0);
        Ok(self.judged(&law, activation(params)?, a, b))
    }
}
