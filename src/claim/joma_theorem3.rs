//! Theorem 3 and Lemma 4: critical points of the nonlinear dynamics and what happens near them.
//!
//! The true field is taken by its definition, an integral over the law of the inputs in polar
//! coordinates; its Jacobian by differences.

mod cards;

use super::joma_lemma1::homogeneous;
use super::joma_setting::{activation, activation_spec, equal};
use super::*;
use crate::dynamics::flow::{Flow, Method, VectorField};
use crate::theory::joma::{Activation, CriticalPoint, Isotropic, Radial, critical};
use crate::witness;
use rand::RngExt;
use std::ops::Range;

/// What is claimed near or at a critical point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theorem3 {
    says: Says,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    /// (5) with (73), (74).
    Printed,
    /// (5) with the corrected β.
    Corrected,
    /// The mutant: β_1 alone, as Eq. (6) has it.
    Isotropic,
    /// (73), (74) give a positive definite C(μ).
    Definite,
    /// The corrected β do.
    DefiniteCorrected,
    /// The mutant: they never do.
    Indefinite,
    /// (54) at r.
    Zero,
    /// (54) at ρ.
    ZeroCorrected,
    /// The mutant of (54): θ_2 for F.
    ZeroOfTheta2,
    /// s ∈ (1/2, 1) ∪ (1, 2).
    Range,
    /// The same for ρ_-, ρ_+ ≥ 0.
    RangeCorrected,
    /// The mutant: s within 1.2 of 1.
    NarrowRange,
    /// (58) suffices for a critical point.
    Existence,
    /// The mutant: with a pair twice as far from 0.
    FartherPair,
}

impl Theorem3 {
    const fn of(says: Says) -> Self {
        Theorem3 { says }
    }
    /// (5), (72) to (74).
    pub const PRINTED: Self = Self::of(Says::Printed);
    /// (5) with the β of the corrected field.
    pub const CORRECTED: Self = Self::of(Says::Corrected);
    /// C(μ) by (73), (74) is positive definite.
    pub const DEFINITE: Self = Self::of(Says::Definite);
    /// C(μ) is positive definite.
    pub const DEFINITE_CORRECTED: Self = Self::of(Says::DefiniteCorrected);
    /// Lemma 4, (54).
    pub const ZERO: Self = Self::of(Says::Zero);
    /// Lemma 4, (54), at ρ.
    pub const ZERO_CORRECTED: Self = Self::of(Says::ZeroCorrected);
    /// Lemma 4, after (59).
    pub const RANGE: Self = Self::of(Says::Range);
    /// The same where it is proved.
    pub const RANGE_CORRECTED: Self = Self::of(Says::RangeCorrected);
    /// Lemma 4, (58).
    pub const EXISTENCE: Self = Self::of(Says::Existence);

    fn has_law(self) -> bool {
        use Says::*;
        !matches!(
            self.says,
            Existence | FartherPair | RangeCorrected | NarrowRange
        )
    }
}

/// The two-component field by its definition, under any φ, with x̄_+ along the first of two axes; the state
/// is (v, ξ).
struct Definition {
    point: CriticalPoint,
    phi: Activation,
}

impl VectorField for Definition {
    fn dim(&self) -> usize {
        3
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        let p = &self.point;
        let (length, xi) = (f64::hypot(x[0], x[1]), x[2]);
        let r = x[0] * p.distance() + xi;
        let mean = |r: f64| match self.phi.slopes() {
            Some(_) => p.law.polar(self.phi, r, length),
            None => p.law.thetas(self.phi, r, length),
        };
        let ((one, two), (one_m, two_m)) = (mean(r), mean(xi));
        let along = (two - p.weight * two_m) / length;
        out[0] = one * p.distance() + along * x[0];
        out[1] = along * x[1];
        out[2] = one - p.weight * one_m;
    }
}

/// The same in closed form, for flows.
struct Closed(CriticalPoint);

impl VectorField for Closed {
    fn dim(&self) -> usize {
        3
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        let (v, xi) = self.0.field(&x[..2], x[2]);
        out[..2].copy_from_slice(&v);
        out[2] = xi;
    }
}

impl Claim for Theorem3 {
    fn card(&self) -> Card {
        cards::card(self.says)
    }

    fn discrepancy(&self) -> Option<Discrepancy> {
        cards::discrepancy(self.says)
    }

