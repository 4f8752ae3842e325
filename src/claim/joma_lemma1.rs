//! Lemmas 1, 3 and 5: what a node sees of isotropic inputs.

use super::joma_setting::{activation, activation_spec, equal, random_law};
use super::*;
use crate::theory::joma::{Activation, Isotropic};
use crate::witness;
use rand::RngExt;

/// Lemma 1 against an integral in polar coordinates, printed and corrected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lemma1 {
    says: Says,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    /// θ_1(r)/|v| and θ_2(r)/|v|³ RRᵀv.
    Printed,
    /// θ_1(ρ) and θ_2(ρ) RRᵀv/|RRᵀv| with ρ = r/|RRᵀv|, or their general form.
    Corrected,
    /// The mutant: without the second term.
    NoSecond,
    /// The mutant: |v| for |RRᵀv|.
    WholeWeight,
}

impl Lemma1 {
    /// (23).
    pub const PRINTED: Self = Lemma1 {
        says: Says::Printed,
    };
    /// With r/|v|.
    pub const CORRECTED: Self = Lemma1 {
        says: Says::Corrected,
    };
}

/// Largest dimension of the span of R.
const MOST_DIM: u64 = 12;

fn dim_spec() -> Spec {
    Spec::new(
        "dim",
        Domain::Whole(1, MOST_DIM),
        4,
        "n, dimension of the isotropic law",
    )
}

/// The margin of "φ(x) = x φ'(x)".
pub(super) fn homogeneous(params: &Params) -> Hypothesis {
    let defect = activation(params).map_or(f64::NAN, Activation::defect);
    Hypothesis::new(
        "homogeneous activation",
        "phi(x) = x phi'(x): minus the largest difference on [-4, 4]",
        if defect == 0.0 { 0.0 } else { -defect },
    )
}

impl Claim for Lemma1 {
    fn card(&self) -> Card {
        let printed = Card {
            id: "joma.lemma1",
            paper: Paper::Joma,
            equation: "Lemma 1, Eqs. (23), (40), (41)",
            title: "What a node sees of an isotropic law, as printed",
            statement: "For any isotropic distribution $p(x - \\bar x)$ with mean $\\bar x$ in a subspace \
                        spanned by orthonormal bases R, if $v \\neq 0$, we have $E_p[x\\psi(v^T x + \\xi)] = \
                        \\frac{\\theta_1(r_v)}{\\|v\\|_2}\\bar x + \\frac{\\theta_2(r_v)}{\\|v\\|_2^3} RR^T v$, \
                        $E_p[\\psi(v^T x + \\xi)] = \\frac{\\theta_1(r_v)}{\\|v\\|_2}$ where $r_v := v^T \\bar x \
                        + \\xi$. $\\theta_1(r)$ and $\\theta_2(r)$ only depends on $\\psi$ and the underlying \
                        distribution but not v.",
            kind: Kind::Identity,
            expected: VerdictKind::Refuted,
            corrected: Some(
                "With $s = \\|RR^T v\\|$: $E\\psi = \\theta_1(\\rho)$ and $E x\\psi = \\theta_1(\\rho)\\bar x + \
                 \\theta_2(\\rho) RR^T v/s$ at $\\rho = r_v/s$ for $\\psi = \\phi'$ of a homogeneous φ; for \
                 another ψ both depend on s too (`joma.lemma1_corrected`).",
            ),
        };
        if self.says == Says::Printed {
            return printed;
        }
        Card {
            id: "joma.lemma1_corrected",
            title: "What a node sees of an isotropic law",
            statement: "$E_p[\\psi(v^T x + \\xi)] = \\theta_1$ and $E_p[x\\psi(v^T x + \\xi)] = \
                        \\theta_1\\bar x + \\theta_2 RR^T v/s$ with $s = \\|RR^T v\\|$ and $\\theta_i = \\int \
                        \\{1, t\\} \\psi(st + r_v) p_n(t) dt$; for $\\psi = \\phi'$ of a homogeneous φ they \
                        depend on $r_v/s$ alone.",
            expected: VerdictKind::Supported,
            corrected: None,
            ..printed
        }
    }

