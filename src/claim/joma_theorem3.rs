//! Theorem 3 and Lemma 4: critical points of the nonlinear dynamics and what happens near them.
//!
//! The true field is taken by its definition, an integral over the law of the inputs in polar
//! coordinates; its Jacobian by differences.

use super::joma_lemma1::homogeneous;
use super::joma_setting::{activation, equal};
use super::*;
use crate::dynamics::flow::{Flow, Method, VectorField};
use crate::theory::joma::{Activation, CriticalPoint, Isotropic, Radial, critical};
use crate::witness;
use rand::RngExt;

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
        let base = |id, equation, title, statement, expected, corrected| Card {
            id,
            paper: Paper::Joma,
            equation,
            title,
            statement,
            kind: Kind::Identity,
            expected,
            corrected,
        };
        use Says::*;
        match self.says {
            Printed => base(
                "joma.theorem3",
                "Theorem 3, Eqs. (5), (72) to (74)",
                "The dynamics near a critical point, as printed",
                "Near to the critical point $\\mu \\neq 0$ the dynamics can be written as $\\dot v = \
                 sgn(\\mu^T\\bar x_+)\\{\\beta_1(\\mu) I + \\beta_2(\\mu)\\mu\\mu^T\\}(1 + \\lambda)(\\mu - v)$ \
                 with $\\beta_1 = s_\\mu\\frac{a_+\\|\\bar x_+\\|}{\\|\\mu\\|^2}\\theta_1(r_+^*)$, $\\beta_2 = \
                 s_\\mu\\frac{a_+\\|\\bar x_+\\|}{\\|\\mu\\|^4}(\\xi^* \\frac{d\\theta_1}{dr}|_{r_+^*} - \
                 2\\theta_1(r_+^*))$.",
                VerdictKind::Refuted,
                Some(
                    "$\\beta_1 = a_+\\|\\bar x_+\\|\\theta_1(\\rho_+)/\\|\\mu\\|$ and $\\beta_1 + \
                     \\beta_2\\|\\mu\\|^2 = (c_+ - c_-)\\xi^{*2}(a_-p_n(\\rho_-) - \
                     a_+p_n(\\rho_+))/\\|\\mu\\|^3$ with $\\rho = r/\\|\\mu\\|$ \
                     (`joma.theorem3_corrected`).",
                ),
            ),
            Corrected | Isotropic => base(
                "joma.theorem3_corrected",
                "Theorem 3, Eq. (5), with Lemma 1 corrected",
                "The dynamics near a critical point",
                "To first order $\\dot v = (\\beta_1 I + \\beta_2\\mu\\mu^T)(\\mu - v)$ with $\\beta_1 = \
                 a_+\\|\\bar x_+\\|\\theta_1(\\rho_+)/\\|\\mu\\|$, $\\beta_1 + \\beta_2\\|\\mu\\|^2 = (c_+ - \
                 c_-)\\xi^{*2}(a_-p_n(\\rho_-) - a_+p_n(\\rho_+))/\\|\\mu\\|^3$, $\\rho_+ = (\\mu^T\\bar x_+ + \
                 \\xi^*)/\\|\\mu\\|$, $\\rho_- = \\xi^*/\\|\\mu\\|$.",
                VerdictKind::Supported,
                Some(
                    "Where no critical point exists, as for all log-concave laws, it says nothing. (6) \
                     drops the second term: it is no constant shift but changes the rate along μ.",
                ),
            ),
            Definite => base(
                "joma.theorem3_definite",
                "Theorem 3, Eqs. (72) to (74)",
                "The printed dynamics lead to the critical point",
                "$C(\\mu) = \\beta_1(\\mu) I + \\beta_2(\\mu)\\mu\\mu^T$ with (73) and (74) is positive definite \
                 (so that (5), and (6) after it, converge to μ).",
                VerdictKind::Refuted,
                Some(
                    "By (73), (74) the rate along μ is $(a_+\\|\\bar x_+\\|/\\|\\mu\\|^2)(\\xi^*\\theta_1' - \
                     \\theta_1) < 0$ for $\\xi^* \\leq 0$: a saddle. With Lemma 1 corrected it is positive \
                     (`joma.theorem3_definite_corrected`).",
                ),
            ),
            DefiniteCorrected | Indefinite => base(
                "joma.theorem3_definite_corrected",
                "Theorem 3, Eq. (5), with Lemma 1 corrected",
                "Critical points attract",
                "With Lemma 1 corrected, $C(\\mu)$ is positive definite at every critical point with $\\rho_- \
                 < \\rho_+$ on the two branches of the mean residual life m: along μ it has the sign of \
                 $h(-\\rho_-) - h(-\\rho_+)$, and hazard rates obey $m' = hm - 1$.",
                VerdictKind::Supported,
                None,
            ),
            Zero => base(
                "joma.lemma4",
                "Lemma 4, Eq. (54)",
                "At stationary points the F of all components cancel, as printed",
                "For any homogeneous activation any stationary point of Eqn. 42 must satisfy $\\sum_j a_j \
                 F(r_j) = 0$ (at $r_j = v^T\\bar x_j + \\xi$; for the dynamics of the layer).",
                VerdictKind::Refuted,
                Some("At $\\rho_j = r_j/\\|v\\|$ (`joma.lemma4_corrected`)."),
            ),
            ZeroCorrected | ZeroOfTheta2 => base(
                "joma.lemma4_corrected",
                "Lemma 4, Eq. (54), with Lemma 1 corrected",
                "At stationary points the F of all components cancel",
                "At any stationary point $\\sum_j a_j F(\\rho_j) = 0$ with $\\rho_j = (v^T\\bar x_j + \
                 \\xi)/\\|v\\|$.",
                VerdictKind::Supported,
                None,
            ),
            Range => base(
                "joma.lemma4_range",
                "Lemma 4, after Eq. (59)",
                "Critical points have weights within a factor of 2",
                "And it's easy to find that $\\forall s \\in S, s \\in (\\frac12, 1) \\cup (1, 2)$ (for \
                 $a_+/a_- \\in S$, where critical points exist).",
                VerdictKind::Refuted,
                Some(
                    "True for pairs with $\\rho_-, \\rho_+ \\geq 0$ (`joma.lemma4_range_corrected`), which \
                     the remarks of E.4 exclude: there $\\rho_- < 0 < \\rho_+$.",
                ),
            ),
            RangeCorrected | NarrowRange => base(
                "joma.lemma4_range_corrected",
                "Lemma 4, after Eq. (59)",
                "Critical points on the upper half of G have weights within a factor of 2",
                "For pairs $0 \\leq \\rho_- < \\rho_+$ on one line through 0, $\\theta_1(\\rho_+)/\
                 \\theta_1(\\rho_-) \\in (1, 2)$.",
                VerdictKind::Supported,
                None,
            ),
            Existence | FartherPair => base(
                "joma.lemma4_existence",
                "Lemma 4, Eq. (58)",
                "A sufficient condition for a critical point",
                "In order that line $l_k: y = kx$ has at least two points of intersection with curve G, we \
                 just need $\\theta_2(0) p_n(0) \\geq \\frac14$ (ReLU).",
                VerdictKind::Supported,
                Some(
                    "The condition fails for every log-concave law (Gaussian .159, ball .125 to .159, \
                     logistic .173), for which there is no critical point at all, and for Student's \
                     law from $\\nu = 2$ on, which has critical points with $\\rho_- < 0$.",
                ),
            ),
        }
    }

    fn discrepancy(&self) -> Option<Discrepancy> {
        let found = match self.says {
            Says::Printed => Discrepancy {
                printed: "(73) and (74) linearise (50), which has Lemma 1's error; besides, $s_\\mu$ stands both in \
                          (5) and in (73), (74).",
                witness: "Student inputs with 3 degrees of freedom, $\\rho_- = -3$, $\\rho_+ = 1.396839$, $a_-/a_+ = \
                          30.2267$, $\\|\\mu\\| = 1$: the field leaves μ with rates −5.04 along μ and −3.83 across; \
                          (73), (74) say +5.61 and −3.83.",
                range: "Every critical point.",
                correction: "`joma.theorem3_corrected`.",
            },
            Says::Definite => Discrepancy {
                printed: "After (74): $s_\\mu > 0$ is named as a necessary condition for $C(\\mu)$ to be positive \
                          definite; (5), (6) and Theorem 4 then take it to be.",
                witness: "$\\beta_1 + \\beta_2\\|\\mu\\|^2 = -5.61$ in the example of `joma.theorem3`.",
                range: "Every critical point with $\\xi^* \\leq 0$, which E.4 says is the usual case.",
                correction: "The field with Lemma 1 corrected does converge to μ (up to its length, which is free): \
                             `joma.theorem3_definite_corrected`. For Gaussian inputs there is no μ.",
            },
            Says::Zero => Discrepancy {
                printed: "(54) has F at $r_j$, from Lemma 1 as printed.",
                witness: "Flows of the layer's field that have come to rest: $\\sum_j a_j F(\\rho_j) = 0$ to 1e-8, the \
                          printed sum is not.",
                range: "$\\|v\\| \\neq 1$.",
                correction: "$\\rho_j$ (`joma.lemma4_corrected`). (57) prints $y_+ := \\theta_1^{-1}(r_+)$ for \
                             $\\theta_1(r_+)$.",
            },
            Says::Range => Discrepancy {
                printed: "All ratios $a_+/a_-$ with critical points lie in $(1/2, 1) \\cup (1, 2)$.",
                witness: "$a_-/a_+ = 30.2$ in the example of `joma.theorem3`.",
                range: "Pairs with $\\rho_- < 0$, that is $\\theta_1(\\rho_-) < 1/2$.",
                correction: "`joma.lemma4_range_corrected`.",
            },
            _ => return None,
        };
        Some(found)
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
            // Homogeneous ones with a critical point, and some that are not homogeneous.
            schema.push(Spec::new(
                "activation",
                Domain::Choice(&["relu", "tanh", "softplus", "square"]),
                "relu",
                "φ, activation of the layer",
            ));
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
        let exists = params.text("law") == "student";
        vec![
            homogeneous(params),
            Hypothesis::new(
                "critical point",
                "there is a critical point: none for log-concave laws",
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
        let law = law_of(params, Some(rng.random_range(1.5..4.0)))?;
        let (minus, length) = (rng.random_range(-6.0..-3.0), rng.random_range(0.4..2.5));
        let point = match CriticalPoint::relu(law, minus, length) {
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