    fn schema(&self) -> Schema {
        let mut schema = vec![Spec::new(
            "dim",
            Domain::Whole(1, 12),
            3,
            "n, dimension of the inputs' law",
        )];
        if self.has_law() {
            schema.push(Spec::new(
                "law",
                Domain::Choice(&["student", "gaussian", "ball"]),
                "student",
                "law of the inputs around either centre",
            ));
            schema.push(activation_spec("relu"));
        } else {
            schema.push(Spec::new(
                "nu",
                Domain::Number {
                    low: 1.1,
                    low_in: true,
                    high: 100.0,
                    high_in: true,
                },
                1.95,
                "the inputs have a Student law with degrees of freedom from 1.1 to this",
            ));
        }
        schema
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        if !self.has_law() {
            let margin = match law_of(params, None) {
                Ok(law) => critical::existence(&law) - 0.25,
                Err(_) => f64::NAN,
            };
            return vec![Hypothesis::new("(58)", "theta_2(0) p_n(0) >= 1/4", margin)];
        }
        let exists = match params.text("activation") {
            "linear" => false,
            "absolute" => true,
            _ => params.text("law") == "student",
        };
        vec![
            homogeneous(params),
            Hypothesis::new(
                "critical point",
                "there is a critical point: none for linear φ, nor for ReLU and log-concave laws",
                if exists { 0.0 } else { -1.0 },
            ),
        ]
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        10
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("critical", 0);
        if !self.has_law() {
            // (58) holds for all of them where it holds for the lightest tail.
            let nu = 1.1 + (params.f64("nu") - 1.1) * rng.random::<f64>();
            let law = Isotropic::new(Radial::Student { nu }, params.usize("dim"))?;
            return self.pair(&law, rng.random());
        }
        let slopes = activation(params)?.slopes().unwrap_or((0.0, 1.0));
        let (nu, minus) = falling(params.text("activation"));
        let law = law_of(params, Some(rng.random_range(nu)))?;
        let (minus, length) = (rng.random_range(minus), rng.random_range(0.4..2.5));
        let point = match CriticalPoint::new(law, slopes, minus, length) {
            Ok(point) => point,
            Err(error) => {
                return Ok(Outcome::Event {
                    holds: true,
                    witness: witness! { "none" => error.to_string() },
                });
            }
        };
        match self.says {
            Says::Printed | Says::Corrected | Says::Isotropic => self.linearised(&point, params),
            Says::Definite | Says::DefiniteCorrected | Says::Indefinite => {
                Ok(self.definite(&point))
            }
            Says::Range => {
                let witness =
                    witness! { "ratio" => point.weight, "rho" => [point.minus, point.plus] };
                let holds = (0.5..2.0).contains(&(1.0 / point.weight));
                Ok(Outcome::Event { holds, witness })
            }
            _ => self.at_rest(&point),
        }
    }

    fn mutants(&self) -> Vec<Mutant> {
        use Says::*;
        let variant = |name, says, of| vec![Mutant::new(name, says, Theorem3::of(of))];
        match self.says {
            Printed | Corrected | Isotropic => {
                variant("isotropic", "β_1 alone, as Eq. (6) has it", Isotropic)
            }
            Definite | DefiniteCorrected | Indefinite => {
                variant("indefinite", "C(μ) is never positive definite", Indefinite)
            }
            Zero | ZeroCorrected | ZeroOfTheta2 => {
                variant("theta2", "the sum of a_j θ_2(ρ_j) vanishes", ZeroOfTheta2)
            }
            Range | RangeCorrected | NarrowRange => {
                variant("narrow", "the ratio is below 1.05", NarrowRange)
            }
            Existence | FartherPair => variant(
                "farther",
                "a pair at twice the distance fits too",
                FartherPair,
            ),
        }
    }
}

/// Degrees of freedom of Student's law and values of ρ_- for which F/θ_1 falls, so that there is a ρ_+.
fn falling(activation: &str) -> (Range<f64>, Range<f64>) {
    match activation {
        // Slope 0.1 below 0: at ν = 1.5 it falls from -0.73 to -0.16, for heavier tails on more; nearer to
        // ν = 1, where the mean of |t| diverges, the definition's quadrature loses its digits.
        "leaky-relu" => (1.4..1.5, -0.65..-0.25),
        // From 0 to 1.1 for the Gaussian, 1.27 for ν = 3; for the ball to about half its radius.
        "absolute" => (1.5..4.0, 0.1..0.4),
        _ => (1.5..4.0, -6.0..-3.0),
    }
}

fn law_of(params: &Params, nu: Option<f64>) -> Result<Isotropic> {
    let radial = match nu {
        None => Radial::Student {
            nu: params.f64("nu"),
        },
        Some(nu) => match params.text("law") {
            "gaussian" => Radial::Gaussian,
            "ball" => Radial::Ball,
            _ => Radial::Student { nu },
        },
    };
    Isotropic::new(radial, params.usize("dim"))
}

