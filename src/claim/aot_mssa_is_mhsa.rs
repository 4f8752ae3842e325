//! MSSA is multi-head self-attention with tied weights: AoT (ICML 2025), after Eq. (5).

use super::*;
use crate::attention::{Mhsa, Mssa, Phi};
use crate::sample::{Bases, Mixture};
use crate::witness;

/// W_Q^k = W_K^k = W_V^k = U_kᵀ and W_O = [U_1 .. U_K] turn MHSA into MSSA.
#[derive(Clone, Copy, Debug, Default)]
pub struct MssaIsMhsa {
    /// The mutant: scores divided by √p, as attention layers usually do.
    scaled: bool,
    /// The mutant: W_O transposes the order of the heads.
    swapped: bool,
}

impl Claim for MssaIsMhsa {
    fn card(&self) -> Card {
        Card {
            id: "aot.mssa_is_mhsa",
            paper: Paper::Aot2025,
            equation: "Section 2.3, Eq. (5)",
            title: "MSSA equals multi-head self-attention with tied weights",
            statement: "By setting $W_Q^k = W_K^k = W_V^k = U_k^T$ and $W_O = [U_1 \\dots U_K]$ in \
                        (5), we can obtain the MSSA operator in (4).",
            kind: Kind::Identity,
            expected: VerdictKind::Supported,
            corrected: Some(
                "Holds with the scores unscaled; with the usual $1/\\sqrt{p}$ only if $U_k^T$ is \
                 multiplied by $p^{1/4}$ in queries and keys.",
            ),
        }
    }

    fn schema(&self) -> Schema {
        vec![
            Spec::new(
                "tokens",
                Domain::Whole(1, u64::MAX),
                60,
                "N, number of tokens",
            ),
            Spec::new(
                "clusters",
                Domain::Whole(1, u64::MAX),
                3,
                "K, number of heads",
            ),
            Spec::new(
                "dim",
                Domain::Whole(1, u64::MAX),
                8,
                "p, dimension of each subspace",
            ),
            Spec::new("delta", Domain::NON_NEGATIVE, 0.2, "noise level"),
            Spec::new("eta", Domain::POSITIVE, 0.5, "step size"),
            Spec::new(
                "phi",
                Domain::Choice(&Phi::NAMES),
                "softmax",
                "nonlinearity",
            ),
            Spec::new(
                "tau",
                Domain::LEFT_OPEN_UNIT,
                0.55,
                "threshold, where phi has one",
            ),
        ]
    }

    fn memory(&self, params: &Params) -> u64 {
        let value = |name| params.usize(name) as u64;
        let (n, d) = (
            value("tokens"),
            value("clusters").saturating_mul(value("dim")),
        );
        // Scores, weights and one copy of them; tokens before and after, bases and heads.
        let square = n.saturating_mul(n).saturating_mul(3);
        let tokens = n.saturating_add(d).saturating_mul(d).saturating_mul(8);
        square.saturating_add(tokens).saturating_mul(8)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (p, eta) = (params.usize("dim"), params.f64("eta"));
        let phi = Phi::parse(params.text("phi"), params.f64("tau"))?;
        let (n, k) = (params.usize("tokens"), params.usize("clusters"));
        let mut mixture = Mixture::balanced(n, k, p, params.f64("delta"))?;
        // The identity is algebra: it must not need orthogonal subspaces.
        mixture.bases = Bases::Independent;
        let draw = mixture.draw(streams)?;
        let mssa = Mssa::new(phi, eta).apply(draw.tokens.view(), &draw.bases)?;
        let mut tied = Mhsa::tied(&draw.bases, phi, eta)?;
        if self.scaled {
            tied.scale = 1.0 / (p as f64).sqrt();
        }
        if self.swapped {
            tied.w_v.rotate_left(1);
        }
        let mhsa = tied.apply(draw.tokens.view())?;
        let largest = mssa.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let gap = (&mssa - &mhsa).iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        Ok(Outcome::Gap {
            lhs: gap,
            rhs: 0.0,
            // Two orders of summation over d, p and N terms of the size of the result: a few
            // hundred rounding errors, amplified by the slope of φ in scores of size p.
            tol: 1e4 * f64::EPSILON * largest * p as f64,
            relation: Relation::Equal,
            witness: witness! { "largest_difference" => gap, "largest_entry" => largest },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![
            Mutant::new(
                "scaled",
                "the same with scores divided by sqrt(p)",
                MssaIsMhsa {
                    scaled: true,
                    ..*self
                },
            ),
            Mutant::new(
                "swapped",
                "the same with W_V of the next head",
                MssaIsMhsa {
                    swapped: true,
                    ..*self
                },
            ),
        ]
    }
}
