//! Lemma 1: what a node sees of isotropic inputs.

use super::setting::*;

/// Lemma 1 against an integral in polar coordinates, printed and corrected.
#[derive(Serialize, Deserialize)]
pub struct Lemma1 {
    printed: bool,
    /// Flag: it says θ_1(r)/|v| and θ_2(r)/|v|³ RRᵀv; otherwise θ_1(ρ) and θ_2(ρ) RRᵀv/|RRᵀv| with ρ = r/|RRᵀv|.
    at_r: bool,
    /// Factor of the second term; a mutant's is not 1.
    second: f64,
    /// Flag of a mutant: |v| for |RRᵀv|.
    whole_weight: bool,
}

impl Lemma1 {
    /// Eq. (23) as printed.
    pub const PRINTED: Self = Lemma1 { printed: true, at_r: true, second: 1.0, whole_weight: false };
    /// Eq. (23) at r/|v|.
    pub const CORRECTED: Self = Lemma1 { printed: false, at_r: false, ..Self::PRINTED };
}

/// Error of E ψ and E tψ by shells and caps: nested quadratures of relative accuracy 1e-12, of which tails as heavy as
/// t^{-1.5} leave 1e-8 (held by a test of `theory::isotropic`), with room for ψ up to 10.
const TOLERANCE: f64 = 1e-7;
/// Relative error of the density of one coordinate by the quadrature (34).
const MARGINAL_TOLERANCE: f64 = 1e-8;
/// Largest dimension of the laws of [`Marginal`].
const MOST_DIM: usize = 12;

/// The hypothesis that φ(x) = x φ'(x).
pub(super) fn homogeneous(params: &Params) -> Hypothesis {
    let defect = activation(params).map_or(f64::NAN, Activation::defect);
    let printed = "phi(x) = x phi'(x): minus the largest difference on [-4, 4]";
    Hypothesis::new("homogeneous activation", printed, if defect == 0.0 { 0.0 } else { -defect })
}

/// The hypothesis that θ_2 exists for all laws that trials draw, some of which have no second moment.
pub(super) fn moments(params: &Params) -> Hypothesis {
    let printed = "theta_1 and theta_2 exist: psi bounded, as laws need not have more than a mean";
    met("moments", printed, activation(params).is_ok_and(Activation::has_bounded_slope))
}

impl Claim for Lemma1 {
    from_sheet!(self, if self.printed { sheet!("joma.lemma1") } else { sheet!("joma.lemma1_corrected") }, trials = 12);

    fn schema(&self) -> Schema {
        vec![DIM.or(4), ACTIVATION.or("relu")]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        vec![moments(params)]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let phi = activation(params)?;
        let mut rng = streams.part("lemma1", 0);
        let law = random_law(params.get(DIM), &mut rng)?;
        // v: a part in the span of R, and one across it that counts in |v| only.
        let (s, across) = (rng.random_range(0.4..2.5), rng.random_range(0.0..1.0));
        let length = f64::hypot(s, across);
        let r: f64 = rng.random_range(-1.5..1.5);
        // E ψ, and E ψ times the component of x - x̄ along RRᵀv.
        let (theta1, theta2) = law.polar(phi, r, s);
        let thetas = |s: f64| match phi.slopes() {
            Some(c) => (law.theta1(c, r / s), law.theta2(c, r / s)),
            None => law.thetas(phi, r, s),
        };
        let (first, second) = match (self.at_r, self.whole_weight) {
            (true, _) => {
                let (first, second) = thetas(1.0);
                (first / length, second * s / length.powi(3))
            }
            (false, true) => thetas(length),
            (false, false) => thetas(s),
        };
        let said = (first, self.second * second);
        let witness = witness! {
            "law" => format!("{:?}", law.radial()), "r" => r, "length_in_span" => s, "length" => length,
            "exact" => [theta1, theta2], "said" => [said.0, said.1],
        };
        Ok(Outcome::equal((said.0 - theta1).abs().max((said.1 - theta2).abs()), 0.0, TOLERANCE, witness))
    }
}

/// The density of one coordinate from the joint one, (33) to (36).
#[derive(Default, Serialize, Deserialize)]
pub struct Marginal {
    /// Flag of a mutant: the sphere of one more dimension.
    shifted: bool,
    /// Relative change of the integral; a mutant's is near 0.
    change: f64,
}

impl Claim for Marginal {
    from_sheet!("joma.lemma1_marginal");

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("marginal", 0);
        let dim = rng.random_range(2..=MOST_DIM);
        let law = random_law(dim, &mut rng)?;
        let y: f64 = rng.random_range(-0.95..0.95);
        let other = if self.shifted { Isotropic::new(law.radial(), dim + 1)? } else { law };
        // The Student and the Gaussian marginal are the same in every dimension: the joint density is not.
        let integral = law.density_by_integral(y);
        let said = if self.shifted { integral * other.joint_density(y) / law.joint_density(y) } else { integral };
        let witness = witness! { "n" => dim, "law" => format!("{:?}", law.radial()), "y" => y };
        Ok(Outcome::equal(said * (1.0 + self.change) / law.density(y), 1.0, MARGINAL_TOLERANCE, witness))
    }
}
