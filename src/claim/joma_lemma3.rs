//! Lemmas 3 and 5: integrals and derivatives of θ_1 and θ_2.

use super::joma_lemma1::{dim_spec, homogeneous};
use super::joma_setting::{activation, activation_spec, at_most, equal, random_law};
use super::*;
use crate::witness;
use rand::RngExt;

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
        Ok(at_most(less, more, 1e-12, witness))
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