    fn discrepancy(&self) -> Option<Discrepancy> {
        (self.says == Says::Printed).then_some(Discrepancy {
            printed: "$p_n(y')$ in (32) is the density of the projection on a unit vector, (33) to (36), taken \
                      at $y' = v^T x'$ instead of $y'/\\|v\\|$.",
            witness: "ψ = 1 (a linear activation): $E\\psi = 1$, printed $1/\\|v\\|$, against the remark after \
                      Lemma 2 that then $\\theta_1 \\equiv 1$. ReLU, Gaussian inputs, $\\|v\\| = 2.274$: exactly \
                      .5263, printed .2461.",
            range: "Every $\\|v\\| \\neq 1$; and v outside the span of R, where $\\|RR^T v\\|$ counts.",
            correction: "$\\theta_i$ at $r_v/\\|RR^T v\\|$, without the powers of $\\|v\\|$. Lemma 2, (50), (53) and \
                         (67) to (74) inherit the error.",
        })
    }

    fn schema(&self) -> Schema {
        vec![dim_spec(), activation_spec("relu")]
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        10
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let phi = activation(params)?;
        let mut rng = streams.part("lemma1", 0);
        let law = random_law(params.usize("dim"), &mut rng)?;
        // v: a part in the span of R, and one across it that counts in |v| only.
        let (s, across) = (rng.random_range(0.4..2.5), rng.random_range(0.0..1.0));
        let length = f64::hypot(s, across);
        let r: f64 = rng.random_range(-1.5..1.5);
        // E ψ, and E ψ times the component of x - x̄ along RRᵀv.
        let (one, two) = law.polar(phi, r, s);
        let corrected = |s: f64| match phi.slopes() {
            Some(c) => (law.theta1(c, r / s), law.theta2(c, r / s)),
            None => law.thetas(phi, r, s),
        };
        let said = match self.says {
            Says::Printed => {
                let (first, second) = match phi.slopes() {
                    Some(c) => (law.theta1(c, r), law.theta2(c, r)),
                    None => law.thetas(phi, r, 1.0),
                };
                (first / length, second * s / length.powi(3))
            }
            Says::Corrected => corrected(s),
            Says::NoSecond => (corrected(s).0, 0.0),
            Says::WholeWeight => corrected(length),
        };
        let off = (said.0 - one).abs().max((said.1 - two).abs());
        Ok(equal(
            off,
            0.0,
            // Two nested quadratures of relative error 1e-10 each.
            1e-7,
            witness! {
                "law" => format!("{:?}", law.radial()), "r" => r, "length_in_span" => s, "length" => length,
                "exact" => [one, two], "said" => [said.0, said.1],
            },
        ))
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![
            Mutant::new(
                "no-second-term",
                "without the term along the weight",
                Lemma1 {
                    says: Says::NoSecond,
                },
            ),
            Mutant::new(
                "whole-weight",
                "the length of v also where v leaves the span of R",
                Lemma1 {
                    says: Says::WholeWeight,
                },
            ),
        ]
    }
}

/// (33) to (36): the density of one coordinate from the joint one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Marginal {
    /// The mutant: the sphere of one more dimension.
    shifted: bool,
}

impl Claim for Marginal {
    fn card(&self) -> Card {
        Card {
            id: "joma.lemma1_marginal",
            paper: Paper::Joma,
            equation: "Lemma 1, Eqs. (33) to (36)",
            title: "The density of a projection from the radial density",
            statement: "$p_n(y') = \\frac{2^{n/2}\\pi^{n/2-1}}{(n-3)!!} \\int_0^{+\\infty} p_0(\\sqrt{y'^2 + \
                        l^2})\\, l^{n-2} dl$ for even n, $\\frac{2\\pi^{(n-1)/2}}{(\\frac{n-3}{2})!} \
                        \\int_0^{+\\infty} p_0(\\sqrt{y'^2 + l^2})\\, l^{n-2} dl$ for odd n.",
            kind: Kind::Identity,
            expected: VerdictKind::Supported,
            corrected: None,
        }
    }

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("marginal", 0);
        let dim = rng.random_range(2..=MOST_DIM as usize);
        let law = random_law(dim, &mut rng)?;
        let y: f64 = rng.random_range(-0.95..0.95);
        let other = match self.shifted {
            true => Isotropic::new(law.radial(), dim + 1)?,
            false => law,
        };
        // The Student and the Gaussian marginal are the same in every dimension: the joint density
        // of the next one is not.
        let said = match self.shifted {
            true => law.density_by_integral(y) * other.joint_density(y) / law.joint_density(y),
            false => law.density_by_integral(y),
        };
        let exact = law.density(y);
        Ok(equal(
            said / exact,
            1.0,
            1e-8,
            witness! { "n" => dim, "law" => format!("{:?}", law.radial()), "y" => y },
        ))
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![Mutant::new(
            "next-dimension",
            "with the joint density of n + 1 dimensions",
            Marginal { shifted: true },
        )]
    }
}

