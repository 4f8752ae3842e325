//! Lemma 1: what a node sees of isotropic inputs.

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

/// n.
pub(super) fn dim_spec() -> Spec {
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