impl Theorem3 {
    /// The rates along μ and across it: minus the Jacobian of the definition, by differences.
    fn linearised(&self, point: &CriticalPoint, params: &Params) -> Result<Outcome> {
        let phi = activation(params)?;
        let field = Definition { point: *point, phi };
        let rate = |v: [f64; 2]| {
            let mut out = [0.0; 3];
            field.rate(&[v[0], v[1], point.bias()], &mut out);
            out
        };
        let h = 1e-2 * point.length;
        // Five points: an error of order h^4.
        let slope = |axis: usize| {
            let at = |i: f64| {
                let mut v = [point.length, 0.0];
                v[axis] += i * h;
                rate(v)[axis]
            };
            (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h)
        };
        let found = [-slope(0), -slope(1)];
        let betas = match self.says {
            Says::Printed => point.betas_printed(),
            _ => point.betas(),
        };
        let second = if self.says == Says::Isotropic {
            0.0
        } else {
            betas.two
        };
        let said = [betas.one + second * point.length.powi(2), betas.one];
        let off = (0..2).map(|i| ((said[i] - found[i]) / found[i]).abs());
        let at_rest = rate([point.length, 0.0]);
        Ok(equal(
            off.fold(0.0, f64::max),
            0.0,
            // h^4 of the relative scale on which the field bends, 1 to 2.
            1e-4,
            witness! {
                "rates_along_and_across" => found, "said" => said, "rho" => [point.minus, point.plus],
                "length" => point.length, "field_at_mu" => at_rest,
            },
        ))
    }

    /// The smallest eigenvalue of C(μ) is positive.
    fn definite(&self, point: &CriticalPoint) -> Outcome {
        let (betas, length) = match self.says {
            // The printed field has its critical point with these r at |μ| = 1.
            Says::Definite => {
                let at_one = CriticalPoint {
                    length: 1.0,
                    ..*point
                };
                (at_one.betas_printed(), 1.0)
            }
            _ => (point.betas(), point.length),
        };
        let rates = [betas.one, betas.one + betas.two * length * length];
        let positive = rates.iter().all(|r| *r > 0.0);
        Outcome::Event {
            holds: positive != (self.says == Says::Indefinite),
            witness: witness! { "across" => rates[0], "along" => rates[1], "rho" => [point.minus, point.plus] },
        }
    }

    /// Σ a_j F at a point where the flow has come to rest.
    fn at_rest(&self, point: &CriticalPoint) -> Result<Outcome> {
        let start = [1.2 * point.length, 0.2 * point.length, 0.9 * point.bias()];
        let slowest = point
            .betas()
            .one
            .min(point.betas().one + point.betas().two * point.length.powi(2));
        // 40 lifetimes of the slower mode at μ; rates grow as the ray shortens by at most a half.
        let until = 80.0 / slowest;
        let path = Flow::new(Method::Bdf).run(&Closed(*point), &start, &[until])?;
        let end = path.end();
        let length = f64::hypot(end[0], end[1]);
        let r = [end[0] * point.distance() + end[2], end[2]];
        let scale = if self.says == Says::Zero { 1.0 } else { length };
        let f = |r: f64| match self.says {
            Says::ZeroOfTheta2 => point.law.theta2(point.slopes, r / scale),
            _ => point.law.f(point.slopes, r / scale),
        };
        let (first, second) = (f(r[0]), point.weight * f(r[1]));
        Ok(equal(
            (first - second) / first,
            0.0,
            // The integrator's tolerance over some hundred steps.
            1e-6,
            witness! { "terms" => [first, second], "end" => end, "length" => length, "steps" => path.steps },
        ))
    }

    /// Lines through 0 that meet G above 1/2 twice, from ρ_- ≥ 0.
    fn pair(&self, law: &Isotropic, share: f64) -> Result<Outcome> {
        // (58) says that a line through θ_1 = 1/2, ρ_- = 0, meets G again; the others start further
        // right, as far as lines still do.
        let mut minus = match self.says {
            Says::Existence | Says::FartherPair => 0.0,
            _ => share,
        };
        let mut found = CriticalPoint::relu(*law, minus, 1.0);
        while found.is_err() && minus > 1e-6 {
            minus *= 0.5;
            found = CriticalPoint::relu(*law, minus, 1.0);
        }
        let point = match found {
            Ok(point) => point,
            Err(error) => {
                return Ok(Outcome::Event {
                    holds: false,
                    witness: witness! { "none" => error.to_string() },
                });
            }
        };
        let ratio = point.weight;
        let most = if self.says == Says::NarrowRange {
            1.05
        } else {
            2.0
        };
        if matches!(self.says, Says::RangeCorrected | Says::NarrowRange) {
            let witness = witness! { "ratio" => ratio, "rho" => [point.minus, point.plus] };
            let holds = ratio > 1.0 && ratio < most;
            return Ok(Outcome::Event { holds, witness });
        }
        let farther = if self.says == Says::FartherPair {
            2.0
        } else {
            1.0
        };
        let life = |rho: f64| critical::residual_life(law, rho);
        let (first, second) = (life(minus), life(farther * point.plus));
        let witness =
            witness! { "slopes" => [first, second], "rho" => [minus, farther * point.plus] };
        Ok(equal(second / first, 1.0, 1e-9, witness))
    }
}