/// Lemma 3: (48), (49) and the properties of F.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lemma3 {
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
    /// (48) and (49).
    pub const INTEGRAL: Self = Lemma3 {
        says: Property::Integral,
    };
    /// F is monotone, as printed.
    pub const MONOTONE: Self = Lemma3 {
        says: Property::Monotone,
    };
    /// The same where it is true.
    pub const MONOTONE_CORRECTED: Self = Lemma3 {
        says: Property::MonotoneCorrected,
    };

    fn integral(self) -> bool {
        matches!(self.says, Property::Integral | Property::WithoutProduct)
    }
}

impl Claim for Lemma3 {
    fn card(&self) -> Card {
        let integral = Card {
            id: "joma.lemma3",
            paper: Paper::Joma,
            equation: "Lemma 3, Eqs. (48), (49)",
            title: "θ_2 + r θ_1 is an integral of θ_1",
            statement: "If $\\phi(x) = x\\phi'(x)$ is a homogeneous activation function and $\\psi = \\phi'$, \
                        then $\\frac{d}{dr}(\\theta_2(r) + r\\theta_1(r)) = \\theta_1(r)$, and thus \
                        $\\theta_2(r) = \\theta_2(0) - r\\theta_1(r) + \\int_0^r \\theta_1(r') dr'$.",
            kind: Kind::Identity,
            expected: VerdictKind::Supported,
            corrected: None,
        };
        match self.says {
            _ if self.integral() => integral,
            Property::Monotone => Card {
                id: "joma.lemma3_monotone",
                equation: "Lemma 3, after Eq. (49)",
                title: "F increases to infinity, for every homogeneous activation",
                statement: "$F(r) := \\theta_2(0) + \\int_0^r \\theta_1(r') dr'$ is a monotonous increasing \
                            function with $F(+\\infty) = +\\infty$ (for any homogeneous activation).",
                kind: Kind::Bound,
                expected: VerdictKind::Refuted,
                corrected: Some(
                    "For slopes $c_-, c_+ \\geq 0$ with $c_+ > 0$ (`joma.lemma3_monotone_corrected`).",
                ),
                ..integral
            },
            _ => Card {
                id: "joma.lemma3_monotone_corrected",
                equation: "Lemma 3, after Eq. (49)",
                title: "F increases to infinity where both slopes are non-negative",
                statement: "If $\\phi(x) = x(c_- 1[x < 0] + c_+ 1[x > 0])$ with $c_- \\geq 0$ and $c_+ > 0$, \
                            then F is nowhere decreasing and $F(+\\infty) = +\\infty$.",
                kind: Kind::Bound,
                ..integral
            },
        }
    }

    fn discrepancy(&self) -> Option<Discrepancy> {
        (self.says == Property::Monotone).then_some(Discrepancy {
            printed: "F is said to increase for every φ with $\\phi(x) = x\\phi'(x)$.",
            witness: "$\\phi(x) = |x|$, $c_- = -1$: $F(r) = E|t + r|$ falls for $r < 0$.",
            range: "Homogeneous activations with a negative slope on either side.",
            correction: "$c_- \\geq 0$ and $c_+ > 0$, as for linear, ReLU and leaky ReLU \
                         (`joma.lemma3_monotone_corrected`).",
        })
    }

    fn schema(&self) -> Schema {
        let phi = match self.integral() {
            true => activation_spec("relu"),
            false => return vec![dim_spec()],
        };
        vec![dim_spec(), phi]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        match self.integral() {
            true => vec![homogeneous(params)],
            false => vec![],
        }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("lemma3", 0);
        let law = random_law(params.usize("dim"), &mut rng)?;
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
        Ok(super::joma_setting::at_most(less, more, 1e-12, witness))
    }

    fn mutants(&self) -> Vec<Mutant> {
        match self.integral() {
            true => vec![Mutant::new(
                "without-product",
                "theta_2 alone is an integral of theta_1",
                Lemma3 {
                    says: Property::WithoutProduct,
                },
            )],
            false => vec![Mutant::new(
                "decreasing",
                "F decreases",
                Lemma3 {
                    says: Property::Decreasing,
                },
            )],
        }
    }
}

/// Lemma 5: the derivatives of θ_1 and θ_2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lemma5 {
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
    /// (61) as printed.
    pub const PRINTED: Self = Lemma5 { says: Factor::Sum };
    /// With the difference of the slopes.
    pub const CORRECTED: Self = Lemma5 {
        says: Factor::Difference,
    };
}

impl Claim for Lemma5 {
    fn card(&self) -> Card {
        let printed = Card {
            id: "joma.lemma5",
            paper: Paper::Joma,
            equation: "Lemma 5, Eq. (61)",
            title: "Derivatives of θ_1 and θ_2, as printed",
            statement: "If $\\phi(x)$ is homogeneous, i.e., $\\phi(x) = \\phi'(x)x$, then there exist constant \
                        $c_-, c_+$ such that $\\phi(x) = c_- 1[x < 0] + c_+ 1[x > 0]$, and thus \
                        $\\frac{d\\theta_1}{dr} = (c_- + c_+) p_n(r)$, $\\frac{d\\theta_2}{dr} = -(c_- + c_+) r \
                        \\cdot p_n(r)$.",
            kind: Kind::Identity,
            expected: VerdictKind::Refuted,
            corrected: Some(
                "$\\phi(x) = x(c_- 1[x < 0] + c_+ 1[x > 0])$ and $c_+ - c_-$ in place of $c_- + c_+$ \
                 (`joma.lemma5_corrected`); for ReLU, $c_- = 0$, the two are the same.",
            ),
        };
        if self.says == Factor::Sum {
            return printed;
        }
        Card {
            id: "joma.lemma5_corrected",
            title: "Derivatives of θ_1 and θ_2",
            statement: "If $\\phi(x) = \\phi'(x)x$, then $\\phi(x) = x(c_- 1[x < 0] + c_+ 1[x > 0])$ and \
                        $\\frac{d\\theta_1}{dr} = (c_+ - c_-) p_n(r)$, $\\frac{d\\theta_2}{dr} = -(c_+ - c_-) r \
                        p_n(r)$.",
            expected: VerdictKind::Supported,
            corrected: None,
            ..printed
        }
    }

    fn discrepancy(&self) -> Option<Discrepancy> {
        (self.says == Factor::Sum).then_some(Discrepancy {
            printed: "(61) adds the slopes, and φ lacks its factor x.",
            witness: "Leaky ReLU with slope .1 below 0: the derivatives by differences are .9 of the density, \
                      printed 1.1. For a linear φ θ_1 is constant; printed, it rises.",
            range: "$c_- \\neq 0$; ReLU is not affected.",
            correction: "The slope of φ jumps by $c_+ - c_-$ at 0.",
        })
    }

    fn schema(&self) -> Schema {
        vec![dim_spec(), activation_spec("leaky-relu")]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        vec![homogeneous(params)]
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        match self.says {
            Factor::Sum if params.text("activation") == "relu" => VerdictKind::Supported,
            _ => self.card().expected,
        }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let phi = activation(params)?;
        let mut rng = streams.part("lemma5", 0);
        let law = random_law(params.usize("dim"), &mut rng)?;
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
        vec![Mutant::new(
            "upper-slope",
            "with c_+ alone",
            Lemma5 { says: Factor::Plus },
        )]
    }
}
